import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import type { LedgerEntry, LedgerStore, Submission } from '../../src/ledger/index.js'
import { recordId } from '../../src/ledger/index.js'
import { createMemoryLedger } from '../../src/ledger/memory-ledger.js'
import { MOST_REFUNDS, type RefundEntry } from '../../src/ledger/refunds.js'
import { storeMakers, type Store } from '../hostile/stores.js'
import { findPostgres } from '../support/postgres.js'
import { newNonce } from '../support/sign-payment.js'
import { newEntry, steps, SUBMISSION } from '../support/ledger-entries.js'

const RESERVED = { kind: 'reserved' }
const NOT_REFUNDABLE = { kind: 'not_refundable' }
const exceeds = (left: bigint) => ({ kind: 'exceeds_payment', left })
const inSeconds = (seconds: number): bigint => BigInt(Math.floor(Date.now() / 1000) + seconds)

/** A refund of a payment, valid for five minutes. */
function refundOf(payment: LedgerEntry, overrides: Partial<RefundEntry> = {}): RefundEntry {
  const { from, payTo } = payment
  const parties = { from: payTo, payTo: from, nonce: newNonce() }
  const terms = { refundOf: recordId(payment), validBefore: inSeconds(300) }
  return { ...payment, ...parties, ...terms, ...overrides }
}

async function settle(ledger: LedgerStore, overrides?: Partial<LedgerEntry>): Promise<LedgerEntry> {
  const payment = newEntry({ validBefore: inSeconds(300), ...overrides })
  await steps.settled(ledger, payment)
  await ledger.payments.markDelivered(payment)
  return payment
}

let next = 0
function newSubmission(): Submission {
  return { ...SUBMISSION, transaction: newNonce(), accountNonce: 1000 + next++ }
}

/** Reserves a refund and has it end. */
async function makeRefund(
  ledger: LedgerStore,
  entry: RefundEntry,
  end: 'settled' | 'failed',
): Promise<void> {
  expect(await ledger.refunds.reserveRefund(entry)).toEqual(RESERVED)
  const submission = newSubmission()
  const { transaction } = submission
  await ledger.payments.submit(entry, submission)
  if (end === 'failed')
    return ledger.payments.markFailed(entry, { transaction, reason: 'invalid_transaction_state' })
  await ledger.payments.markSettled(entry, transaction)
  await ledger.payments.markDelivered(entry)
}

const postgres = await findPostgres()
const makers = storeMakers.filter(([name]) => name !== 'PostgreSQL' || postgres !== undefined)

