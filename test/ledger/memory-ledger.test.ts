import { describe, expect, it } from '@jest/globals'
import { LedgerError } from '../../src/errors.js'
import type { LedgerEntry } from '../../src/ledger/ledger.js'
import { createMemoryLedger } from '../../src/ledger/memory-ledger.js'
import { describeLedger, newEntry } from './ledger-conformance.js'

describeLedger('the memory ledger', createMemoryLedger)

const START_MS = 1_800_000_000_000
const TRANSACTION = `0x${'aa'.repeat(32)}` as const
const HOUR = 3_600_000

function open(maxRecords = 3) {
  const clock = { ms: START_MS }
  return { clock, ledger: createMemoryLedger({ maxRecords, now: () => clock.ms }) }
}

describe('the memory ledger', () => {
  it('is full with live records, and drops none of them', async () => {
    const { ledger } = open()
    const entries = [newEntry(), newEntry(), newEntry()]
    for (const entry of entries) await ledger.reserve(entry)
    const full = ledger.reserve(newEntry())
    await expect(full).rejects.toBeInstanceOf(LedgerError)
    await expect(full).rejects.toMatchObject({ code: 'ledger_full' })
    for (const entry of entries) expect(await ledger.find(entry)).toMatchObject({ locked: true })
  })

  it('still moves its records when it is full', async () => {
    const { ledger } = open(1)
    const entry = newEntry()
    await ledger.reserve(entry)
    await ledger.markSettled(entry, TRANSACTION)
    expect(await ledger.find(entry)).toMatchObject({ state: 'settled' })
    expect(await ledger.reserve(entry)).toMatchObject({ state: 'settled' })
  })

  it('has room again once a record is released, or has outlived its use', async () => {
    const { ledger, clock } = open(1)
    const [first, second, third] = [newEntry(), newEntry(), newEntry()]
    await ledger.reserve(first)
    await ledger.release(first)
    expect(await ledger.reserve(second)).toBeUndefined()
    await ledger.markSettled(second, TRANSACTION)
    await expect(ledger.reserve(third)).rejects.toMatchObject({ code: 'ledger_full' })
    clock.ms += 300_000 + HOUR + 1
    expect(await ledger.reserve(third)).toBeUndefined()
  })

  it('forgets a settled payment an hour after its authorization has lapsed', async () => {
    const { ledger, clock } = open()
    const entry = newEntry()
    await ledger.reserve(entry)
    await ledger.markSettled(entry, TRANSACTION)
    clock.ms += 300_000 + HOUR - 1
    expect(await ledger.find(entry)).toBeDefined()
    clock.ms += 2
    expect(await ledger.find(entry)).toBeUndefined()
  })

  it('forgets a settled payment after two days where its authorization never ends', async () => {
    const { ledger, clock } = open()
    const entry = newEntry({ validBefore: 2n ** 256n - 1n })
    await ledger.reserve(entry)
    await ledger.markSettled(entry, TRANSACTION)
    clock.ms += 48 * HOUR - 1
    expect(await ledger.find(entry)).toBeDefined()
    clock.ms += 2
    expect(await ledger.find(entry)).toBeUndefined()
  })

  it('keeps an open payment for two days after its authorization has lapsed', async () => {
    const { ledger, clock } = open()
    const entry = newEntry({ validBefore: 1n })
    await ledger.reserve(entry)
    clock.ms += 48 * HOUR - 1
    expect(await ledger.find(entry)).toBeDefined()
    clock.ms += 2
    expect(await ledger.find(entry)).toBeUndefined()
  })

  it('closes: every method throws then, and what is let go is let go', async () => {
    const { ledger } = open()
    const entry = newEntry()
    await ledger.reserve(entry)
    await ledger.markSettled(entry, TRANSACTION)
    await ledger.close()
    const closed = { name: 'LedgerError', code: 'ledger_unavailable' }
    const submission = {
      transaction: TRANSACTION,
      relayer: entry.from,
      accountNonce: 0,
      raw: TRANSACTION,
    }
    const concluded = { state: 'settled', withinMs: 1, limit: 1 } as const
    for (const use of [
      () => ledger.find(entry),
      () => ledger.reserve(newEntry()),
      () => ledger.reserve(entry),
      () => ledger.submit(entry, submission),
      () => ledger.submitTogether([{ key: entry, submission }]),
      () => ledger.withdraw(entry, TRANSACTION),
      () => ledger.adopt([entry], submission),
      () => ledger.knowsTransaction(TRANSACTION),
      () => ledger.markSettled(entry, TRANSACTION),
      () => ledger.markSettledLate(entry, TRANSACTION),
      () => ledger.markDelivered(entry),
      () => ledger.relock(entry),
      () => ledger.listSubmitted(),
      () => ledger.listFinal(concluded),
      () => ledger.list({ project: 'shop', limit: 1 }),
      () => ledger.leaseRelayers(1, [entry.from]),
      () => ledger.idempotency.begin({ key: 'k', fingerprint: 'f' }),
    ])
      await expect(use()).rejects.toMatchObject(closed)
    await ledger.release(entry)
    await ledger.unlock(entry)
    await ledger.close()
  })

  it('goes on selling at 100 payments a second for an hour, and knows each of them', async () => {
    // A tenth of the payments, in a tenth of the room.
    const { ledger, clock } = open(20_000)
    const payments = 36_000
    let first: LedgerEntry | undefined
    for (let n = 0; n < payments; n++) {
      clock.ms += 100
      const entry = entryAt(n, clock.ms)
      first ??= entry
      if ((await ledger.reserve(entry)) !== undefined) throw new Error('It was known before.')
      await ledger.markSettled(entry, TRANSACTION)
      await ledger.markDelivered(entry)
    }
    // Its record has given way, and it is refused by what is left of it.
    expect(await ledger.find(first!)).toMatchObject({
      state: 'settled',
      delivered: true,
      locked: true,
      transaction: TRANSACTION,
    })
    expect(await ledger.reserve(first!)).toMatchObject({ delivered: true })
    expect(await ledger.relock(first!)).toBe(false)
    const newest = await ledger.list({ project: 'shop', limit: 3 })
    expect(newest.map(({ createdAt }) => createdAt)).toEqual(
      [0, 100, 200].map((ago) => clock.ms - ago),
    )
  })

  it('refuses in microseconds while it is full of open payments', async () => {
    const { ledger } = open(20_000)
    for (let n = 0; n < 20_000; n++) await ledger.reserve(entryAt(n, START_MS))
    const codes = new Set<string>()
    const startedAt = performance.now()
    for (let n = 0; n < 1000; n++)
      await ledger.reserve(entryAt(20_000 + n, START_MS)).then(
        () => expect('it').toBe('full'),
        (error: LedgerError) => codes.add(error.code),
      )
    // A sweep of 20,000 records takes some 10 ms.
    expect((performance.now() - startedAt) / 1000).toBeLessThan(2)
    expect([...codes]).toEqual(['ledger_full'])
  })

  it('lists a merchant among many payments of others without blocking', async () => {
    const { ledger, clock } = open(50_000)
    for (let n = 0; n < 50_000; n++) {
      clock.ms += 1
      const project = n % 1000 === 0 ? 'small' : 'shop'
      await ledger.reserve({ ...entryAt(n, clock.ms), project })
    }
    let turns = 0
    const counting = (): void => {
      turns += 1
      next = setImmediate(counting)
    }
    let next = setImmediate(counting)
    const ofSmall = await ledger.list({ project: 'small', limit: 1000 })
    const none = await ledger.list({ project: 'shop', state: 'failed', limit: 50 })
    const page = await ledger.list({ project: 'shop', limit: 50 })
    const rest = await ledger.list({ project: 'shop', limit: 50, after: page.at(-1)! })
    clearImmediate(next)
    expect(ofSmall).toHaveLength(50)
    expect(none).toEqual([])
    expect(new Set([...page, ...rest].map(({ id }) => id)).size).toBe(100)
    // Others went on after every thousand records.
    expect(turns).toBeGreaterThan(40)
  })
})

const PAYMENT = newEntry({ project: 'shop' })

/** A payment that is valid for five minutes. */
function entryAt(n: number, nowMs: number): LedgerEntry {
  const nonce = `0x${n.toString(16).padStart(64, '0')}` as const
  const validBefore = BigInt(Math.floor(nowMs / 1000) + 300)
  return { ...PAYMENT, nonce, validBefore }
}
