import { describe, expect, it } from '@jest/globals'
import { recordId, type LedgerEntry, type LedgerStore } from '../../src/ledger/index.js'
import { createMemoryLedger } from '../../src/ledger/memory-ledger.js'
import { until } from '../support/until.js'
import { FAILURE, newEntry, steps, SUBMISSION } from '../support/ledger-entries.js'
import { describeLedger } from './ledger-conformance.js'

describeLedger('the memory ledger', createMemoryLedger)

const START_MS = 1_800_000_000_000
const TRANSACTION = `0x${'aa'.repeat(32)}` as const
const HOUR = 3_600_000

function open(maxRecords?: number) {
  const clock = { ms: START_MS }
  const limit = maxRecords === undefined ? {} : { maxRecords }
  return { clock, ledger: createMemoryLedger({ ...limit, now: () => clock.ms }) }
}

async function deliver(ledger: LedgerStore, entry: LedgerEntry): Promise<void> {
  if ((await ledger.payments.reserve(entry)) !== undefined) throw new Error('It was known before.')
  await ledger.payments.markSettled(entry, TRANSACTION)
  await ledger.payments.markDelivered(entry)
}

/** Takes a payment, and nothing of it. */
async function spend({ payments }: LedgerStore, entry: LedgerEntry): Promise<void> {
  await payments.reserve(entry)
  await payments.settleUncharged(entry, payments.lockOf(entry))
}

/** Delivers as many payments as there are, in the order of their list. */
async function deliverAll(ledger: LedgerStore, entries: readonly LedgerEntry[]): Promise<void> {
  for (let from = 0; from < entries.length; from += 500)
    await Promise.all(entries.slice(from, from + 500).map((entry) => deliver(ledger, entry)))
}

const newEntries = (count: number): readonly LedgerEntry[] =>
  Array.from({ length: count }, () => newEntry())

