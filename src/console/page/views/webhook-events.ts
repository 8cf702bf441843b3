/** The events that a merchant can be told of, and what each means. */
export const EVENTS = [
  ['payment.settled', 'The merchant was paid.'],
  ['payment.failed', 'The transaction was mined, and did not pay the merchant.'],
  ['payment.pending', 'The outcome is not known yet.'],
  ['payment.corrected', 'What was told before has changed.'],
  ['refund.settled', 'The buyer was paid back.'],
  ['refund.failed', 'The refund did not reach the buyer.'],
] as const

/** The names of all events. */
export const ALL_EVENTS: readonly string[] = EVENTS.map(([name]) => name)
