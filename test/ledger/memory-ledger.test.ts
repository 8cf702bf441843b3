import { describe, expect, it } from '@jest/globals'
import { LedgerError } from '../../src/errors.js'
import { memoryLedger } from '../../src/ledger/memory-ledger.js'
import { describeLedger, newEntry } from './ledger-conformance.js'

describeLedger('the memory ledger', memoryLedger)

const START_MS = 1_800_000_000_000
const TRANSACTION = `0x${'aa'.repeat(32)}` as const
const HOUR = 3_600_000

function open(maxRecords = 3) {
  const clock = { ms: START_MS }
  return { clock, ledger: memoryLedger({ maxRecords, now: () => clock.ms }) }
}

describe('the memory ledger', () => {
  it('is full with live records, and drops none of them', async () => {
    const { ledger } = open()
    const entries = [newEntry(), newEntry(), newEntry()]
    for (const entry of entries) await ledger.reserve(entry)
    const full = ledger.reserve(newEntry())
    await expect(full).rejects.toBeInstanceOf(LedgerError)
    await expect(full).rejects.toMatchObject({ code: 'ledger_full' })
    for (const entry of entries) expect(await ledger.find(entry)).toMatchObject({ held: true })
  })

  it('still moves its records when it is full', async () => {
    const { ledger } = open(1)
    const entry = newEntry()
    await ledger.reserve(entry)
    await ledger.settle(entry, TRANSACTION)
    expect(await ledger.find(entry)).toMatchObject({ state: 'settled' })
    expect(await ledger.reserve(entry)).toMatchObject({ state: 'settled' })
  })

  it('has room again once a record is released, or has outlived its use', async () => {
    const { ledger, clock } = open(1)
    const [first, second, third] = [newEntry(), newEntry(), newEntry()]
    await ledger.reserve(first)
    await ledger.release(first)
    expect(await ledger.reserve(second)).toBeUndefined()
    await ledger.settle(second, TRANSACTION)
    await expect(ledger.reserve(third)).rejects.toMatchObject({ code: 'ledger_full' })
    clock.ms += 300_000 + HOUR + 1
    expect(await ledger.reserve(third)).toBeUndefined()
  })

  it('forgets a settled payment an hour after its authorization has lapsed', async () => {
    const { ledger, clock } = open()
    const entry = newEntry()
    await ledger.reserve(entry)
    await ledger.settle(entry, TRANSACTION)
    clock.ms += 300_000 + HOUR - 1
    expect(await ledger.find(entry)).toBeDefined()
    clock.ms += 2
    expect(await ledger.find(entry)).toBeUndefined()
  })

  it('forgets a settled payment after two days where its authorization never ends', async () => {
    const { ledger, clock } = open()
    const entry = newEntry({ validBefore: 2n ** 256n - 1n })
    await ledger.reserve(entry)
    await ledger.settle(entry, TRANSACTION)
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

  it('knows nothing any more when it is closed', async () => {
    const { ledger } = open()
    const entry = newEntry()
    await ledger.reserve(entry)
    await ledger.close()
    expect(await ledger.find(entry)).toBeUndefined()
  })
})
