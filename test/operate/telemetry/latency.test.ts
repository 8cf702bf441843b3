import { afterEach, describe, expect, it } from '@jest/globals'
import { Counters, PHASES } from '../../../src/ledger/counters.js'
import { createMemoryLedger } from '../../../src/ledger/memory-ledger.js'
import type { PresentedPayment } from '../../../src/core/schemes/scheme.js'
import { latencyWatcher } from '../../../src/operate/telemetry/latency.js'
import { RecentOutcomes } from '../../../src/operate/telemetry/recent-outcomes.js'
import { during, type PaymentEnd } from '../../../src/operate/telemetry/payment-watch.js'

const ledger = createMemoryLedger()
const logger = { debug() {}, info() {}, warn() {}, error() {} }
const counters = new Counters({ store: ledger.counts, logger, now: Date.now })
afterEach(() => ledger.counts.dropCounts(Infinity))

/** The phases that were counted, each with how often. */
async function counted(): Promise<Record<string, number>> {
  await counters.flush()
  const query = { project: 'shop', fromDay: 0, toDay: 1e6, kinds: PHASES }
  const counts: Record<string, number> = {}
  for (const { kind, count } of await ledger.counts.listCounts(query))
    counts[kind] = (counts[kind] ?? 0) + count
  return counts
}

/** Watches a payment at a route, unless something else is said of it. */
function watch(changes: Partial<PresentedPayment> = {}) {
  const presented = {
    purpose: 'reserve',
    terms: { project: 'shop', purchase: { method: 'GET' } },
    ...changes,
  } as PresentedPayment
  const begun = latencyWatcher(counters, new RecentOutcomes(Date.now)).begin(presented)
  const pass = (...phases: readonly Parameters<typeof begun.phase>[0][]) =>
    phases.reduce(async (before, phase) => {
      await before
      await during(begun, phase, async () => undefined)
    }, Promise.resolve())
  return { pass, end: (how: PaymentEnd) => begun.end(how) }
}

describe('the times of a payment', () => {
  it('are recorded once for each of its phases', async () => {
    const { pass, end } = watch()
    await pass('verify', 'reserve', 'handler', 'settle', 'deliver')
    end({ kind: 'settled' })
    expect(await counted()).toEqual({ verify: 1, handler: 1, settle: 1, total: 1 })
  })

  it('have no handler phase if no handler runs', async () => {
    const { pass, end } = watch({ purpose: 'settle', terms: { project: 'shop' } as never })
    await pass('verify', 'reserve', 'settle', 'deliver')
    end({ kind: 'settled' })
    expect(await counted()).toEqual({ verify: 1, settle: 1, total: 1 })
  })

  it('end with the phase that failed', async () => {
    const released = watch()
    await released.pass('verify', 'reserve', 'handler')
    released.end({ kind: 'released' })
    expect(await counted()).toEqual({ verify: 1, handler: 1 })
    const failed = watch()
    await failed.pass('verify', 'reserve', 'handler', 'settle')
    failed.end({ kind: 'not_settled', reason: 'invalid_transaction_state' })
    expect(await counted()).toEqual({ verify: 2, handler: 2 })
    const undelivered = watch()
    await undelivered.pass('verify', 'reserve', 'handler', 'settle')
    undelivered.end({ kind: 'undelivered' })
    expect(await counted()).toEqual({ verify: 3, handler: 3, settle: 1 })
  })

  it('leave out refused payments, refunds and mere verifications', async () => {
    const refused = watch()
    await refused.pass('verify', 'reserve')
    refused.end({ kind: 'not_settled', reason: 'duplicate_settlement' })
    const refund = watch({ purpose: 'settle', refundOf: 'f'.repeat(32) })
    await refund.pass('verify', 'reserve', 'settle', 'deliver')
    refund.end({ kind: 'settled' })
    const verified = watch({ purpose: 'verify' })
    await verified.pass('verify')
    verified.end({ kind: 'verified' })
    expect(await counted()).toEqual({})
  })
})