describe('the memory ledger', () => {
  it('reports that it is full of live records, and drops none of them', async () => {
    const { ledger } = open(3)
    const entries = newEntries(3)
    for (const entry of entries) await ledger.payments.reserve(entry)
    const full = ledger.payments.reserve(newEntry())
    await expect(full).rejects.toMatchObject({ name: 'LedgerError', code: 'ledger_full' })
    for (const entry of entries)
      expect(await ledger.payments.find(entry)).toMatchObject({ locked: true })
    await ledger.close()
  })

  it('takes as many payments of a group as fit', async () => {
    const { ledger } = open(3)
    const taken = await Promise.allSettled(
      newEntries(5).map((entry) => ledger.payments.reserve(entry)),
    )
    expect(taken.map(({ status }) => status).toSorted()).toEqual([
      ...['fulfilled', 'fulfilled', 'fulfilled', 'rejected', 'rejected'],
    ])
    await ledger.close()
  })

  it('still finds and changes its records when it is full', async () => {
    const { ledger } = open(1)
    const entry = newEntry()
    await ledger.payments.reserve(entry)
    await ledger.payments.markSettled(entry, TRANSACTION)
    expect(await ledger.payments.find(entry)).toMatchObject({ state: 'settled' })
    expect(await ledger.payments.reserve(entry)).toMatchObject({ state: 'settled' })
    await ledger.close()
  })

  it('has room again once a record is released, or is settled and delivered', async () => {
    const { ledger } = open(1)
    const [first, second, third] = [newEntry(), newEntry(), newEntry()]
    await ledger.payments.reserve(first)
    await ledger.payments.release(first)
    expect(await ledger.payments.reserve(second)).toBeUndefined()
    await ledger.payments.markSettled(second, TRANSACTION)
    await expect(ledger.payments.reserve(third)).rejects.toMatchObject({ code: 'ledger_full' })
    await ledger.payments.markDelivered(second)
    expect(await ledger.payments.reserve(third)).toBeUndefined()
    expect(await ledger.payments.find(second)).toBeUndefined()
    await ledger.close()
  })

  it('forgets a failed payment an hour after its authorization has lapsed, and keeps a settled one', async () => {
    const { ledger, clock } = open()
    const [failed, settled] = [newEntry(), newEntry()]
    for (const entry of [failed, settled]) await ledger.payments.reserve(entry)
    await ledger.payments.markSettled(settled, TRANSACTION)
    await ledger.payments.markFailed(failed, {
      transaction: TRANSACTION,
      reason: 'invalid_transaction_state',
    })
    clock.ms += 300_000 + HOUR + 1000
    await until(async () => (await ledger.payments.find(failed)) === undefined)
    expect(await ledger.payments.find(settled)).toBeDefined()
    await ledger.close()
  })

  it('keeps a paid but undelivered payment for two days, whatever its authorization says', async () => {
    const { ledger, clock } = open()
    const entries = [newEntry(), newEntry({ validBefore: 2n ** 256n - 1n })]
    for (const entry of entries) {
      await ledger.payments.reserve(entry)
      await ledger.payments.markSettled(entry, TRANSACTION)
    }
    const last = newEntry()
    await ledger.payments.reserve(last)
    await ledger.payments.markFailed(last, {
      transaction: TRANSACTION,
      reason: 'invalid_transaction_state',
    })
    clock.ms += 48 * HOUR
    await until(async () => (await ledger.payments.find(last)) === undefined)
    for (const entry of entries) expect(await ledger.payments.find(entry)).toBeDefined()
    clock.ms += 2
    await until(async () => (await ledger.payments.find(entries[0]!)) === undefined)
    expect(await ledger.payments.find(entries[1]!)).toBeUndefined()
    await ledger.close()
  })

  it('forgets a payment that nothing was charged for only once its authorization has lapsed', async () => {
    const { ledger, clock } = open(20)
    const { payments } = ledger
    const [delivered, unfetched] = [newEntry(), newEntry({ validBefore: 2n ** 255n })]
    for (const entry of [delivered, unfetched]) await spend(ledger, entry)
    await payments.markDelivered(delivered)
    // Others give way.
    for (const entry of newEntries(20)) await deliver(ledger, entry)
    for (const entry of [delivered, unfetched]) expect(await payments.find(entry)).toBeDefined()
    clock.ms += 49 * HOUR
    await until(async () => (await payments.find(delivered)) === undefined)
    expect(await payments.find(unfetched)).toMatchObject({ state: 'settled', charged: 0n })
    await ledger.close()
  })

  it('keeps a tenth of its records for payments that nothing was charged for, and the rest for others', async () => {
    const { ledger, clock } = open(20)
    const forever = { validBefore: 2n ** 256n - 1n }
    const [first, second] = [newEntry(), newEntry(forever)]
    for (const entry of [first, second]) await spend(ledger, entry)
    const refused = newEntry(forever)
    await expect(spend(ledger, refused)).rejects.toMatchObject({ code: 'ledger_full' })
    expect(await ledger.payments.find(refused)).toMatchObject({ state: 'reserved' })
    await ledger.payments.release(refused)
    // Its answer may have been lost.
    await ledger.payments.settleUncharged(second, ledger.payments.lockOf(second))
    for (const entry of newEntries(50)) await deliver(ledger, entry)
    for (const entry of [first, second])
      expect(await ledger.payments.find(entry)).toMatchObject({ charged: 0n })
    clock.ms += 49 * HOUR
    await until(async () => (await ledger.payments.find(first)) === undefined)
    await spend(ledger, newEntry(forever))
    await expect(spend(ledger, newEntry())).rejects.toMatchObject({ code: 'ledger_full' })
    await ledger.close()
  })

  it('leaves every project room for payments that nothing was charged for', async () => {
    const { ledger } = open(40)
    const spendFor = (project: string) => spend(ledger, newEntry({ project }))
    const full = { code: 'ledger_full' }
    for (let count = 0; count < 4; count++) await spendFor('greedy')
    await expect(spendFor('greedy')).rejects.toMatchObject(full)
    for (let count = 0; count < 2; count++) await spendFor('other')
    for (const project of ['other', 'greedy'])
      await expect(spendFor(project)).rejects.toMatchObject(full)
    await spendFor('third')
    await ledger.close()
  })

  it('leaves every payer room for payments that nothing was charged for', async () => {
    const { ledger } = open(80)
    const from = `0x${'5e'.repeat(20)}` as const
    for (let count = 0; count < 4; count++) await spend(ledger, newEntry({ from }))
    const full = { code: 'ledger_full' }
    await expect(spend(ledger, newEntry({ from, project: 'other' }))).rejects.toMatchObject(full)
    for (let count = 0; count < 4; count++) await spend(ledger, newEntry())
    await ledger.close()
  })

  it('throws from every method after close, but still unlocks', async () => {
    const { ledger } = open(3)
    const entry = newEntry()
    await ledger.payments.reserve(entry)
    await ledger.payments.markSettled(entry, TRANSACTION)
    await ledger.close()
    const closed = { name: 'LedgerError', code: 'ledger_unavailable' }
    for (const use of [
      () => ledger.payments.find(entry),
      () => ledger.payments.reserve(newEntry()),
      () => ledger.payments.knowsTransaction(TRANSACTION),
      () => ledger.payments.markSettled(entry, TRANSACTION),
      () => ledger.payments.markDelivered(entry),
      () => ledger.payments.list({ project: 'shop', limit: 1 }),
      () => ledger.relayers.claimPending(1),
      () => ledger.idempotency.begin({ key: 'k', fingerprint: 'f' }),
    ])
      await expect(use()).rejects.toMatchObject(closed)
    await ledger.payments.release(entry)
    await ledger.payments.unlock(entry)
    await ledger.close()
  })

  it('keeps 20,000 delivered payments while a reorganisation may undo them, then 10,000', async () => {
    const { ledger, clock } = open()
    const entries = newEntries(20_000)
    const knows = async (entry: LedgerEntry): Promise<boolean> =>
      (await ledger.payments.find(entry)) !== undefined
    for (let from = 0; from < entries.length; from += 1000) {
      clock.ms += 1
      await deliverAll(ledger, entries.slice(from, from + 1000))
    }
    expect(await Promise.all([entries[0]!, entries.at(-1)!].map(knows))).toEqual([true, true])
    await deliverAll(ledger, newEntries(1))
    const known = (await Promise.all(entries.slice(0, 1000).map(knows))).filter(Boolean)
    expect(known).toHaveLength(998)
    clock.ms += 210_001
    // Two for one, until there are 10,000.
    await deliverAll(ledger, newEntries(10_000))
    clock.ms += 1
    const listed = await ledger.payments.list({ project: 'shop', limit: 1 })
    expect(listed).toHaveLength(1)
    const left = (await Promise.all(entries.map(knows))).filter(Boolean)
    expect(left).toHaveLength(0)
    await ledger.close()
  })
})

