/** Payments up to a maximum that were charged for an answer which nobody got, and what else they buy. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import express from 'express'
import { request } from 'node:http'
import { encodeFunctionData } from 'viem'
import { LedgerError } from '../../../src/shared/errors.js'
import { MAX_STORED_BYTES } from '../../../src/ledger/once/store.js'
import { createMemoryLedger } from '../../../src/ledger/memory-ledger.js'
import type { RateSource } from '../../../src/shared/money/rates.js'
import { paidRequest } from '../../../src/sell/flow/paid-request.js'
import { plainTokenAbi } from '../../tools/devnet/abis.js'
import { permit2Of } from '../../tools/devnet/permit2.js'
import type { Cleanup } from '../../support/cleanup.js'
import { askNode } from '../../support/core.js'
import { balanceOf, SHOP_TOKEN, useDevnet } from '../../support/devnet.js'
import { paymentHeader } from '../../support/http.js'
import { bound, patchedLedger } from '../../support/patched-ledger.js'
import { openShop, paymentRequiredOf, settlementOf } from '../../support/shop.js'
import { signPayment } from '../../support/sign-payment.js'
import { signUpTo } from '../../support/sign-up-to.js'
import { until } from '../../support/until.js'
import { stores, type TestStore } from '../../operate/webhooks/stores.js'
import { stopMining, resumeMining, hasWaiting, untilSent } from '../../support/mining.js'

const devnet = useDevnet()
const permit2 = permit2Of(devnet)
const EXCEEDED = 'invalid_upto_evm_payload_settlement_exceeds_amount'
const USED = 'invalid_exact_evm_nonce_already_used'
const JSON_TYPE = { 'content-type': 'application/json' }

beforeAll(async () => {
  for (const { address } of devnet.payers) await permit2.approve(address)
})

describe.each(stores)('with the %s ledger,', (_name, openStore) => {
  const toEnd: Cleanup = []
  let store: TestStore
  let shop: Awaited<ReturnType<typeof openShop>>
  /** What the handler charges, whatever it is asked. */
  let price = '0'
  /** Whether it answers with more than is kept. */
  let isLarge = false
  let runs = 0
  /** What answers were claimed under. */
  const keys: string[] = []
  let gone = 0
  let leave: (() => Promise<void>) | undefined

  beforeAll(async () => {
    store = await openStore(toEnd)
    const { payments } = store.ledger
    const ledger = patchedLedger(store.ledger, {
      async settleUncharged(...one) {
        await payments.settleUncharged(...one)
        await leave?.()
      },
      idempotency: {
        begin(one) {
          keys.push(one.key)
          return store.ledger.idempotency.begin(one)
        },
      },
    })
    shop = await openShop(
      devnet,
      (app, { x402Protect, gatewayRouter }) => {
        app.use((_req, res, next) => {
          res.on('close', () => (gone += res.writableFinished ? 0 : 1))
          next()
        })
        app.post('/llm', express.json(), x402Protect({ upTo: '$0.10' }), (req, res) => {
          runs += 1
          paidRequest(req).charge(price)
          res.json({ worth: price, ...(isLarge && { filling: 'x'.repeat(MAX_STORED_BYTES) }) })
        })
        app.use(gatewayRouter())
      },
      { ledger },
    )
  })
  afterAll(async () => {
    await shop.close()
    for (const end of toEnd.toReversed()) await end()
  })

  const asked = (question: string) => ({
    method: 'POST',
    headers: JSON_TYPE,
    body: JSON.stringify({ question }),
  })

  async function sign(maxTimeoutSeconds?: number) {
    const required = await shop.ask('/llm', asked(''))
    const change = maxTimeoutSeconds === undefined ? {} : { maxTimeoutSeconds }
    const signed = await signUpTo(required, devnet.payers[0]!, change)
    return { ...signed, accepted: paymentRequiredOf(required).accepts[0]! }
  }

  /** Sends a request, and hangs up while its payment is settled. */
  async function ask(path: string, headers: Record<string, string>, body: object) {
    const before = gone
    const sent = request(shop.url + path, { method: 'POST', headers: { ...JSON_TYPE, ...headers } })
    sent.on('error', () => undefined)
    const hangUp = async () => {
      sent.destroy()
      await until(() => gone > before)
    }
    leave = hangUp
    await stopMining(devnet)
    sent.end(JSON.stringify(body))
    await until(async () => gone > before || (await hasWaiting(devnet)))
    if (gone === before) await hangUp()
    leave = undefined
    await resumeMining(devnet)
    await until(async () => {
      const records = await store.ledger.payments.list({ project: 'shop', limit: 100 })
      return records.some(({ state, locked }) => state === 'settled' && !locked)
    })
  }

  const askAndLeave = (payment: object, question: string) =>
    ask('/llm', paymentHeader(payment), { question })
  const earned = () => balanceOf(devnet, devnet.merchant.address)

  const CHARGES = [
    ['0.000001', '1'],
    ['0', '0'],
    ['0.10', '100000'],
  ] as const

  it.each(CHARGES)('what was charged %s buys its own answer', async (first, charged) => {
    const before = await earned()
    const payment = await sign()
    price = first
    await askAndLeave(payment, 'same')
    const ran = runs
    // Whatever another run would charge.
    price = '0.05'
    const sold = await shop.pay('/llm', payment, asked('same'))
    expect(await sold.json()).toEqual({ worth: first })
    expect(settlementOf(sold)).toMatchObject({ success: true, amount: charged })
    expect((await earned()) - before).toBe(BigInt(charged))
    expect(runs).toBe(ran)
    const again = await shop.pay('/llm', payment, asked('same'))
    expect(paymentRequiredOf(again).error).toBe(USED)
    expect(await again.text()).not.toContain('worth')
  })

  it('gives it to nobody who has only seen the payment', async () => {
    const payment = await sign()
    price = '0.02'
    await askAndLeave(payment, 'mine')
    const { offerId: _secret, ...extra } = payment.accepted.extra!
    const seen = { ...payment, accepted: { ...payment.accepted, extra } }
    const refused = await shop.pay('/llm', seen, asked('mine'))
    expect(refused.status).toBe(402)
    expect(await refused.text()).not.toContain('worth')
    const forged = {
      ...payment,
      payload: { ...payment.payload, signature: `0x${'11'.repeat(65)}` },
    }
    expect((await shop.pay('/llm', forged, asked('mine'))).status).toBe(402)
    const sold = await shop.pay('/llm', payment, asked('mine'))
    expect(await sold.json()).toEqual({ worth: '0.02' })
  })

  it('keeps nothing of a payment that is refused, or whose answer went out', async () => {
    keys.length = 0
    const payment = await sign()
    price = '0.02'
    const forged = {
      ...payment,
      payload: { ...payment.payload, signature: `0x${'11'.repeat(65)}` },
    }
    expect((await shop.pay('/llm', forged, asked('all'))).status).toBe(402)
    expect((await shop.pay('/llm', payment, asked('all'))).status).toBe(200)
    const kept = new Set(keys)
    expect(kept.size).toBe(1)
    for (const key of kept)
      await until(async () => {
        const found = await store.ledger.idempotency.look({ key, fingerprint: key })
        return found.state === 'free'
      })
  })

  it.each(CHARGES.slice(0, 2))(
    'where it is too large to be kept, what was charged %s buys no dearer one',
    async (first, charged) => {
      const before = await earned()
      const payment = await sign()
      isLarge = true
      price = first
      await askAndLeave(payment, 'same')
      price = '0.10'
      const refused = await shop.pay('/llm', payment, asked('same'))
      expect(refused.status).toBe(402)
      expect(await refused.clone().text()).not.toContain('worth')
      const { error, errorMessage } = paymentRequiredOf(refused)
      expect(error).toBe(EXCEEDED)
      expect(errorMessage).toContain(`charged ${charged} units`)
      expect(settlementOf(refused)).toMatchObject({ success: false, errorReason: EXCEEDED })
      expect((await earned()) - before).toBe(BigInt(charged))
      // It still buys what it was charged for.
      price = first
      const sold = await shop.pay('/llm', payment, asked('same'))
      isLarge = false
      expect(await sold.json()).toMatchObject({ worth: first })
      expect(settlementOf(sold)).toMatchObject({ success: true, amount: charged })
      expect((await earned()) - before).toBe(BigInt(charged))
      const again = await shop.pay('/llm', payment, asked('same'))
      expect(paymentRequiredOf(again).error).toBe(USED)
    },
  )

  it.each(['0', '0.02'])('what was charged %s for one body buys no other', async (first) => {
    const payment = await sign()
    price = first
    await askAndLeave(payment, 'one')
    const refused = await shop.pay('/llm', payment, asked('other'))
    expect(paymentRequiredOf(refused).error).toBe(USED)
    expect((await shop.pay('/llm', payment, asked('one'))).status).toBe(200)
  })

  it('what failed on chain still buys its own answer when it is sent again', async () => {
    const payer = devnet.payers[0]!
    const before = await earned()
    const payment = await sign()
    price = '0.000001'
    await stopMining(devnet)
    const answer = shop.pay('/llm', payment, asked('same'))
    await untilSent(devnet)
    await askNode(devnet, 'anvil_setBalance', payer.address, '0xde0b6b3a7640000')
    await askNode(devnet, 'anvil_impersonateAccount', payer.address)
    const args = [devnet.permit2, 0n] as const
    const data = encodeFunctionData({ abi: plainTokenAbi, functionName: 'approve', args })
    const fees = { maxFeePerGas: '0x2540be4000', maxPriorityFeePerGas: '0x2540be400' }
    const call = { from: payer.address, to: devnet.asset, data, gas: '0x30d40', ...fees }
    await askNode(devnet, 'eth_sendTransaction', call)
    await resumeMining(devnet)
    expect(settlementOf(await answer)).toMatchObject({ errorReason: 'invalid_transaction_state' })
    await permit2.approve(payer.address)

    price = '0.10'
    const sold = await shop.pay('/llm', payment, asked('same'))
    expect(await sold.json()).toEqual({ worth: '0.000001' })
    expect(settlementOf(sold)).toMatchObject({ success: true, amount: '1' })
    expect((await earned()) - before).toBe(1n)
  })

  it('settles by the API for no more than what was charged before', async () => {
    const payment = await sign()
    const { accepted } = payment
    const bodyOf = (amount: string) => ({
      paymentPayload: payment,
      paymentRequirements: { ...accepted, amount },
    })
    const token = { 'X-Project-Identify-Token': SHOP_TOKEN }
    const path = '/api/v2/payment/settle'
    await ask(path, token, bodyOf('7'))
    const settle = async (amount: string) => {
      const body = JSON.stringify(bodyOf(amount))
      const response = await shop.ask(path, {
        ...{ method: 'POST', headers: { ...JSON_TYPE, ...token } },
        body,
      })
      return (await response.json()) as object
    }
    expect(await settle('8')).toMatchObject({ success: false, errorReason: EXCEEDED })
    expect(await settle('5')).toMatchObject({ success: true, amount: '7' })
    expect(await settle('5')).toMatchObject({ success: false, errorReason: USED })
  })

  it('refuses a permit that is valid for much longer than it was asked to', async () => {
    price = '0'
    const refused = await shop.pay('/llm', await sign(86_400), asked('long'))
    const { error, errorMessage } = paymentRequiredOf(refused)
    expect(error).toBe('invalid_payload')
    expect(errorMessage).toContain('300 seconds')
    expect((await shop.pay('/llm', await sign(850), asked('long'))).status).toBe(200)
  })
})

