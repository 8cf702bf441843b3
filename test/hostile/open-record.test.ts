/** Rule 2: an open record buys only what it was opened for. */
import { describe, expect, it } from '@jest/globals'
import type { Express } from 'express'
import { httpFacilitator } from '../../src/core/facilitator/http/http-facilitator.js'
import type { Gateway } from '../../src/gateway/gateway.js'
import type { GatewayOptions } from '../../src/gateway/config/options.js'
import type {
  PaymentFlow,
  PaymentPayload,
  PaymentRequirements,
} from '../../src/shared/protocol/payment.js'
import { balanceOf, SHOP_TOKEN, useDevnet } from '../support/devnet.js'
import { newPayer, signedAuthorization } from '../support/on-chain.js'
import { openShop, paymentRequiredOf, settlementOf, type Shop } from '../support/shop.js'
import { signPayment, type TestPayer } from '../support/sign-payment.js'
import { storeMakers } from './stores.js'
import { useCleanup, closedBy } from '../support/cleanup.js'
import { stopMining, resumeMining } from '../support/mining.js'

const devnet = useDevnet()
const OTHER_TOKEN = 'x402_test-token-of-another'
const USED = 'invalid_exact_evm_nonce_already_used'

const toEnd = useCleanup()

/** Two merchants: a shop with a cheap and an expensive route, and another with its own address. */
function options(overrides: GatewayOptions = {}): GatewayOptions {
  return {
    projects: [
      { id: 'shop', tokens: [SHOP_TOKEN], merchant: { payTo: devnet.merchant.address } },
      { id: 'twin', merchant: { payTo: devnet.merchant.address } },
      { id: 'other', tokens: [OTHER_TOKEN], merchant: { payTo: devnet.payers[5]!.address } },
    ],
    settleTimeoutMs: 150,
    ...overrides,
  }
}

interface Runs {
  count: number
}

const routes = (runs: Runs, paymentFlow: PaymentFlow) => (app: Express, gateway: Gateway) => {
  const sell = (path: string, price: string, merchant: string): void => {
    const protect = gateway.x402Protect(price, { merchant, paymentFlow, maxTimeoutSeconds: 300 })
    app.all(path, protect, (req, res) => {
      runs.count += 1
      res.send(`${merchant} ${req.path}`)
    })
  }
  sell('/cheap', '$0.01', 'shop')
  sell('/same-price', '$0.01', 'shop')
  sell('/expensive', '$500', 'shop')
  sell('/twin', '$0.01', 'twin')
  sell('/other', '$0.01', 'other')
  app.use(gateway.gatewayRouter())
}

/** Signs what a route asks for, by an authorization nonce that was used before. */
async function signAgain(
  shop: Shop,
  path: string,
  { payer, like }: { payer: TestPayer; like: PaymentPayload },
): Promise<PaymentPayload> {
  const document = paymentRequiredOf(await shop.ask(path))
  const { nonce } = signedAuthorization(like)
  return signPayment(payer, document.accepts[0]!, { nonce })
}

/** The same, with the offer id of the first payment: its buyer knows it. */
function echoing(payment: PaymentPayload, like: PaymentPayload): PaymentPayload {
  const { offerId } = (like.accepted['extra'] ?? {}) as { offerId?: string }
  const extra = { ...(payment.accepted['extra'] as object), offerId }
  return { ...payment, accepted: { ...payment.accepted, extra } }
}

/** Pays for the cheap route, and is told that the payment is pending; then it is mined. */
async function openCheapRecord(shop: Shop, payer: TestPayer): Promise<PaymentPayload> {
  const payment = await shop.sign('/cheap', payer)
  await stopMining(devnet)
  const pending = await shop.pay('/cheap', payment)
  expect([pending.status, settlementOf(pending)]).toMatchObject([
    503,
    { errorReason: 'settlement_pending' },
  ])
  await resumeMining(devnet)
  return payment
}

/** Presents a payment until its outcome is known. */
async function redeem(shop: Shop, payment: PaymentPayload, init?: RequestInit): Promise<Response> {
  for (;;) {
    const response = await shop.pay('/cheap', payment, init)
    if (response.status !== 503) return response
  }
}

