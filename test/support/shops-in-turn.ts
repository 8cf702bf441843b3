/** Shops on one ledger that run one after the other, as processes do that are restarted with other routes. */
import { expect } from '@jest/globals'
import express, { type Express } from 'express'
import type { Devnet } from '../../src/tools/devnet/index.js'
import { createGateway, type Gateway } from '../../src/gateway/gateway.js'
import type { PaymentPayload } from '../../src/shared/protocol/payment.js'
import type { Store, storeMakers } from '../hostile/stores.js'
import { useCleanup } from './cleanup.js'
import { shopOptions } from './devnet.js'
import { listen, paymentHeader } from './http.js'
import { resumeMining, stopMining } from './mining.js'
import { paymentRequiredOf, settlementOf } from './shop.js'
import { signPayment } from './sign-payment.js'
import { untilDecided } from './until-decided.js'
import { until } from './until.js'

/** Declares the routes of a shop. */
export type Routes = (app: Express, protect: Gateway['x402Protect']) => void

export function useShopsInTurn(devnet: Devnet) {
  const toEnd = useCleanup()
  const payer = () => devnet.payers[0]!

  async function openStore(make: (typeof storeMakers)[number][1]): Promise<Store> {
    const store = (await make())!
    toEnd.push(
      () => store.drop(),
      () => running?.close(),
    )
    return store
  }

  /** The process that runs. */
  let running: { readonly shop: object; close(): Promise<void> } | undefined

  /** A shop with routes on a ledger. Shops run one after the other: each request is to a process of its own shop. */
  function open(store: Store, routes: Routes, makeApp: () => Express = express) {
    let url = ''
    const start = async () => {
      const gateway = createGateway(
        shopOptions(devnet, {
          ledger: store.open(),
          publicUrl: 'https://shop.example',
          settleTimeoutMs: 400,
          rates: { 'EUR/USD': '1.25' },
          projects: [
            { id: 'shop', merchant: { payTo: devnet.merchant.address, crossCurrency: true } },
          ],
        }),
      )
      const app = makeApp()
      app.use(express.text())
      routes(app, gateway.x402Protect)
      const server = await listen(app)
      url = server.url
      running = {
        shop,
        async close() {
          running = undefined
          await server.close()
          await gateway.close()
        },
      }
    }
    const ask = async (path: string, init?: RequestInit) => {
      if (running?.shop !== shop) {
        await running?.close()
        await start()
      }
      return fetch(url + path, init)
    }
    const shop = {
      ask,
      async sign(path: string, init?: RequestInit): Promise<PaymentPayload> {
        const { accepts, resource } = paymentRequiredOf(await ask(path, init))
        return signPayment(payer(), accepts[0]!, { payload: { resource: { ...resource } } })
      },
      pay: (path: string, payment: object, init?: RequestInit) =>
        ask(path, { ...init, headers: { ...paymentHeader(payment), ...init?.headers } }),
    }
    return shop
  }
  type Shop = ReturnType<typeof open>

  /** Presents a payment that is settled after its buyer was told that it is pending. */
  async function leavePaid(shop: Shop, path: string, payment: object, init?: RequestInit) {
    await stopMining(devnet)
    let pending = await shop.pay(path, payment, init)
    // On a busy machine, node or database may not answer in time: nothing is sent then.
    await until(async () => {
      if (!pending.headers.has('payment-response')) pending = await shop.pay(path, payment, init)
      return pending.headers.has('payment-response')
    })
    expect(settlementOf(pending)).toMatchObject({ errorReason: 'settlement_pending' })
    await resumeMining(devnet)
  }

  /** Presents a payment until its outcome is known. */
  const redeem = (shop: Shop, path: string, payment: object, init?: RequestInit) =>
    untilDecided(() => shop.pay(path, payment, init))

  return { openStore, open, leavePaid, redeem }
}
