/** A facilitator that settles a share of the payments, while buyers cheat and gateways end. */
import { setTimeout } from 'node:timers/promises'
import { expect, it } from '@jest/globals'
import express, { type RequestHandler } from 'express'
import type { Facilitator } from '../../src/core/facilitator/facilitator.js'
import { createGateway } from '../../src/gateway/gateway.js'
import type { GatewayOptions } from '../../src/gateway/config/options.js'
import type { Hex, PaymentPayload, SettleResponse } from '../../src/shared/protocol/payment.js'
import { privateKeyToAccount } from 'viem/accounts'
import { closedBy, useCleanup } from '../support/cleanup.js'
import { askNode } from '../support/core.js'
import { balanceOf, shopOptions, useDevnet } from '../support/devnet.js'
import { listen, paymentHeader } from '../support/http.js'
import { emptyAccount, frontRun, newPayer, untilMined } from '../support/on-chain.js'
import { paymentRequiredOf } from '../support/shop.js'
import { signPayment } from '../support/sign-payment.js'
import { untilDecided } from '../support/until-decided.js'

const toEnd = useCleanup()
const devnet = useDevnet()

type Settle = (payment: PaymentPayload) => Promise<SettleResponse>

const refused: SettleResponse = {
  success: false,
  errorReason: 'insufficient_funds',
  transaction: '',
  network: 'eip155:84532',
}

/** Sends a payment, as an honest facilitator does. */
async function send(payment: PaymentPayload): Promise<SettleResponse> {
  const transaction = await frontRun(devnet, payment)
  await untilMined(devnet, transaction)
  return { success: true, transaction, network: 'eip155:84532', payer: payerOf(payment) }
}

const payerOf = ({ payload }: PaymentPayload) =>
  (payload as { readonly authorization: { readonly from: Hex } }).authorization.from

async function openShop(settle: Settle, options: GatewayOptions = {}) {
  const told: PaymentPayload[] = []
  const facilitator = {
    settle(payment: PaymentPayload) {
      told.push(payment)
      return settle(payment)
    },
    verify: () => Promise.reject(new Error('not asked')),
    supported: () => Promise.resolve({ kinds: [], extensions: [], signers: {} }),
  } as unknown as Facilitator
  const networks = ['base-sepolia']
  const list = [{ facilitator, networks, share: '1 in 2' as const }]
  const gateway = closedBy(
    toEnd,
    createGateway(shopOptions(devnet, { facilitator: list, ...options })),
  )
  let runs = 0
  /** Runs while a handler works. */
  const during = { run: () => Promise.resolve() }
  const give: RequestHandler = async (_req, res) => {
    runs++
    await during.run()
    res.send('goods')
  }
  const app = express()
  app.get('/a', gateway.x402Protect('$0.01'), give)
  app.get('/b', gateway.x402Protect('$0.01', { paymentFlow: 'upfront' }), give)
  const { url } = closedBy(toEnd, await listen(app))
  return { gateway, url, told, during, runs: () => runs }
}

async function sign(url: string, payer = devnet.payers[0]!, overrides = {}) {
  const [offer] = paymentRequiredOf(await fetch(url)).accepts
  return signPayment(payer, offer!, overrides)
}

const present = (url: string, payment: object) => fetch(url, { headers: paymentHeader(payment) })

it('gives the goods for what the facilitator sends after all, though it said that it had not', async () => {
  const payer = await newPayer(devnet)
  const { url, told } = await openShop(async () => {
    await emptyAccount(devnet, payer)
    await setTimeout(600)
    return refused
  })
  const payment = await sign(`${url}/a`, payer)
  expect((await present(`${url}/a`, payment)).status).toBe(402)
  await devnet.mint(payer.address, 1_000_000n)
  await send(told[0]!)
  expect((await untilDecided(() => present(`${url}/a`, payment))).status).toBe(200)
  expect((await present(`${url}/a`, payment)).status).toBe(402)
  expect(told).toHaveLength(1)
})

it('runs no handler again for a payer whose money is gone', async () => {
  const payer = await newPayer(devnet)
  const { url, runs } = await openShop(
    async () => {
      await emptyAccount(devnet, payer)
      throw new Error('gone')
    },
    { settleTimeoutMs: 2000 },
  )
  const payment = await sign(`${url}/a`, payer)
  for (let time = 0; time < 4; time++)
    expect((await present(`${url}/a`, payment)).status).not.toBe(200)
  expect(runs()).toBe(1)
  await devnet.mint(payer.address, 1_000_000n)
  expect((await untilDecided(() => present(`${url}/a`, payment))).status).toBe(200)
})

it('does not ask where too little time would be left to send a payment from here', async () => {
  const { url, told } = await openShop(() => new Promise(() => undefined))
  const validBefore = String(Math.floor(Date.now() / 1000) + 10)
  const payment = await sign(`${url}/b`, undefined, { validBefore })
  expect((await present(`${url}/b`, payment)).status).toBe(200)
  expect(told).toHaveLength(0)
})

it('asks again at once, where a payment was refused here as well', async () => {
  const { url, told, during } = await openShop(async (payment) => {
    return (await balanceOf(devnet, payerOf(payment))) === 0n ? refused : send(payment)
  })
  const payer = await newPayer(devnet)
  const bad = await sign(`${url}/a`, payer)
  during.run = () => emptyAccount(devnet, payer)
  expect((await present(`${url}/a`, bad)).status).toBe(402)
  during.run = () => Promise.resolve()
  expect((await present(`${url}/a`, await sign(`${url}/a`))).status).toBe(200)
  expect(told).toHaveLength(2)
})

it('sends nothing for what the facilitator has paid, though it says that it has not', async () => {
  const { url } = await openShop(async (payment) => {
    await send(payment)
    return refused
  })
  const sent = () =>
    Promise.all(
      devnet.relayerKeys.map((key) =>
        askNode<Hex>(devnet, 'eth_getTransactionCount', privateKeyToAccount(key).address, 'latest'),
      ),
    )
  const before = await sent()
  expect((await present(`${url}/a`, await sign(`${url}/a`))).status).toBe(200)
  expect(await sent()).toEqual(before)
})
