/** Payments that were taken at a price which is another one by now, and which nobody signed. */
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { generatePaymentId } from '@x402/extensions'
import express, { type Express } from 'express'
import { LedgerError } from '../../../src/shared/errors.js'
import type { Gateway } from '../../../src/gateway/gateway.js'
import type { LedgerStore } from '../../../src/ledger/index.js'
import { createMemoryLedger } from '../../../src/ledger/memory-ledger.js'
import { openSqliteLedger } from '../../../src/ledger/sqlite-ledger.js'
import type { PaymentPayload, PaymentRequirements } from '../../../src/shared/protocol/payment.js'
import { decoded } from '../../support/decoded.js'
import { balanceOf, useDevnet } from '../../support/devnet.js'
import { paymentHeader } from '../../support/http.js'
import { patchedLedger } from '../../support/patched-ledger.js'
import { openShop, paymentRequiredOf, settlementOf, type Shop } from '../../support/shop.js'
import { until } from '../../support/until.js'
import { untilDecided } from '../../support/until-decided.js'
import { stopMining, resumeMining, payAndLeave } from '../../support/mining.js'
import { useCleanup, temporaryFolder } from '../../support/cleanup.js'

const devnet = useDevnet()
const payer = () => devnet.payers[0]!
const earned = () => balanceOf(devnet, devnet.merchant.address)

let cents = 1
let runs = 0
let gone = 0
/** What the handler of `/held` waits for. */
let released: Promise<void> = Promise.resolve()

function routes(app: Express, { x402Protect }: Gateway): void {
  const price = () => `$0.0${cents}`
  app.use(express.json(), (_req, res, next) => {
    res.on('close', () => gone++)
    next()
  })
  app.all(
    '/cart',
    x402Protect(price),
    (_req, res) => void res.send(`${cents} cents, run ${++runs}`),
  )
  app.get('/held', x402Protect(price), async (_req, res) => {
    runs++
    await released
    res.send('held')
  })
  app.get('/large', x402Protect(price), (_req, res) => {
    runs++
    res.send('x'.repeat(300_000))
  })
  app.get('/fails', x402Protect(price), (_req, res) => {
    runs++
    res.status(500).end()
  })
  app.get('/upfront', x402Protect(price, { paymentFlow: 'upfront' }), (_req, res) => {
    res.send(`upfront, run ${++runs}`)
  })
  const hidden = { resourceUrl: () => 'https://shop.example/hidden' }
  for (const path of ['/hidden/1', '/hidden/2'])
    app.get(path, x402Protect(price, hidden), (_req, res) => void res.send(`${path} ${++runs}`))
}

const withId = (payment: PaymentPayload): PaymentPayload => ({
  ...payment,
  extensions: { 'payment-identifier': { info: { required: false, id: generatePaymentId() } } },
})

function errorOf(response: Response): string | undefined {
  expect(response.status).toBe(402)
  return paymentRequiredOf(response).error
}

const folder = temporaryFolder(useCleanup(afterAll))