describe.each(makers)('refunds in %s', (_name, make) => {
  let store: Store
  let ledger: LedgerStore
  const opened: LedgerStore[] = []
  function open(): LedgerStore {
    const one = store.open()
    opened.push(one)
    return one
  }
  beforeEach(async () => {
    store = (await make())!
    ledger = open()
  })
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((one) => one.close()))
    await store.drop()
  })
  it('have failed once an empty transaction takes the nonce that they were settled with, replaced or not', async () => {
    const payment = await settle(ledger)
    const refund = refundOf(payment)
    await ledger.refunds.reserveRefund(refund)
    const by = { chainId: refund.chainId, relayer: `0x${newNonce().slice(2, 42)}` as const }
    const signed = (replaces?: readonly `0x${string}`[]): Submission => ({
      ...{ transaction: newNonce(), relayer: by.relayer, accountNonce: 0, raw: '0x02' },
      ...(replaces && { replaces }),
    })
    const submission = signed()
    await ledger.relayers.submitNext(by, 0, async () => ({
      submission,
      members: [{ key: refund, submission }],
    }))
    await ledger.payments.markSettled(refund, submission.transaction)
    const next = signed([submission.transaction])
    await ledger.relayers.replaceTransaction(by.chainId, submission.transaction, next)
    expect(await ledger.relayers.listTransactions(by, 0)).toMatchObject([
      { transaction: next.transaction, isNeeded: true, refundOf: recordId(payment) },
    ])
    const empty = signed([next.transaction, submission.transaction])
    expect(await ledger.relayers.fillNonce(by.chainId, empty, next.transaction)).toBe(true)
    expect(await ledger.payments.find(refund)).toMatchObject({ state: 'failed' })
  })

  it('tell of the last request alone, where one before was released', async () => {
    const payment = await settle(ledger)
    const refund = refundOf(payment)
    const id = recordId(refund)
    await ledger.refunds.reserveRefund(refund)
    await ledger.refunds.noteRequest(id, { reason: 'Lost', requestedBy: 'bob' })
    await ledger.payments.release(refund)
    expect(await ledger.refunds.reserveRefund(refund)).toEqual(RESERVED)
    await ledger.refunds.noteRequest(id, {})
    expect((await ledger.refunds.requestsOf([id])).size).toBe(0)
  })

  it('never exceed what was paid, one after the other', async () => {
    const payment = await settle(ledger)
    await makeRefund(ledger, refundOf(payment, { value: 4000n }), 'settled')
    expect(await ledger.refunds.reserveRefund(refundOf(payment, { value: 6001n }))).toEqual(
      exceeds(6000n),
    )
    await makeRefund(ledger, refundOf(payment, { value: 6000n }), 'settled')
    expect(await ledger.refunds.reserveRefund(refundOf(payment, { value: 1n }))).toEqual(
      exceeds(0n),
    )
  })

  it('never exceed what was paid, fifty at once', async () => {
    const payment = await settle(ledger)
    const all = Array.from({ length: 50 }, () => refundOf(payment, { value: 3000n }))
    const results = await Promise.all(all.map((one) => ledger.refunds.reserveRefund(one)))
    const kinds = results.map(({ kind }) => kind)
    expect(kinds.filter((kind) => kind === 'reserved')).toHaveLength(3)
    expect(kinds.filter((kind) => kind === 'exceeds_payment')).toHaveLength(47)
    expect(await ledger.refunds.refundsOf([recordId(payment)])).toHaveLength(3)
  })

  it('leave the payment as it was when they are released', async () => {
    const payment = newEntry({ validBefore: inSeconds(300) })
    await steps.settled(ledger, payment)
    await ledger.payments.unlock(payment)
    const one = refundOf(payment, { value: 1n })
    const other = refundOf(payment, { value: 1n })
    await Promise.all([ledger.refunds.reserveRefund(one), ledger.refunds.reserveRefund(other)])
    await ledger.payments.release(one)
    expect(await ledger.payments.relock(payment)).toBe(false)
    await ledger.payments.release(other)
    expect(await ledger.payments.find(payment)).toMatchObject({ delivered: false, locked: false })
    expect(await ledger.payments.relock(payment)).toBe(true)
    await ledger.payments.markDelivered(payment)
    const { delivery } = (await ledger.payments.find(payment))!
    await ledger.refunds.reserveRefund(one)
    await ledger.payments.release(one)
    expect(await ledger.payments.find(payment)).toMatchObject({ delivered: true, delivery })
  })

  it('return the existing record if their authorization is known', async () => {
    const payment = await settle(ledger)
    const entry = refundOf(payment)
    const [first, second] = await Promise.all([
      ledger.refunds.reserveRefund(entry),
      ledger.refunds.reserveRefund(entry),
    ])
    expect(first).toEqual(RESERVED)
    expect(second).toMatchObject({ kind: 'known', record: { refundOf: recordId(payment) } })
    expect(await ledger.refunds.reserveRefund(entry)).toMatchObject({ kind: 'known' })
    expect(await ledger.payments.reserve(entry)).toMatchObject({ refundOf: recordId(payment) })
    const other = await settle(ledger, { from: payment.from })
    const moved = { ...entry, refundOf: recordId(other) }
    const known = { kind: 'known', record: { refundOf: recordId(payment) } }
    expect(await ledger.refunds.reserveRefund(moved)).toMatchObject(known)
  })

  it('free their amount when nothing was sent', async () => {
    const payment = await settle(ledger)
    const entry = refundOf(payment)
    await ledger.refunds.reserveRefund(entry)
    expect(await ledger.refunds.reserveRefund(refundOf(payment))).toEqual(exceeds(0n))
    await ledger.payments.release(entry)
    expect(await ledger.refunds.reserveRefund(refundOf(payment))).toEqual(RESERVED)
  })

  it('free the amount of a failed one once its authorization has lapsed', async () => {
    const [payment, other] = [await settle(ledger), await settle(ledger)]
    await makeRefund(ledger, refundOf(payment), 'failed')
    expect(await ledger.refunds.reserveRefund(refundOf(payment))).toEqual(exceeds(0n))
    await makeRefund(ledger, refundOf(other, { validBefore: inSeconds(-300) }), 'failed')
    const again = refundOf(other)
    expect(await ledger.refunds.reserveRefund(again)).toEqual(RESERVED)
    expect(await ledger.refunds.reserveRefund(refundOf(other))).toEqual(exceeds(0n))
  })

  it('hold the amount of one whose outcome is unknown', async () => {
    const payment = await settle(ledger)
    const entry = refundOf(payment, { validBefore: inSeconds(-3600) })
    await ledger.refunds.reserveRefund(entry)
    await ledger.payments.submit(entry, newSubmission())
    await ledger.payments.unlock(entry)
    expect(await ledger.refunds.reserveRefund(refundOf(payment))).toEqual(exceeds(0n))
  })

  it('pay back only what the project was paid, and only to its payer', async () => {
    const payment = await settle(ledger)
    const wrong: Partial<RefundEntry>[] = [
      { project: 'other' },
      { project: undefined },
      { from: newEntry().from },
      { payTo: newEntry().from },
      { asset: `0x${'0a'.repeat(20)}` },
      { chainId: 8453 },
      { value: 0n },
      { refundOf: 'f'.repeat(32) },
    ]
    for (const one of wrong)
      expect(await ledger.refunds.reserveRefund(refundOf(payment, one))).toEqual(NOT_REFUNDABLE)
    const upper = payment.payTo.toUpperCase().replace('0X', '0x') as `0x${string}`
    expect(await ledger.refunds.reserveRefund(refundOf(payment, { from: upper }))).toEqual(RESERVED)
  })

  it.each(['reserved', 'submitted', 'failed'] as const)(
    'are refused for a payment that is %s',
    async (state) => {
      const payment = newEntry()
      await steps[state](ledger, payment)
      expect(await ledger.refunds.reserveRefund(refundOf(payment))).toEqual(NOT_REFUNDABLE)
    },
  )

  it('are refused for a refund', async () => {
    const first = refundOf(await settle(ledger))
    await makeRefund(ledger, first, 'settled')
    expect(await ledger.refunds.reserveRefund(refundOf(first))).toEqual(NOT_REFUNDABLE)
  })

  it('are left out of lists of payments, and keep what they say', async () => {
    const payment = await settle(ledger)
    const entry = refundOf(payment, { value: 1n })
    await makeRefund(ledger, entry, 'settled')
    const listed = await ledger.payments.list({ project: 'shop', limit: 10 })
    expect(listed.map(({ id }) => id)).toEqual([recordId(payment)])
    const query = { project: 'shop', id: recordId(entry), limit: 1 }
    expect(await ledger.payments.list(query)).toEqual([])
    const refunds = await ledger.refunds.refundsOf([recordId(payment), 'f'.repeat(32)])
    const { value, refundOf: of } = entry
    expect(refunds).toMatchObject([{ id: recordId(entry), state: 'settled', value, refundOf: of }])
    expect(await ledger.payments.find(entry)).toMatchObject({ refundOf: of })
    expect(await ledger.refunds.refundsOf([])).toEqual([])
    const final = await ledger.payments.listFinal({ state: 'settled', withinMs: 60_000, limit: 10 })
    expect(final.find(({ id }) => id === recordId(entry))).toMatchObject({ refundOf: of })
  })

  it('close an undelivered payment, so that its buyer does not get both goods and money', async () => {
    const payment = newEntry({ validBefore: inSeconds(300) })
    await steps.settled(ledger, payment)
    expect(await ledger.refunds.reserveRefund(refundOf(payment))).toEqual({
      kind: 'payment_in_use',
    })
    await ledger.payments.unlock(payment)
    expect(await ledger.refunds.reserveRefund(refundOf(payment))).toEqual(RESERVED)
    expect(await ledger.payments.relock(payment)).toBe(false)
    expect(await ledger.payments.find(payment)).toMatchObject({ delivered: true, locked: true })
  })

  it('are limited in number for one payment', async () => {
    const payment = await settle(ledger)
    const all = Array.from({ length: MOST_REFUNDS }, () => refundOf(payment, { value: 1n }))
    for (const result of await Promise.all(all.map((one) => ledger.refunds.reserveRefund(one))))
      expect(result).toEqual(RESERVED)
    const result = await ledger.refunds.reserveRefund(refundOf(payment, { value: 1n }))
    expect(result).toEqual({ kind: 'too_many_refunds' })
  })

  it('never exceed what was paid, from several processes at once', async () => {
    const payment = await settle(ledger)
    // A memory ledger is of one process.
    const ledgers = store.name === 'memory' ? [ledger] : [ledger, open(), open()]
    const results = await Promise.all(
      Array.from({ length: 30 }, (_, index) =>
        ledgers[index % ledgers.length]!.refunds.reserveRefund(refundOf(payment, { value: 2500n })),
      ),
    )
    expect(results.filter(({ kind }) => kind === 'reserved')).toHaveLength(4)
    const refunds = await ledgers.at(-1)!.refunds.refundsOf([recordId(payment)])
    expect(refunds.map(({ value }) => value)).toEqual([2500n, 2500n, 2500n, 2500n])
  })
})

