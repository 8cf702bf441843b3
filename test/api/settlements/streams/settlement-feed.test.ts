/** What readers of live payments cost, and what they are told. */
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from '@jest/globals'
import { Slots } from '../../../../src/shared/http/slots.js'
import { EVERY_PROJECT, recordId, type LedgerStore } from '../../../../src/ledger/index.js'
import { createMemoryLedger } from '../../../../src/ledger/memory-ledger.js'
import {
  SettlementFeed,
  type FeedEntry,
} from '../../../../src/api/settlements/streams/settlement-feed.js'
import { newEntry, steps } from '../../../support/ledger-entries.js'
import { patchedLedger } from '../../../support/patched-ledger.js'
import { useCleanup } from '../../../support/cleanup.js'
import { until } from '../../../support/until.js'
import { recordLog } from '../../api.js'

const toEnd = useCleanup()

function open() {
  const store = createMemoryLedger()
  const log = recordLog()
  const state = { looks: 0, underWay: 0, mostUnderWay: 0, isAway: false }
  const ledger: LedgerStore = patchedLedger(store, {
    async listLatest(query) {
      state.looks += 1
      state.underWay += 1
      state.mostUnderWay = Math.max(state.mostUnderWay, state.underWay)
      await sleep(20)
      state.underWay -= 1
      if (state.isAway) throw new Error('away')
      return store.payments.listLatest(query)
    },
  })
  const feed = new SettlementFeed({ ledger, logger: log })
  toEnd.push(() => {
    feed.close()
    return store.close()
  })
  const read = async (project: string | typeof EVERY_PROJECT = EVERY_PROJECT) => {
    const seen: FeedEntry[] = []
    const ended = { now: false }
    const remove = await feed.add({
      project,
      take: (entries) => void seen.push(...entries),
      end: () => (ended.now = true),
    })
    const statesOf = (id: string) =>
      seen.filter(({ record }) => record.id === id).map(({ record }) => record.state)
    return { seen, ended, remove, statesOf }
  }
  return { store, feed, log, state, read }
}

describe('The feed of settlements', () => {
  it('tells each reader of each change once, with one loop for all', async () => {
    const { store, state, read } = open()
    const readers = await Promise.all(Array.from({ length: 30 }, () => read()))
    const other = await read('other')
    const entry = newEntry()
    await steps.submitted(store, entry)
    const id = recordId(entry)
    await until(() => readers.every(({ statesOf }) => statesOf(id).length === 1))
    await store.payments.markSettled(entry, `0x${'aa'.repeat(32)}`)
    await until(() => readers.every(({ statesOf }) => statesOf(id).length === 2))
    const looks = state.looks
    await until(() => state.looks >= looks + 2)
    for (const { statesOf } of readers) expect(statesOf(id)).toEqual(['submitted', 'settled'])
    expect(other.seen).toEqual([])
    expect(state.mostUnderWay).toBe(1)
  })

  it('tells a reader only of what happens after he was added', async () => {
    const { store, read } = open()
    const before = newEntry()
    await steps.settled(store, before)
    const reader = await read()
    const after = newEntry()
    await steps.settled(store, after)
    await until(() => reader.seen.length > 0)
    expect(reader.seen.map(({ record }) => record.id)).toEqual([recordId(after)])
  })

  it('tells of a payment again when it is refunded', async () => {
    const { store, read } = open()
    const payment = newEntry()
    await steps.settled(store, payment)
    await store.payments.markDelivered(payment)
    const reader = await read('shop')
    const { from, payTo } = payment
    const parties = { from: payTo, payTo: from }
    const refund = { ...newEntry(parties), value: 4000n, refundOf: recordId(payment) }
    expect(await store.refunds.reserveRefund(refund)).toEqual({ kind: 'reserved' })
    await store.payments.submit(refund, {
      ...{ transaction: `0x${'bb'.repeat(32)}`, relayer: `0x${'cc'.repeat(20)}` },
      ...{ accountNonce: 1, raw: '0x02' },
    })
    await store.payments.markSettled(refund, `0x${'bb'.repeat(32)}`)
    await until(() => reader.seen.some(({ totals }) => totals?.refunded === '4000'))
    expect(new Set(reader.seen.map(({ record }) => record.id))).toEqual(
      new Set([recordId(payment)]),
    )
  })

  it('reads nothing before the first reader and after the last one', async () => {
    const { state, read } = open()
    const readers = [await read(), await read()]
    await until(() => state.looks > 2)
    for (const { remove } of readers) remove()
    await until(() => state.underWay === 0)
    const { looks } = state
    await sleep(2500)
    expect(state.looks).toBe(looks)
    expect((await read()).seen).toEqual([])
    expect(state.looks).toBe(looks + 1)
  })

  it('refuses a reader while the ledger does not answer, and goes on for the others once it does', async () => {
    const { store, state, log, read } = open()
    state.isAway = true
    await expect(read()).rejects.toThrow('away')
    state.isAway = false
    const reader = await read()
    state.isAway = true
    const { looks } = state
    const entry = newEntry()
    await steps.settled(store, entry)
    await until(() => state.looks >= looks + 2)
    state.isAway = false
    await until(() => reader.statesOf(recordId(entry)).includes('settled'))
    expect(log.lines.filter((line) => line.startsWith('warn'))).toHaveLength(1)
  })

  it('ends its readers when it is closed', async () => {
    const { feed, read } = open()
    const reader = await read()
    feed.close()
    expect(reader.ended.now).toBe(true)
  })
})

describe('Slots', () => {
  it('limit what runs at once for one key, and for all', () => {
    const slots = new Slots({ total: 3, perKey: 2 })
    const free = slots.take('a')
    expect(typeof slots.take('a')).toBe('function')
    expect(slots.take('a')).toBe('perKey')
    expect(typeof slots.take('b')).toBe('function')
    expect(slots.take('c')).toBe('total')
    if (typeof free !== 'function') throw new Error('There was no slot.')
    free()
    free()
    expect(typeof slots.take('c')).toBe('function')
    expect(slots.take('b')).toBe('total')
  })
})
