import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import type { LedgerEntry, LedgerStore } from '../../src/ledger/index.js'
import { recordId } from '../../src/ledger/index.js'
import { createMemoryLedger } from '../../src/ledger/memory-ledger.js'
import { NONCES_KEPT_MS } from '../../src/ledger/sign-ins.js'
import { storeMakers, type Store } from '../hostile/stores.js'
import { newEntry, START_MS, steps, SUBMISSION } from '../support/ledger-entries.js'
import { findPostgres } from '../support/postgres.js'
import { newNonce } from '../support/sign-payment.js'
import { until } from '../support/until.js'

const KEY = 'the-key'
const HOUR = 3_600_000
const open = { resource: 'r', access: { key: KEY, ms: HOUR } }
const inFiveMinutes = (): bigint => BigInt(Math.floor(Date.now() / 1000) + 300)

const postgres = await findPostgres()
const makers = storeMakers.filter(([name]) => name !== 'PostgreSQL' || postgres !== undefined)

describe.each(makers)('sign-ins in %s', (name, make) => {
  let store: Store
  let ledger: LedgerStore
  beforeEach(async () => {
    store = (await make())!
    ledger = store.open()
  })
  afterEach(async () => {
    await ledger.close()
    await store.drop()
  })

  /** A payment that is settled and delivered. */
  async function buy(overrides: Partial<LedgerEntry> = {}): Promise<LedgerEntry> {
    const transaction = newNonce()
    const entry = newEntry({ purchase: open, validBefore: inFiveMinutes(), ...overrides })
    await ledger.payments.reserve(entry)
    await ledger.payments.submit(entry, { ...SUBMISSION, transaction })
    await ledger.payments.markSettled(entry, transaction)
    await ledger.payments.markDelivered(entry)
    return entry
  }
  const has = ({ from: payer }: LedgerEntry, key = KEY, chainId?: number): Promise<boolean> =>
    ledger.signIns.hasAccess({ payer, key, chainId })

  it('takes a nonce once, however many ask for it', async () => {
    const other = name === 'memory' ? ledger : store.open()
    const asked = Array.from({ length: 100 }, (_, index) =>
      (index % 2 === 0 ? ledger : other).signIns.take('aa'),
    )
    expect((await Promise.all(asked)).filter(Boolean)).toHaveLength(1)
    expect(await ledger.signIns.take('ab')).toBe(true)
    if (other !== ledger) await other.close()
  })

  it('gives access to who has paid, under the key that was paid for, and to nobody else', async () => {
    const paid = await buy()
    expect(await has(paid)).toBe(true)
    expect(await has(paid, 'another-key')).toBe(false)
    expect(await has(newEntry())).toBe(false)
    expect(await has(await buy({ purchase: { resource: 'r' } }))).toBe(false)
  })

  it('tells the chains of contract accounts apart', async () => {
    const paid = await buy()
    expect(await has(paid, KEY, 84_532)).toBe(true)
    expect(await has(paid, KEY, 8453)).toBe(false)
  })

  it.each(['reserved', 'submitted', 'settled', 'failed'] as const)(
    'gives no access for a payment that is %s and not delivered',
    async (state) => {
      const entry = newEntry({ purchase: open })
      await steps[state](ledger, entry)
      expect(await has(entry)).toBe(false)
    },
  )

  it('ends access with a refund, from its reservation on', async () => {
    const paid = await buy()
    const refund = {
      ...paid,
      from: paid.payTo,
      payTo: paid.from,
      nonce: newNonce(),
      value: 1n,
      refundOf: recordId(paid),
      purchase: undefined,
    }
    expect(await ledger.refunds.reserveRefund(refund)).toEqual({ kind: 'reserved' })
    expect(await has(paid)).toBe(false)
  })
})

describe('sign-ins, as time goes by,', () => {
  let now = START_MS
  const ledger = createMemoryLedger({ now: () => now })
  beforeEach(() => {
    now = START_MS
  })

  it('have access until the time is over that was bought, counted from the delivery', async () => {
    const entry = newEntry({ purchase: open })
    await steps.settled(ledger, entry)
    now += HOUR
    await ledger.payments.markDelivered(entry)
    const asked = { payer: entry.from, key: KEY }
    now += HOUR - 1
    expect(await ledger.signIns.hasAccess(asked)).toBe(true)
    now += 1
    expect(await ledger.signIns.hasAccess(asked)).toBe(false)
  })

  it('forget nonces that no clock takes for good any more', async () => {
    const elapsed = performance.now
    let ahead = 0
    performance.now = () => elapsed.call(performance) + ahead
    try {
      expect(await ledger.signIns.take('old')).toBe(true)
      now += NONCES_KEPT_MS
      ahead += 61_000
      expect(await ledger.signIns.take('other')).toBe(true)
      expect(await ledger.signIns.take('old')).toBe(false)
      now += 1
      ahead += 61_000
      await ledger.signIns.take('another')
      await until(() => ledger.signIns.take('old'))
    } finally {
      performance.now = elapsed
    }
  })
})