describe('refunds in a memory ledger that drops records', () => {
  it('outlive their payment, however short their authorization is', async () => {
    const clock = { ms: Date.now() }
    const ledger = createMemoryLedger({ maxRecords: 5, now: () => clock.ms })
    const payment = await settle(ledger, { validBefore: inSeconds(47 * 3600) })
    await makeRefund(ledger, refundOf(payment, { validBefore: inSeconds(60) }), 'settled')
    clock.ms += 60 * 3_600_000
    expect(await ledger.refunds.reserveRefund(refundOf(payment))).toEqual(exceeds(0n))
    for (let index = 0; index < 5; index++) await settle(ledger)
    expect(await ledger.refunds.reserveRefund(refundOf(payment))).toEqual(NOT_REFUNDABLE)
    await ledger.close()
  })

  it('are never dropped to make room for other payments', async () => {
    const ledger = createMemoryLedger({ maxRecords: 3 })
    const payment = newEntry({ validBefore: inSeconds(300) })
    await steps.settled(ledger, payment)
    await ledger.payments.unlock(payment)
    await makeRefund(ledger, refundOf(payment, { value: 10_000n }), 'settled')
    for (let index = 0; index < 3; index++) await settle(ledger)
    expect(await ledger.refunds.refundsOf([recordId(payment)])).toHaveLength(1)
    expect(await ledger.refunds.reserveRefund(refundOf(payment))).not.toEqual(RESERVED)
    await ledger.close()
  })
})
