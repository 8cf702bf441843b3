import { expect, it } from '@jest/globals'
import { countEvents } from '../../../src/core/facilitator/count-events.js'
import { Counters } from '../../../src/ledger/counters.js'
import { createMemoryLedger } from '../../../src/ledger/memory-ledger.js'
import type { Reason } from '../../../src/shared/protocol/reasons.js'
import { createEventBus } from '../../../src/core/schemes/events.js'

it('events of a remote facilitator are counted under one label, whatever reason it gives', async () => {
  const ledger = createMemoryLedger()
  const counters = new Counters({
    store: ledger.counts,
    logger: { debug() {}, info() {}, warn() {}, error() {} },
    now: () => 0,
  })
  const events = createEventBus(() => undefined)
  countEvents(events, counters)
  const payment = {
    scheme: 'exact',
    network: 'eip155:84532',
    asset: '0x1',
    amount: '1',
    payTo: '0x2',
    payer: '0x3',
    project: 'shop',
  }
  for (const reason of ['insufficient funds', 'shop insufficient', 'insufficient_funds'])
    events.emit('refused', { ...payment, reason: reason as Reason })
  await counters.close()
  const counts = await ledger.counts.listCounts({
    project: 'shop',
    fromDay: 0,
    toDay: 0,
    kinds: ['refused'],
  })
  expect(Object.fromEntries(counts.map(({ label, count }) => [label, count]))).toEqual({
    insufficient_funds: 1,
    other: 2,
  })
  await ledger.close()
})