it('a full ledger refuses what nothing is charged for, and nothing else', async () => {
  let price = '0'
  const ledger = createMemoryLedger({ maxRecords: 20 })
  const shop = await openShop(
    devnet,
    (app, { x402Protect }) => {
      app.get('/', x402Protect({ upTo: '$0.10' }), (req, res) => {
        paidRequest(req).charge(price)
        res.send('sold')
      })
    },
    { ledger },
  )
  // One payer may have one of them.
  const buy = async (payer = 0) =>
    shop.pay('/', await signUpTo(await shop.ask('/'), devnet.payers[payer]!))
  for (const payer of [0, 1]) expect((await buy(payer)).status).toBe(200)
  const refused = await buy(2)
  expect(refused.status).toBe(503)
  expect(await refused.json()).toMatchObject({ code: 'ledger_full' })
  price = '0.02'
  expect((await buy()).status).toBe(200)
  price = '0'
  expect((await buy(2)).status).toBe(503)
  await shop.close()
})

it('charges nothing for an answer that could not be kept', async () => {
  const ledger = createMemoryLedger()
  let isAway = true
  const shop = await openShop(
    devnet,
    (app, { x402Protect }) => {
      app.get('/', x402Protect({ upTo: '$0.10' }), (req, res) => {
        paidRequest(req).charge('0.02')
        res.send('sold')
      })
    },
    {
      logger: { debug() {}, info() {}, warn() {}, error() {} },
      ledger: patchedLedger(ledger, {
        idempotency: {
          async begin(request) {
            const begun = await ledger.idempotency.begin(request)
            if (begun.state !== 'fresh' || !isAway) return begun
            const keep = (): Promise<never> =>
              Promise.reject(new LedgerError('ledger_unavailable', 'away'))
            return { ...begun, claim: { ...bound(begun.claim), keep } }
          },
        },
      }),
    },
  )
  const before = await balanceOf(devnet, devnet.merchant.address)
  const payment = await signUpTo(await shop.ask('/'), devnet.payers[0]!)
  const refused = await shop.pay('/', payment)
  expect(refused.status).toBe(503)
  expect(await refused.json()).toMatchObject({ code: 'ledger_unavailable' })
  expect(await balanceOf(devnet, devnet.merchant.address)).toBe(before)
  isAway = false
  expect(await (await shop.pay('/', payment)).text()).toBe('sold')
  expect(await balanceOf(devnet, devnet.merchant.address)).toBe(before + 20_000n)
  await shop.close()
})

