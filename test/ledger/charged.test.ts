import { describe, expect, it } from '@jest/globals'
import { exportedOf, exportWriter } from '../../src/ledger/export-format.js'
import { amountOf, EVERY_PROJECT, recordId } from '../../src/ledger/index.js'
import type { LedgerEntry, LedgerStore, PaymentKey, Submission } from '../../src/ledger/index.js'
import type { RefundEntry } from '../../src/ledger/refunds.js'
import { settlementOf } from '../../src/api/settlements/settlement-document.js'
import { useCleanup } from '../support/cleanup.js'
import { newEntry, SUBMISSION, UNAVAILABLE } from '../support/ledger-entries.js'
import { newNonce } from '../support/sign-payment.js'
import { until } from '../support/until.js'
import { stores } from '../operate/webhooks/stores.js'

const CHAIN = 84532
/** Beyond the numbers of SQLite. */
const HUGE = 2n ** 200n
const FAILURE = { reason: 'invalid_transaction_state' } as const

/** A payment of at most ten units of a token, by Permit2. */
const upTo = (value = 10n, overrides: Partial<LedgerEntry> = {}): LedgerEntry =>
  newEntry({ value, contract: `0x${'22'.repeat(20)}`, validBefore: 2n ** 40n, ...overrides })

let nonces = 0
const newSubmission = (): Submission => ({
  ...SUBMISSION,
  transaction: newNonce(),
  accountNonce: 5000 + nonces++,
})

type Charge = readonly [entry: LedgerEntry, charged: bigint | undefined]

/** Writes payments down in one transaction, each way that there is. @returns Those that may not be sent. */
const WAYS: Readonly<
  Record<
    string,
    (ledger: LedgerStore, charges: readonly Charge[]) => Promise<readonly PaymentKey[]>
  >
> = {
  'by themselves': async ({ payments }, charges) => {
    const lost: PaymentKey[] = []
    for (const [entry, charged] of charges)
      await payments.submit(entry, newSubmission(), charged).catch(() => lost.push(entry))
    return lost
  },
  'with the next account nonce': (ledger, charges) => sendNext(ledger, charges, newNonce()),
  'with an account nonce that is likely': async (ledger, charges) => {
    const relayer = newNonce()
    await sendNext(ledger, [], relayer)
    return sendNext(ledger, charges, relayer)
  },
}

function sendNext(
  { relayers }: LedgerStore,
  charges: readonly Charge[],
  name: string,
): Promise<readonly PaymentKey[]> {
  const relayer = `0x${name.slice(2, 42)}` as const
  return relayers.submitNext({ chainId: CHAIN, relayer }, 0, async (accountNonce) => {
    const submission = { ...SUBMISSION, relayer, accountNonce, transaction: newNonce() }
    return { submission, members: charges.map(([key, charged]) => ({ key, charged, submission })) }
  })
}

/** A settled payment of which that much was charged. */
async function settle(ledger: LedgerStore, entry: LedgerEntry, charged?: bigint): Promise<void> {
  const { payments } = ledger
  await payments.reserve(entry)
  if (charged === 0n) await payments.settleUncharged(entry, payments.lockOf(entry))
  else {
    const submission = newSubmission()
    await payments.submit(entry, submission, charged)
    await payments.markSettled(entry, submission.transaction)
  }
  await payments.markDelivered(entry)
}

