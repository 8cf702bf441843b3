import type { Counters } from '../ledger/counters.js'
import type { EventBus } from '../schemes/events.js'

/** Counts the events of payments that a facilitator emits. */
export function countEvents(events: EventBus, counters: Counters): void {
  events.on('refused', ({ project, reason }) => counters.count(project, 'refused', reason))
  events.on('settled', ({ project }) => counters.count(project, 'settled'))
  events.on('failed', ({ project, reason }) => counters.count(project, 'failed', reason))
}
