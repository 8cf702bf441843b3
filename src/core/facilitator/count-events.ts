import type { Counters } from '../../ledger/counters.js'
import { isReason } from '../../shared/protocol/reasons.js'
import type { EventBus, GatewayEvents } from '../schemes/events.js'

export function countEvents(events: EventBus, counters: Counters): void {
  events.on('refused', (event) => countRefusal(counters, event))
  events.on('settled', ({ project }) => counters.count(project, 'settled'))
  events.on('failed', ({ project, reason }) => counters.count(project, 'failed', labelOf(reason)))
}

/** Counts a refusal. That of a payment which was settled before loses no sale. */
export function countRefusal(
  counters: Counters,
  { project, reason, isRepeat }: Pick<GatewayEvents['refused'], 'project' | 'isRepeat' | 'reason'>,
): void {
  if (isRepeat === true) counters.count(project, 'repeated')
  else counters.count(project, 'refused', labelOf(reason))
}

/** A reason as a label: a facilitator elsewhere may name any text, and each label is kept for long. */
function labelOf(reason: string): string {
  return isReason(reason) ? reason : 'other'
}