describe.each(stores)('what is charged, in the %s ledger,', (name, openStore) => {
  const toEnd = useCleanup()
  const open = () => openStore(toEnd)

  describe.each(Object.entries(WAYS))('written down %s,', (_way, write) => {
    it.each([
      ['less', 10n, 9n, 9n],
      ['all', 10n, 10n, 10n],
      ['what is not said', 10n, undefined, undefined],
      ['less, of more than there are numbers for', HUGE, HUGE - 1n, HUGE - 1n],
    ])('is %s', async (_what, value, charged, recorded) => {
      const { ledger } = await open()
      const entry = upTo(value)
      await ledger.payments.reserve(entry)
      expect(await write(ledger, [[entry, charged]])).toEqual([])
      const record = await ledger.payments.find(entry)
      expect(record).toMatchObject({ state: 'submitted', value })
      expect(record?.charged).toBe(recorded)
      expect(amountOf(record!)).toBe(charged ?? value)
    })

    it.each([
      ['more than the maximum', 9n, 10n],
      ['more than it, with as many digits', 10n, 11n],
      ['more than it, beyond the numbers', HUGE, HUGE + 1n],
    ])('is never %s, and nothing of it is sent', async (_what, value, charged) => {
      const { ledger } = await open()
      const [entry, neighbour] = [upTo(value), upTo(value)]
      for (const one of [entry, neighbour]) await ledger.payments.reserve(one)
      const lost = await write(ledger, [
        [entry, charged],
        [neighbour, value - 1n],
      ])
      expect(lost).toEqual([entry])
      expect(await ledger.payments.find(entry)).toMatchObject({ state: 'reserved' })
      expect(await write(ledger, [[neighbour, value - 1n]])).toEqual([])
    })

    it.each([0n, -1n])('is more than nothing: %d is refused', async (charged) => {
      const { ledger } = await open()
      const entry = upTo()
      await ledger.payments.reserve(entry)
      expect(await write(ledger, [[entry, charged]])).toEqual([entry])
      expect(await ledger.payments.find(entry)).toMatchObject({ state: 'reserved' })
    })

    it('stays what it was when the payment is sent again', async () => {
      const { ledger } = await open()
      const entry = upTo()
      const chargedOf = async () => (await ledger.payments.find(entry))?.charged
      await ledger.payments.reserve(entry)
      expect(await write(ledger, [[entry, 7n]])).toEqual([])
      for (const charged of [6n, 8n, 10n])
        expect(await write(ledger, [[entry, charged]])).toEqual([entry])
      for (const charged of [undefined, 7n]) {
        expect(await write(ledger, [[entry, charged]])).toEqual([])
        expect(await chargedOf()).toBe(7n)
      }
      await ledger.payments.markFailed(entry, { ...FAILURE, transaction: newNonce() })
      expect(await ledger.payments.relock(entry)).toBe(true)
      expect(await write(ledger, [[entry, 6n]])).toEqual([entry])
      expect(await write(ledger, [[entry, 7n]])).toEqual([])
      expect(await chargedOf()).toBe(7n)
    })

    it('stays the whole, once it was', async () => {
      const { ledger } = await open()
      const entry = upTo()
      await ledger.payments.reserve(entry)
      expect(await write(ledger, [[entry, undefined]])).toEqual([])
      expect(await write(ledger, [[entry, 9n]])).toEqual([entry])
      expect(await write(ledger, [[entry, 10n]])).toEqual([])
    })
  })

  it('outlives a replaced transaction, and the process that has sent it', async () => {
    const store = await open()
    const { ledger } = store
    const entry = upTo()
    await ledger.payments.reserve(entry)
    await sendNext(ledger, [[entry, 4n]], newNonce())
    const record = await ledger.payments.find(entry)
    if (record?.state !== 'submitted') throw new Error('It was not sent.')
    const { transaction } = record.submission
    const next = { ...record.submission, transaction: newNonce() }
    expect(await ledger.relayers.replaceTransaction(CHAIN, transaction, next)).toBe(true)
    await store.pass(60_000)
    const other = store.another()
    expect(await other.payments.find(entry)).toMatchObject({ state: 'submitted', charged: 4n })
    await other.payments.markSettled(entry, next.transaction)
    expect(await other.payments.find(entry)).toMatchObject({ state: 'settled', charged: 4n })
  })

  it('is free again where a process died before it had written it down', async () => {
    if (name === 'memory') return
    const store = await open()
    const entry = upTo()
    await store.ledger.payments.reserve(entry)
    const other = store.another()
    // The first one may show that it lives just after the time has passed.
    await until(async () => {
      await store.pass(60_000)
      return (await other.payments.reserve(entry)) === undefined
    })
    await other.payments.submit(entry, newSubmission(), 3n)
    // The first one lives after all.
    const late = store.ledger.payments
    await expect(late.submit(entry, newSubmission(), 8n)).rejects.toMatchObject(UNAVAILABLE)
    const lock = late.lockOf(entry)
    await expect(late.settleUncharged(entry, lock)).rejects.toMatchObject(UNAVAILABLE)
    expect(await other.payments.find(entry)).toMatchObject({ state: 'submitted', charged: 3n })
  })

  it('is nothing: no transaction is sent, and the payment is used', async () => {
    const { ledger } = await open()
    const { payments } = ledger
    const entry = upTo()
    await payments.reserve(entry)
    const lock = payments.lockOf(entry)
    await payments.settleUncharged(entry, lock)
    // Its answer may have been lost.
    await payments.settleUncharged(entry, lock)
    const settled = { state: 'settled', charged: 0n, delivered: false, locked: true }
    const record = await payments.find(entry)
    expect(record).toMatchObject(settled)
    expect(record).not.toHaveProperty('transaction')
    expect(record).not.toHaveProperty('submission')
    await payments.markDelivered(entry, undefined, lock)
    expect(await payments.reserve(entry)).toMatchObject({ ...settled, delivered: true })
    expect(await payments.relock(entry)).toBe(false)
    expect(await payments.markSettledLate(entry, newNonce(), 'a log')).toBe(true)
    expect(await payments.markSettled(entry, newNonce())).toBe(true)
    expect(await payments.find(entry)).not.toHaveProperty('transaction')
    await expect(payments.submit(entry, newSubmission())).rejects.toMatchObject(UNAVAILABLE)
    const final = await payments.listFinal({ state: 'settled', withinMs: 60_000, limit: 10 })
    expect(final).toEqual([])
  })

  it('is nothing, and may be fetched by the same payment after a crash', async () => {
    const { ledger } = await open()
    const entry = upTo()
    await ledger.payments.reserve(entry)
    await ledger.payments.settleUncharged(entry, ledger.payments.lockOf(entry))
    await ledger.payments.unlock(entry)
    expect(await ledger.payments.reserve(entry)).toMatchObject({ state: 'settled', locked: false })
    expect(await ledger.payments.relock(entry)).toBe(true)
    await ledger.payments.markDelivered(entry)
    expect(await ledger.payments.find(entry)).toMatchObject({ charged: 0n, delivered: true })
  })

  it('is nothing only of a reserved payment, by who has locked it', async () => {
    const { ledger } = await open()
    const { payments, refunds } = ledger
    const refused = (entry: LedgerEntry, lock = payments.lockOf(entry)) =>
      expect(payments.settleUncharged(entry, lock)).rejects.toMatchObject(UNAVAILABLE)
    const [sent, free, other] = [upTo(), upTo(), upTo()]
    await payments.reserve(sent)
    await payments.submit(sent, newSubmission(), 2n)
    await refused(sent)
    await payments.markFailed(sent, { ...FAILURE, transaction: newNonce() })
    expect(await payments.relock(sent)).toBe(true)
    await refused(sent)
    await refused(free)
    await payments.reserve(free)
    await payments.reserve(other)
    await refused(free, payments.lockOf(other))
    await payments.release(free)
    await refused(free)
    await settle(ledger, upTo(1n))
    const paid = upTo()
    await settle(ledger, paid)
    const refund = refundOf(paid, 10n)
    expect(await refunds.reserveRefund(refund)).toEqual({ kind: 'reserved' })
    await refused(refund)
  })

  it.each([
    [undefined, 10n],
    [4n, 4n],
    [0n, 0n],
  ])('is all that is refunded: of %s, %s', async (charged, left) => {
    const { ledger } = await open()
    const entry = upTo()
    await settle(ledger, entry, charged)
    const exceeds = { kind: 'exceeds_payment', left }
    expect(await ledger.refunds.reserveRefund(refundOf(entry, left + 1n))).toEqual(exceeds)
    if (left > 0n)
      expect(await ledger.refunds.reserveRefund(refundOf(entry, left))).toEqual({
        kind: 'reserved',
      })
  })

  it('is the amount of sums, settlements and exports', async () => {
    const { ledger } = await open()
    const charges: readonly Charge[] = [
      [upTo(HUGE, { nonce: `0x${'01'.repeat(32)}` }), HUGE - 1n],
      [upTo(HUGE, { nonce: `0x${'02'.repeat(32)}` }), 0n],
      [upTo(HUGE, { nonce: `0x${'03'.repeat(32)}` }), HUGE],
      [upTo(HUGE, { nonce: `0x${'04'.repeat(32)}` }), undefined],
    ]
    for (const [entry, charged] of charges) await settle(ledger, entry, charged)
    const span = { from: 0, until: Date.now() + 60_000 }
    const query = { ...span, project: EVERY_PROJECT, by: 'asset' } as const
    expect(await ledger.payments.sumRevenue(query)).toMatchObject([
      { amount: 3n * HUGE - 1n, count: 4, refunded: 0n },
    ])
    const records = (await ledger.payments.list({ project: 'shop', limit: 9 })).toSorted(
      (one, other) => (one.nonce < other.nonce ? -1 : 1),
    )
    const shown = records.map((record) => settlementOf(record, { accepts: [] }, 'caip2'))
    const maximum = HUGE.toString()
    expect(shown).toMatchObject([
      { status: 'settled', amount: (HUGE - 1n).toString(), maximum },
      { status: 'settled', amount: '0', maximum },
      { status: 'settled', amount: maximum, maximum },
      { status: 'settled', amount: maximum },
    ])
    expect(shown.map((one) => 'maximum' in one)).toEqual([true, true, true, false])
    expect(shown.map((one) => 'transaction' in one)).toEqual([true, false, true, true])
    const { line } = exportWriter('jsonl', [])
    const lines = records.map((record) => JSON.parse(line(exportedOf(record))) as object)
    expect(lines).toMatchObject([
      { units: (HUGE - 1n).toString() },
      { units: '0' },
      { units: maximum },
      { units: maximum },
    ])
    expect(lines.map((one) => 'transaction' in one)).toEqual([true, false, true, true])
  })

  it('is told by events, without a transaction where there is none', async () => {
    const { ledger } = await open()
    const { endpoints, deliveries } = ledger.webhooks
    const endpoint = { id: `we_${'0'.repeat(32)}`, project: 'shop', url: 'https://shop.example/' }
    const events = ['payment.settled', 'payment.corrected'] as const
    await endpoints.create({ ...endpoint, secret: 'whsec_one', events })
    const [some, none] = [upTo(), upTo()]
    await settle(ledger, some, 4n)
    await settle(ledger, none, 0n)
    const told = await deliveries.claim(endpoint.id, 10)
    expect(told).toHaveLength(2)
    const recordIn = (entry: LedgerEntry) =>
      told.find(({ payment }) => payment === recordId(entry))?.record
    expect(recordIn(some)).toMatchObject({
      state: 'settled',
      charged: 4n,
      transaction: expect.stringMatching(/^0x[0-9a-f]{64}$/),
    })
    expect(recordIn(none)).toMatchObject({ state: 'settled', charged: 0n })
    expect(recordIn(none)).toMatchObject({ transaction: undefined })
  })
})

function refundOf(payment: LedgerEntry, value: bigint): RefundEntry {
  const { asset, from, payTo } = payment
  const parties = { contract: asset, from: payTo, payTo: from, nonce: newNonce() }
  return { ...payment, ...parties, value, refundOf: recordId(payment) }
}