it('is counted at its own rate, though the rate has changed when its payer asks again', async () => {
  let cents = 120n
  const rates: RateSource = {
    async getRate(base, quote) {
      if (base !== 'EUR' || quote !== 'USD') return undefined
      return { rate: { units: cents, scale: 2 }, asOf: 1_790_000_000, source: 'the market' }
    },
  }
  const merchant = { payTo: devnet.merchant.address, crossCurrency: true }
  const shop = await openShop(
    devnet,
    (app, { x402Protect }) => {
      app.get('/', x402Protect({ upTo: '€0.10' }), (req, res) => {
        paidRequest(req).charge('€0.05')
        res.send('sold')
      })
    },
    { rates, projects: [{ id: 'shop', merchant }], settleTimeoutMs: 1000 },
  )
  const payment = await signUpTo(await shop.ask('/'), devnet.payers[0]!)
  await stopMining(devnet)
  const pending = await shop.pay('/', payment)
  expect(settlementOf(pending)).toMatchObject({ errorReason: 'settlement_pending' })
  await resumeMining(devnet)
  cents = 110n
  const sold = await shop.pay('/', payment)
  expect([sold.status, await sold.text()]).toEqual([200, 'sold'])
  const half = (BigInt(payment.accepted.amount) + 1n) / 2n
  expect(settlementOf(sold)).toMatchObject({ success: true, amount: String(half) })
  await shop.close()
})