describe('payment links of the memory ledger', () => {
  const create = ({ checkouts }: LedgerStore, id: string, project = 'shop') =>
    checkouts.create({
      ...{ id, project, url: `https://shop.example/pay/${id}`, amount: '15.00', currency: 'USD' },
      expiresInMs: 7 * 24 * HOUR,
    })

  /** Creates as many links of two projects as there may be that are over. */
  async function createLoud(ledger: LedgerStore): Promise<readonly (readonly [string, string])[]> {
    const all = Array.from({ length: 20 }, (_, n) => {
      const project = n % 2 === 0 ? 'loud' : 'louder'
      return [project, `co_${String(n).padStart(32, '0')}`] as const
    })
    for (const [project, id] of all) await create(ledger, id, project)
    return all
  }

  /** Waits for a sweep, by what it deletes in any case. */
  async function sweep(ledger: LedgerStore, clock: { ms: number }): Promise<void> {
    const failed = newEntry({ validBefore: BigInt(START_MS / 1000 - 2 * 3600) })
    await steps.failed(ledger, failed)
    clock.ms += 1
    await until(async () => (await ledger.payments.find(failed)) === undefined)
  }

  it('are kept while they are open, and while a payment of them is not over', async () => {
    const { ledger, clock } = open(200)
    const { checkouts, payments } = ledger
    await create(ledger, 'open')
    const again = newEntry()
    await create(ledger, 'resent')
    await payments.reserve(again)
    expect(await checkouts.take('resent', recordId(again))).toBeUndefined()
    await payments.submit(again, SUBMISSION)
    await payments.markFailed(again, FAILURE)
    expect(await checkouts.cancel('shop', 'resent')).toMatchObject({ status: 'canceled' })
    await payments.reserve(again)
    const paid = newEntry()
    await create(ledger, 'paid')
    await payments.reserve(paid)
    expect(await checkouts.take('paid', recordId(paid))).toBeUndefined()
    await payments.markSettled(paid, TRANSACTION)
    await payments.markDelivered(paid)
    expect(await checkouts.conclude('paid', (checkout) => checkout)).toBe(true)
    await create(ledger, 'canceled')
    await checkouts.cancel('shop', 'canceled')
    clock.ms += 1

    const loud = await createLoud(ledger)
    await sweep(ledger, clock)
    for (const id of ['open', 'resent', 'paid', 'canceled', loud[0]![1]])
      expect([id, await checkouts.find(id)]).toMatchObject([id, { id }])

    for (const [project, id] of loud) await checkouts.cancel(project, id)
    await sweep(ledger, clock)
    for (const id of ['open', 'resent', 'paid'])
      expect([id, await checkouts.find(id)]).toMatchObject([id, { id }])
    expect(await checkouts.find('canceled')).toBeUndefined()
    expect(await checkouts.find(loud.at(-1)![1])).toMatchObject({ status: 'canceled' })
    await ledger.close()
  })
})