describe.each<[string, () => LedgerStore]>([
  ['memory', () => createMemoryLedger()],
  ['SQLite', () => openSqliteLedger(join(folder, 'ledger.db'))],
])('a payment at an earlier price, with a ledger in %s', (_name, openLedger) => {
  let shop: Shop & { close(): Promise<void> }
  let ledger: LedgerStore
  /** Payments that were looked for while none of their transactions was out: who follows one looks, too, after a while. */
  const found: string[] = []
  /** How often the ledger does not write that a payment is delivered. */
  let failures = 0
  beforeAll(async () => {
    const store = openLedger()
    ledger = patchedLedger(store, {
      async find(key) {
        const record = await store.payments.find(key)
        if (record?.state !== 'submitted') found.push(key.nonce)
        return record
      },
      async markDelivered(...delivery) {
        if (failures === 0) return store.payments.markDelivered(...delivery)
        failures -= 1
        // Its lock lapses, as that of a write does which the database has not answered.
        await store.payments.unlock(delivery[0])
        throw new LedgerError('ledger_unavailable', 'The ledger’s database did not answer.')
      },
    })
    shop = await openShop(devnet, routes, { ledger, settleTimeoutMs: 400 })
  })
  afterAll(() => shop.close())
  afterEach(async () => {
    cents = 1
    await resumeMining(devnet)
  })
  const sign = (path: string): Promise<PaymentPayload> => shop.sign(path, payer())
  const signWithId = async (path: string): Promise<PaymentPayload> => withId(await sign(path))

  /** Presents a payment whose transaction is not mined until `mine` is called. */
  async function leavePending(path: string, payment: PaymentPayload): Promise<void> {
    await stopMining(devnet)
    const pending = await shop.pay(path, payment)
    expect(await pending.json()).toMatchObject({ code: 'settlement_pending', status: 503 })
  }
  /** Mines what is pending, and presents a payment until its outcome is known. */
  async function mineAndPay(path: string, payment: PaymentPayload): Promise<Response> {
    await resumeMining(devnet)
    return untilDecided(() => shop.pay(path, payment))
  }
  async function recordOf(payment: PaymentPayload) {
    const { key } = decoded(payment, payment.accepted as unknown as PaymentRequirements)
    return { key, record: await ledger.payments.find(key) }
  }

  it('gets its stored response, and costs nothing more', async () => {
    const before = await earned()
    const payment = await signWithId('/cart')
    const first = await (await shop.pay('/cart', payment)).text()
    cents = 2
    const runsBefore = runs
    const again = await shop.pay('/cart', payment)
    expect([again.status, await again.text()]).toEqual([200, first])
    expect(settlementOf(again)).toMatchObject({ success: true })
    expect([runs, await earned()]).toEqual([runsBefore, before + 10_000n])
    // The present price is offered to everybody else.
    expect(paymentRequiredOf(await shop.ask('/cart')).accepts).toMatchObject([{ amount: '20000' }])
  })

  it('keeps its stored response if the ledger fails while it is sent', async () => {
    const [before, payment] = [await earned(), await signWithId('/cart')]
    await leavePending('/cart', payment)
    const made = `1 cents, run ${runs}`
    cents = 2
    failures = 1
    const given = await mineAndPay('/cart', payment)
    expect([given.status, await given.text(), failures]).toEqual([200, made, 0])
    expect(await earned()).toBe(before + 10_000n)
  })

  it('is refused if the ledger does not know it', async () => {
    const [payment, plain] = [await signWithId('/cart'), await sign('/cart')]
    cents = 2
    const runsBefore = runs
    for (const one of [payment, plain]) {
      const refused = await shop.pay('/cart', one)
      expect(errorOf(refused)).toBe('invalid_payment_requirements')
      expect(refused.headers.get('payment-response')).toBeNull()
    }
    expect(runs).toBe(runsBefore)
    // Nothing was taken or bound: it is good at its own price.
    cents = 1
    expect((await shop.pay('/cart', payment)).status).toBe(200)
  })

  it('is refused if its handler has failed, because it was released', async () => {
    const payment = await signWithId('/fails')
    expect((await shop.pay('/fails', payment)).status).toBe(500)
    cents = 2
    expect(errorOf(await shop.pay('/fails', payment))).toBe('invalid_payment_requirements')
  })

  it('is refused if its transaction has failed', async () => {
    const payment = await signWithId('/cart')
    await leavePending('/cart', payment)
    const { key, record } = await recordOf(payment)
    if (key === undefined || record?.state !== 'submitted') throw new Error('it is not submitted')
    const { transaction } = record.submission
    await ledger.payments.markFailed(key, { transaction, reason: 'invalid_transaction_state' })
    cents = 2
    const runsBefore = runs
    expect(errorOf(await shop.pay('/cart', payment))).toBe('invalid_payment_requirements')
    expect(runs).toBe(runsBefore)
  })

  it.each([
    ['another route', '/large', '/cart'],
    ['another query', '/cart', '/cart?size=large'],
    ['another route of the same resource URL', '/hidden/1', '/hidden/2'],
    ['a query that the resource URL hides', '/hidden/1', '/hidden/1?size=large'],
  ])('buys nothing from %s', async (_what, bought, presented) => {
    const { resource: _resource, ...payment } = await signWithId(bought)
    expect((await shop.pay(bought, payment)).status).toBe(200)
    cents = 2
    const runsBefore = runs
    const refused = errorOf(await shop.pay(presented, payment))
    expect(['invalid_payment_requirements', 'invalid_exact_evm_nonce_already_used']).toContain(
      refused,
    )
    expect(runs).toBe(runsBefore)
  })

  it('buys nothing by another method', async () => {
    const payment = await signWithId('/cart')
    expect((await shop.pay('/cart', payment)).status).toBe(200)
    cents = 2
    const refused = await shop.pay('/cart', payment, { method: 'POST' })
    expect(errorOf(refused)).toBe('invalid_payment_requirements')
  })

  it('buys nothing more with another body', async () => {
    const post = (items: number): RequestInit => ({
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ items }),
    })
    const payment = await signWithId('/cart')
    const first = await (await shop.pay('/cart', payment, post(1))).text()
    cents = 2
    const runsBefore = runs
    // As at the same price: it is the response that was paid for.
    const again = await shop.pay('/cart', payment, post(100))
    expect([await again.text(), runs]).toEqual([first, runsBefore])
  })

  it.each<[string, (payment: PaymentPayload) => PaymentPayload]>([
    ['under another id', (payment) => withId(payment)],
    ['without its id', ({ extensions: _extensions, ...payment }) => payment],
    [
      'with another signature',
      (payment) => ({
        ...payment,
        payload: { ...payment.payload, signature: `0x${'11'.repeat(64)}1b` },
      }),
    ],
  ])('gets nothing %s', async (_what, change) => {
    const payment = await signWithId('/cart')
    expect((await shop.pay('/cart', payment)).status).toBe(200)
    cents = 2
    const runsBefore = runs
    const response = await shop.pay('/cart', change(payment))
    expect([402, 409]).toContain(response.status)
    expect(await response.text()).not.toContain('run ')
    expect(runs).toBe(runsBefore)
  })

  it('gets a refusal that names its transaction if it has no id, and runs no handler', async () => {
    const payment = await sign('/cart')
    const first = await shop.pay('/cart', payment)
    cents = 2
    const runsBefore = runs
    const again = await shop.pay('/cart', payment)
    expect(errorOf(again)).toBe('invalid_exact_evm_nonce_already_used')
    const { transaction } = settlementOf(first)
    expect(settlementOf(again)).toMatchObject({ success: false, settledBy: transaction })
    expect(runs).toBe(runsBefore)
  })

  it('gets the response of the first request when two wait for it', async () => {
    const before = await earned()
    const payment = await signWithId('/held')
    const runsBefore = runs
    let release = (): void => undefined
    released = new Promise((resolve) => (release = resolve))
    const first = shop.pay('/held', payment)
    await until(() => runs > runsBefore)
    cents = 2
    const others = [shop.pay('/held', payment), shop.pay('/held', payment)]
    release()
    for (const one of [first, ...others]) {
      let answer = await one
      // Its transaction may take longer than a request waits for it.
      while (answer.status === 503) answer = await shop.pay('/held', payment)
      expect(await answer.text()).toBe('held')
    }
    expect([runs, await earned()]).toEqual([runsBefore + 1, before + 10_000n])
  })

  it('is redeemed, once it is mined, for the response that it has bought', async () => {
    const before = await earned()
    const payment = await signWithId('/cart')
    const runsBefore = runs
    await leavePending('/cart', payment)
    cents = 2
    const stillPending = await shop.pay('/cart', payment)
    expect(await stillPending.json()).toMatchObject({ code: 'settlement_pending' })
    const redeemed = await mineAndPay('/cart', payment)
    expect(redeemed.status).toBe(200)
    expect(await redeemed.text()).toBe(`1 cents, run ${runsBefore + 1}`)
    expect(settlementOf(redeemed)).toMatchObject({ success: true })
    expect(redeemed.headers.get('access-control-expose-headers')).toContain('PAYMENT-RESPONSE')
    const both = await Promise.all([shop.pay('/cart', payment), shop.pay('/cart', payment)])
    for (const again of both) expect(settlementOf(again)).toEqual(settlementOf(redeemed))
    expect([runs, await earned()]).toEqual([runsBefore + 1, before + 10_000n])
  })

  it('is redeemed once by two requests that come when it is mined', async () => {
    const payment = await signWithId('/cart')
    await leavePending('/cart', payment)
    cents = 2
    const runsBefore = runs
    await resumeMining(devnet)
    const both = await Promise.all([mineAndPay('/cart', payment), mineAndPay('/cart', payment)])
    const texts = await Promise.all(both.map((one) => one.text()))
    expect(both.map(({ status }) => status)).toEqual([200, 200])
    expect(new Set(texts).size).toBe(1)
    expect(runs).toBe(runsBefore)
  })

  it('frees its id if a response was kept and its transaction has failed since', async () => {
    const payment = await signWithId('/cart')
    await leavePending('/cart', payment)
    const { key, record } = await recordOf(payment)
    if (key === undefined || record?.state !== 'submitted') throw new Error('it is not submitted')
    const { transaction } = record.submission
    await ledger.payments.markFailed(key, {
      transaction,
      reason: 'invalid_exact_evm_transfer_event_mismatch',
    })
    expect(errorOf(await shop.pay('/cart', payment))).toBe(
      'invalid_exact_evm_transfer_event_mismatch',
    )
    const { extensions } = payment
    await resumeMining(devnet)
    expect((await shop.pay('/cart', { ...(await sign('/cart')), extensions })).status).toBe(200)
  })

  it.each(['/cart', '/upfront', '/large'])('runs no handler at the new price: %s', async (path) => {
    const payment = path === '/cart' ? await sign(path) : await signWithId(path)
    await leavePending(path, payment)
    cents = 2
    const runsBefore = runs
    const refused = await mineAndPay(path, payment)
    expect(errorOf(refused)).toBe('invalid_exact_evm_nonce_already_used')
    const { record } = await recordOf(payment)
    expect(record).toMatchObject({ state: 'settled', delivered: false, locked: false })
    expect(settlementOf(refused)).toMatchObject({ settledBy: expect.stringMatching(/^0x/) })
    expect(runs).toBe(runsBefore)
    // It is not lost: at its own price, it is good again.
    cents = 1
    expect((await shop.pay(path, payment)).status).toBe(200)
    expect(runs).toBe(runsBefore + 1)
  })

  it('buys nothing at the new price for a client that left before its response came', async () => {
    const payment = await signWithId('/large')
    await payAndLeave(
      devnet,
      { url: `${shop.url}/large`, headers: paymentHeader(payment) },
      () => gone,
    )
    cents = 9
    const runsBefore = runs
    const refused = await mineAndPay('/large', payment)
    expect(errorOf(refused)).toMatch(/already_used|duplicate_settlement/)
    expect(runs).toBe(runsBefore)
  })

  it('costs no ledger query if the price has not changed', async () => {
    const payment = await signWithId('/cart')
    found.length = 0
    await shop.ask('/cart')
    expect((await shop.pay('/cart', payment)).status).toBe(200)
    expect((await shop.pay('/cart', payment)).status).toBe(200)
    expect(found).toEqual([])
  })
})