/** Tries everything but what was bought, by the buyer himself. */
async function attack(shop: Shop, { payer, cheap }: { payer: TestPayer; cheap: PaymentPayload }) {
  const refused: (string | undefined)[] = []
  for (const path of ['/expensive', '/other', '/twin', '/same-price']) {
    const again = echoing(await signAgain(shop, path, { payer, like: cheap }), cheap)
    const response = await shop.pay(path, again)
    expect([path, response.status]).toEqual([path, 402])
    refused.push(paymentRequiredOf(response).error)
  }
  expect(refused).toEqual([USED, USED, USED, USED])
  const { resource: _named, ...elsewhere } = cheap
  const method = await shop.pay('/cheap', elsewhere, { method: 'POST' })
  expect([method.status, paymentRequiredOf(method).error]).toEqual([402, USED])

  const accepted = { ...cheap.accepted, payTo: devnet.payers[5]!.address, amount: '900000000' }
  const terms = accepted as unknown as PaymentRequirements
  const { nonce } = signedAuthorization(cheap)
  const body = { paymentPayload: await signPayment(payer, terms, { nonce }) }
  for (const endpoint of ['verify', 'settle']) {
    const response = await fetch(`${shop.url}/api/v2/payment/${endpoint}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'X-Project-Identify-Token': OTHER_TOKEN },
      body: JSON.stringify({ ...body, paymentRequirements: terms }),
    })
    const answer = (await response.json()) as object
    if (endpoint === 'verify') expect(answer).toMatchObject({ isValid: false, invalidReason: USED })
    else expect(answer).toMatchObject({ success: false, errorReason: USED, transaction: '' })
    expect(answer).not.toHaveProperty('settledBy')
  }
}

describe.each(storeMakers)('an open record in %s', (_name, make) => {
  it.each(['authorization', 'upfront'] as const)(
    'buys only what it was reserved for, in the flow %s and by another process',
    async (flow) => {
      const store = await make()
      if (store === undefined) return
      toEnd.push(() => store.drop())
      const ledger = store.open()
      const runs = { count: 0 }
      const first = closedBy(toEnd, await openShop(devnet, routes(runs, flow), options({ ledger })))
      const payer = await newPayer(devnet)
      const cheap = await openCheapRecord(first, payer)
      await devnet.mint(payer.address, 2_000_000_000n)
      const before = { runs: runs.count, balance: await balanceOf(devnet, payer.address) }

      await attack(first, { payer, cheap })
      if (store.name !== 'memory') {
        const publicUrl = first.url
        const second = await openShop(
          devnet,
          routes(runs, flow),
          options({ ledger: store.open(), publicUrl }),
        )
        toEnd.push(() => second.close())
        await attack(second, { payer, cheap })
      }
      expect(runs.count).toBe(before.runs)
      expect(await balanceOf(devnet, payer.address)).toBe(before.balance)

      const redeemed = await redeem(first, cheap, { method: 'HEAD' })
      expect(redeemed.status).toBe(200)
      expect((await first.pay('/cheap', cheap)).status).toBe(402)
      expect(await balanceOf(devnet, payer.address)).toBe(before.balance)
    },
  )
})

describe('an open record of a shop with a remote facilitator', () => {
  it.each(['authorization', 'upfront'] as const)(
    'buys only what it was reserved for, in the flow %s',
    async (flow) => {
      const core = closedBy(toEnd, await openShop(devnet, routes({ count: 0 }, flow), options()))
      const runs = { count: 0 }
      const facilitator = httpFacilitator({
        url: `${core.url}/api/v2/payment`,
        token: SHOP_TOKEN,
      })
      const shop = await openShop(devnet, routes(runs, flow), options({ facilitator }))
      toEnd.push(() => shop.close())
      const payer = await newPayer(devnet)
      const cheap = await openCheapRecord(shop, payer)
      await devnet.mint(payer.address, 2_000_000_000n)
      const before = { runs: runs.count, balance: await balanceOf(devnet, payer.address) }
      for (const path of ['/expensive', '/same-price', '/twin']) {
        const again = echoing(await signAgain(shop, path, { payer, like: cheap }), cheap)
        const response = await shop.pay(path, again)
        expect([path, response.status, paymentRequiredOf(response).error]).toEqual([
          path,
          402,
          USED,
        ])
      }
      expect(runs.count).toBe(before.runs)
      expect((await redeem(shop, cheap)).status).toBe(200)
      expect((await shop.pay('/cheap', cheap)).status).toBe(402)
      expect(await balanceOf(devnet, payer.address)).toBe(before.balance)
    },
  )
})
