import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { describe, expect, it } from '@jest/globals'
import { LedgerError } from '../../src/errors.js'
import type { LedgerEntry, LedgerStore } from '../../src/ledger/ledger.js'
import { createMemoryLedger } from '../../src/ledger/memory-ledger.js'
import { Tombstones } from '../../src/ledger/memory/tombstones.js'
import { checkRecord, refusalDetails } from '../../src/schemes/check-record.js'
import { describeLedger, newEntry } from './ledger-conformance.js'
import { until } from '../support/until.js'

describeLedger('the memory ledger', createMemoryLedger)

const START_MS = 1_800_000_000_000
const TRANSACTION = `0x${'aa'.repeat(32)}` as const
const HOUR = 3_600_000

function open(maxRecords?: number) {
  const clock = { ms: START_MS }
  const limit = maxRecords === undefined ? {} : { maxRecords }
  return { clock, ledger: createMemoryLedger({ ...limit, now: () => clock.ms }) }
}

describe('the memory ledger', () => {
  it('is full with live records, and drops none of them', async () => {
    const { ledger } = open(3)
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
    const { ledger, clock } = open(3)
    const entry = newEntry()
    await ledger.reserve(entry)
    await ledger.markSettled(entry, TRANSACTION)
    clock.ms += 300_000 + HOUR - 1
    expect(await ledger.find(entry)).toBeDefined()
    clock.ms += 2
    expect(await ledger.find(entry)).toBeUndefined()
  })

  it('forgets a settled payment after two days where its authorization never ends', async () => {
    const { ledger, clock } = open(3)
    const entry = newEntry({ validBefore: 2n ** 256n - 1n })
    await ledger.reserve(entry)
    await ledger.markSettled(entry, TRANSACTION)
    clock.ms += 48 * HOUR - 1
    expect(await ledger.find(entry)).toBeDefined()
    clock.ms += 2
    expect(await ledger.find(entry)).toBeUndefined()
  })

  it('keeps an open payment for two days after its authorization has lapsed', async () => {
    const { ledger, clock } = open(3)
    const entry = newEntry({ validBefore: 1n })
    await ledger.reserve(entry)
    clock.ms += 48 * HOUR - 1
    expect(await ledger.find(entry)).toBeDefined()
    clock.ms += 2
    expect(await ledger.find(entry)).toBeUndefined()
  })

  it('closes: every method throws then, and what is let go is let go', async () => {
    const { ledger } = open(3)
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
    const account = { chainId: 1, relayer: entry.from }
    const concluded = { state: 'settled', withinMs: 1, limit: 1 } as const
    for (const use of [
      () => ledger.find(entry),
      () => ledger.reserve(newEntry()),
      () => ledger.reserve(entry),
      () => ledger.submit(entry, submission),
      () => ledger.submitNext(account, 0, async () => ({ submission, members: [] })),
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
      () => ledger.claimPending(1),
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
      await deliver(ledger, entry)
    }
    // Its record has given way, and it is refused by what is left of it.
    expect(await ledger.find(first!)).toMatchObject({
      state: 'settled',
      delivered: true,
      locked: true,
    })
    expect(await ledger.reserve(first!)).toMatchObject({ delivered: true })
    expect(await ledger.relock(first!)).toBe(false)
    const newest = await ledger.list({ project: 'shop', limit: 3 })
    expect(newest.map(({ createdAt }) => createdAt)).toEqual(
      [0, 100, 200].map((ago) => clock.ms - ago),
    )
  })

  it('keeps twice as many delivered payments in full while a reorganisation may undo them', async () => {
    const { ledger, clock } = open()
    const entries = Array.from({ length: 20_002 }, (_, n) => entryAt(n, START_MS))
    const keeps = (n: number): Promise<boolean> => keepsInFull(ledger, entries[n]!)
    for (const entry of entries.slice(0, 20_000)) await deliver(ledger, entry)
    expect(await keeps(0)).toBe(true)
    await deliver(ledger, entries[20_000]!)
    expect([await keeps(0), await keeps(1)]).toEqual([false, true])
    clock.ms += 3 * 60_000 + 30_001
    await deliver(ledger, entries[20_001]!)
    // Two for one, until there are 10,000.
    expect([await keeps(1), await keeps(2), await keeps(3)]).toEqual([false, false, true])
  })

  it('keeps 10,000 delivered payments in full when no reorganisation can undo them', async () => {
    const { ledger, clock } = open()
    const entries = Array.from({ length: 10_002 }, (_, n) => entryAt(n, START_MS))
    const keeps = (n: number): Promise<boolean> => keepsInFull(ledger, entries[n]!)
    for (const entry of entries.slice(0, 10_000)) await deliver(ledger, entry)
    clock.ms += 3 * 60_000
    await deliver(ledger, entries[10_000]!)
    expect(await keeps(0)).toBe(true)
    clock.ms += 30_001
    await deliver(ledger, entries[10_001]!)
    expect([await keeps(0), await keeps(1), await keeps(2)]).toEqual([false, false, true])
  })

  it('refuses a delivered payment whose record has given way, whatever it is presented for', async () => {
    const { ledger } = open(1)
    const [sold, next, other] = [newEntry(), newEntry(), newEntry()]
    await deliver(ledger, sold, TRANSFER)
    await deliver(ledger, next)
    for (const entry of [sold, { ...sold, value: 1n, project: 'other' }]) {
      const record = await ledger.find(entry)
      expect(checkRecord(record, { entry })).toBe('invalid_exact_evm_nonce_already_used')
      // Nor does it say by which transaction: that is forgotten.
      expect(refusalDetails(record!, { entry }, 'invalid_exact_evm_nonce_already_used')).toEqual({})
    }
    await expect(ledger.markDelivered(sold)).rejects.toMatchObject({ code: 'ledger_unavailable' })
    await ledger.release(sold)
    await ledger.adopt([sold], SUBMISSION)
    expect(await ledger.markSettledLate(sold, TRANSACTION)).toBe(true)
    expect(await ledger.find(sold)).toMatchObject({ state: 'settled', delivered: true })
    expect(await ledger.knowsTransaction(TRANSACTION)).toBe(true)
    expect(await ledger.knowsTransaction(SUBMISSION.transaction)).toBe(false)
    // Its transfer pays for no other record.
    expect(await ledger.reserve(other)).toBeUndefined()
    expect(await ledger.markSettled(other, TRANSACTION, TRANSFER)).toBe(false)
    expect(await ledger.markSettled(other, TRANSACTION, `${TRANSFER}0`)).toBe(true)
  })

  it('keeps less than 100 bytes of a payment whose record has given way', async () => {
    const { ledger, clock } = open()
    const payments = 200_000
    let atHalf = 0
    for (let n = 0; n < payments; n++) {
      clock.ms += 1
      await deliver(ledger, entryAt(n, clock.ms), `${TRANSFER}${n}`)
      if (n === payments / 2) atHalf = bytesInUse()
    }
    // What is still being collected goes with one of the next turns.
    await until(() => (bytesInUse() - atHalf) / (payments / 2) < 100)
    for (const n of [0, payments / 2, payments - 1])
      expect(await ledger.reserve(entryAt(n, clock.ms))).toMatchObject({ delivered: true })
    expect(await ledger.reserve(entryAt(payments, clock.ms))).toBeUndefined()
  }, 600_000)

  it('refuses in microseconds while it is full of open payments', async () => {
    const { ledger } = open(20_000)
    for (let n = 0; n < 20_000; n++) await ledger.reserve(entryAt(n, START_MS))
    const codes = new Set<string>()
    const before = process.cpuUsage()
    for (let n = 0; n < 1000; n++)
      await ledger.reserve(entryAt(20_000 + n, START_MS)).then(
        () => expect('it').toBe('full'),
        (error: LedgerError) => codes.add(error.code),
      )
    // A sweep of 20,000 records takes some 10 ms; what others do on this machine does not count.
    const { user, system } = process.cpuUsage(before)
    expect((user + system) / 1_000_000).toBeLessThan(2)
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

describe('the memory ledger, which keeps signed transactions,', () => {
  it('keeps the bytes of each once, outside the heap, and gives them back as they were', async () => {
    const { ledger } = open()
    const BATCHES = 200
    const bytes = 100_000
    const rawOf = (batch: number): `0x${string}` => `0x${(batch + 16).toString(16).repeat(bytes)}`
    const entriesOf = (batch: number) => [0, 1, 2, 3].map((n) => entryAt(4 * batch + n, START_MS))
    const { chainId, from: relayer } = PAYMENT
    const before = memoryInUse()
    for (let batch = 0; batch < BATCHES; batch++) {
      const entries = entriesOf(batch)
      for (const entry of entries) await ledger.reserve(entry)
      const lost = await ledger.submitNext({ chainId, relayer }, 0, async (accountNonce) => {
        const submission = { ...SUBMISSION, accountNonce, raw: rawOf(batch) }
        return { submission, members: entries.map((key) => ({ key, submission })) }
      })
      expect(lost).toEqual([])
      await ledger.markSettled(entries[0]!, SUBMISSION.transaction)
    }
    // 20 MB of bytes: as text they took 40 MB of the heap. What other tests left is far less, and goes meanwhile.
    await until(() => memoryInUse().buffers - before.buffers < 1.1 * BATCHES * bytes)
    await until(() => memoryInUse().heap - before.heap < 0.2 * BATCHES * bytes)
    for (const batch of [0, BATCHES - 1]) {
      for (const entry of entriesOf(batch))
        expect(await ledger.find(entry)).toMatchObject({ submission: { raw: rawOf(batch) } })
      const [listed] = await ledger.listTransactions({ chainId, relayer }, batch)
      expect(listed).toMatchObject({ accountNonce: batch, raw: rawOf(batch) })
    }
    await ledger.close()
  })
})

describe('the tombstones of the memory ledger', () => {
  it('know the last half million digests, however many there were', () => {
    const tombstones = new Tombstones()
    const digestOf = (n: number): string => (n + 1).toString(16).padStart(8, '0').repeat(4)
    const count = 1_200_000
    for (let n = 0; n < count; n++) tombstones.add(digestOf(n))
    for (let ago = 1; ago <= 2 ** 19; ago += 1000)
      expect(tombstones.has(digestOf(count - ago))).toBe(true)
    expect(tombstones.has(digestOf(0))).toBe(false)
    expect(tombstones.has(digestOf(count))).toBe(false)
  })

  it('tell digests apart that differ in their last digit alone', () => {
    const tombstones = new Tombstones()
    for (const word of ['00000000', 'ffffffff']) {
      tombstones.add(`${word.repeat(3)}00000001`)
      expect(tombstones.has(`${word.repeat(3)}00000001`)).toBe(true)
      expect(tombstones.has(`${word.repeat(3)}00000002`)).toBe(false)
    }
  })
})

const PAYMENT = newEntry({ project: 'shop' })
const TRANSFER = `${TRANSACTION}:7`
const SUBMISSION = {
  transaction: `0x${'bb'.repeat(32)}`,
  relayer: PAYMENT.from,
  accountNonce: 0,
  raw: '0x02',
} as const

async function deliver(ledger: LedgerStore, entry: LedgerEntry, transfer?: string): Promise<void> {
  if ((await ledger.reserve(entry)) !== undefined) throw new Error('It was known before.')
  await ledger.markSettled(entry, TRANSACTION, transfer)
  await ledger.markDelivered(entry)
}

/** Tells whether more than what refuses a payment is kept of it. */
async function keepsInFull(ledger: LedgerStore, entry: LedgerEntry): Promise<boolean> {
  const record = await ledger.find(entry)
  return record?.payTo !== '0x'
}

/** Bytes in use after a garbage collection. */
function bytesInUse(): number {
  const { heap, buffers } = memoryInUse()
  return heap + buffers
}

/** The same, on the heap and beside it. */
function memoryInUse(): { readonly heap: number; readonly buffers: number } {
  setFlagsFromString('--expose_gc')
  runInNewContext('gc')()
  const { heapUsed: heap, arrayBuffers: buffers } = process.memoryUsage()
  return { heap, buffers }
}

/** A payment that is valid for five minutes. */
function entryAt(n: number, nowMs: number): LedgerEntry {
  const nonce = `0x${n.toString(16).padStart(64, '0')}` as const
  const validBefore = BigInt(Math.floor(nowMs / 1000) + 300)
  return { ...PAYMENT, nonce, validBefore }
}
