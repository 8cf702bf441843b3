import type { Counters } from '../ledger/counters.js'
import { isReason } from '../protocol/reasons.js'
import type { EventBus } from '../schemes/events.js'

/** Counts the events of payments that a facilitator emits. */
export function countEvents(events: EventBus, counters: Counters): void {
  events.on('refused', ({ project, reason }) => counters.count(project, 'refused', labelOf(reason)))
  events.on('settled', ({ project }) => counters.count(project, 'settled'))
  events.on('failed', ({ project, reason }) => counters.count(project, 'failed', labelOf(reason)))
}

/** A reason as a label: a facilitator elsewhere may name any text, and each label is kept for long. */
function labelOf(reason: string): string {
  return isReason(reason) ? reason : 'other'
}
