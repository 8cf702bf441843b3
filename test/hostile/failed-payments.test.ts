/** A transaction that was mined without moving money frees its authorization: the same payment is good again. */
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, describe, expect, it } from '@jest/globals'
import type { Express } from 'express'
import type { Gateway } from '../../src/gateway/gateway.js'
import type { PaymentPayload } from '../../src/shared/protocol/payment.js'
import { useCleanup, closedBy } from '../support/cleanup.js'
import { balanceOf, SHOP_TOKEN, useDevnet } from '../support/devnet.js'
import { newPayer, operate } from '../support/on-chain.js'
import { paymentHeader } from '../support/http.js'
import { openRemoteCore, openRemoteShop } from '../support/remote-shops.js'
import { openShop, paymentRequiredOf, settlementOf, type Shop } from '../support/shop.js'
import { signPayment, type TestPayer } from '../support/sign-payment.js'
import { storeMakers } from './stores.js'
import { stopMining, untilSent, resumeMining } from '../support/mining.js'

const devnet = useDevnet()
const toEnd = useCleanup()
const FAILED = 'invalid_transaction_state'

afterEach(async () => {
  await operate(devnet, 'unpause')
})

const earned = () => balanceOf(devnet, devnet.merchant.address)

const routes = (app: Express, gateway: Gateway): void => {
  app.get('/item', gateway.x402Protect('$0.01'), (_req, res) => void res.send('item'))
  app.get('/other', gateway.x402Protect('$0.01'), (_req, res) => void res.send('other'))
  app.use(gateway.gatewayRouter())
}

/** Has a request send its transaction, and does something in the block that mines it, ahead of it. */
async function inItsBlock<T>(
  request: () => Promise<T>,
  meanwhile: () => Promise<unknown>,
): Promise<T> {
  await stopMining(devnet)
  const running = request()
  await untilSent(devnet)
  await meanwhile()
  await resumeMining(devnet)
  return running
}

const pausedMeanwhile = <T>(request: () => Promise<T>): Promise<T> =>
  inItsBlock(request, () => operate(devnet, 'pause'))

const errorOf = (response: Response): string => String(paymentRequiredOf(response).error)

describe.each(storeMakers)('a payment whose transaction failed, on %s', (_name, make) => {
  async function open(): Promise<{ shop: Shop; buyer: TestPayer } | undefined> {
    const store = await make()
    if (store === undefined) return undefined
    toEnd.push(() => store.drop())
    const shop = closedBy(toEnd, await openShop(devnet, routes, { ledger: store.open() }))
    return { shop, buyer: await newPayer(devnet) }
  }

  it('is sent again once for its buyer, among many requests, when the token is no longer paused', async () => {
    const opened = await open()
    if (opened === undefined) return
    const { shop, buyer } = opened
    const payment = await shop.sign('/item', buyer)
    const before = await earned()
    const first = await pausedMeanwhile(() => shop.pay('/item', payment))
    expect([first.status, errorOf(first)]).toEqual([402, FAILED])
    const { transaction } = settlementOf(first)
    const whilePaused = await shop.pay('/item', payment)
    expect([whilePaused.status, settlementOf(whilePaused)]).toMatchObject([
      402,
      { errorReason: FAILED, transaction },
    ])
    await operate(devnet, 'unpause')
    // It buys what it was reserved for, and nothing else.
    expect((await shop.pay('/other', payment)).status).toBe(402)
    const answers = await Promise.all(Array.from({ length: 20 }, () => shop.pay('/item', payment)))
    expect(answers.map(({ status }) => status).filter((status) => status === 200)).toHaveLength(1)
    expect((await earned()) - before).toBe(10_000n)
    const given = answers.find(({ status }) => status === 200)!
    expect(settlementOf(given)).toMatchObject({ success: true })
    expect(settlementOf(given).transaction).not.toBe(transaction)
    expect(errorOf(await shop.pay('/item', payment))).toBe('invalid_exact_evm_nonce_already_used')
    expect(shop.events).toMatchObject({ failed: [{ transaction }], settled: [{}] })
  })

  it('is settled when it is sent again through the API', async () => {
    const opened = await open()
    if (opened === undefined) return
    const { shop, buyer } = opened
    const payment = await shop.sign('/item', buyer)
    const first = await pausedMeanwhile(() => settle(shop, payment))
    expect(first).toMatchObject({ success: false, errorReason: FAILED })
    expect(await settle(shop, payment)).toMatchObject({ success: false, errorReason: FAILED })
    await operate(devnet, 'unpause')
    expect(await settle(shop, payment)).toMatchObject({ success: true })
  })
})

it('a payment that failed at a remote core is settled when it is presented to the shop again', async () => {
  const core = await openRemoteCore(devnet, toEnd)
  const facilitator = core.facilitator()
  const shop = await openRemoteShop(devnet, toEnd, { name: 'the shop', facilitator })
  const buyer = await newPayer(devnet)
  const { accepts, resource } = paymentRequiredOf(await fetch(shop.goods))
  const payment = await signPayment(buyer, accepts[0]!, { payload: { resource: { ...resource } } })
  const present = () => fetch(shop.goods, { headers: paymentHeader(payment) })
  const before = await earned()
  const first = await pausedMeanwhile(present)
  expect([first.status, errorOf(first)]).toEqual([402, FAILED])
  const whilePaused = await present()
  expect([whilePaused.status, errorOf(whilePaused)]).toEqual([402, FAILED])
  await operate(devnet, 'unpause')
  let given = whilePaused
  // The shop remembers the core's refusal for a few seconds.
  while (given.status === 402) {
    await sleep(1000)
    given = await present()
  }
  expect([given.status, await given.text()]).toEqual([200, 'goods of the shop'])
  expect(settlementOf(given)).toMatchObject({ success: true })
  expect(settlementOf(given).transaction).not.toBe(settlementOf(first).transaction)
  expect((await earned()) - before).toBe(10_000n)
  expect((await present()).status).toBe(402)
  expect((await earned()) - before).toBe(10_000n)
})

it('a payer that failed again waits before the payment is sent a third time', async () => {
  const shop = closedBy(toEnd, await openShop(devnet, routes))
  const payment = await shop.sign('/item', await newPayer(devnet))
  const fail = async (): Promise<void> => {
    expect((await pausedMeanwhile(() => shop.pay('/item', payment))).status).toBe(402)
    await operate(devnet, 'unpause')
  }
  await fail()
  await fail()
  expect((await shop.pay('/item', payment)).status).toBe(402)
  expect(shop.events.failed).toHaveLength(2)
  expect(shop.events.submitted).toHaveLength(2)
})

it('a payment that failed is sent again once its payer is no longer blocked', async () => {
  const shop = closedBy(toEnd, await openShop(devnet, routes))
  const buyer = await newPayer(devnet)
  const payment = await shop.sign('/item', buyer)
  const first = await inItsBlock(
    () => shop.pay('/item', payment),
    () => operate(devnet, 'blacklist', buyer.address),
  )
  expect(errorOf(first)).toBe(FAILED)
  await operate(devnet, 'unBlacklist', buyer.address)
  expect((await shop.pay('/item', payment)).status).toBe(200)
})

async function settle(shop: Shop, paymentPayload: PaymentPayload): Promise<unknown> {
  const response = await fetch(`${shop.url}/api/v2/payment/settle`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-project-identify-token': SHOP_TOKEN },
    body: JSON.stringify({ paymentPayload, paymentRequirements: paymentPayload.accepted }),
  })
  return response.json()
}