describe('where a route has a maximum for some requests, and a fixed price for others,', () => {
  let shop: Awaited<ReturnType<typeof openShop>>
  let runs = 0

  beforeAll(async () => {
    shop = await openShop(
      devnet,
      (app, { x402Protect }) => {
        const metered = x402Protect({ upTo: '$0.10' })
        const fixed = x402Protect('$0.10')
        app.all(
          ['/upload', '/get'],
          (req, res, next) => (req.get('x-plan') === 'fixed' ? fixed : metered)(req, res, next),
          (req, res) => {
            runs += 1
            if (req.get('x-plan') !== 'fixed') paidRequest(req).charge('0.000001')
            res.send(req.get('x-plan'))
          },
        )
      },
      { settleTimeoutMs: 1000 },
    )
  })
  afterAll(() => shop.close())

  async function payBoth(path: string, plans: readonly [string, string]) {
    // A body that nobody has parsed has no fingerprint.
    const upload = path === '/upload' ? { method: 'POST', body: 'x' } : {}
    const [first, second] = plans.map((plan) => ({ ...upload, headers: { 'x-plan': plan } }))
    const required = await shop.ask(path, first)
    const { accepts, resource } = paymentRequiredOf(required)
    const payment =
      plans[0] === 'fixed'
        ? await signPayment(devnet.payers[1]!, accepts[0]!, {
            payload: { resource: { ...resource } },
          })
        : await signUpTo(required, devnet.payers[0]!)
    await askNode(devnet, 'evm_setAutomine', false)
    expect((await shop.pay(path, payment, first)).status).toBe(503)
    await askNode(devnet, 'evm_setAutomine', true)
    await devnet.mine()
    const ran = runs
    const sold = await shop.pay(path, payment, second)
    return { sold, ran: runs - ran }
  }

  it.each(['/upload', '/get'])('what was charged buys its own answer alone (%s)', async (path) => {
    const { sold, ran } = await payBoth(path, ['metered', 'fixed'])
    expect([sold.status, await sold.text(), ran]).toEqual([200, 'metered', 0])
    expect(settlementOf(sold)).toMatchObject({ success: true, amount: '1' })
  })

  it.each(['/upload', '/get'])(
    'a fixed price that was taken is all that is paid (%s)',
    async (path) => {
      const { sold, ran } = await payBoth(path, ['fixed', 'metered'])
      expect([sold.status, await sold.text(), ran]).toEqual([200, 'metered', 1])
      expect(settlementOf(sold)).not.toHaveProperty('amount')
    },
  )
})
