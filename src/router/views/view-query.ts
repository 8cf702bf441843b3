/** The time that a view is asked for. */
import { z } from 'zod'
import type { RequestProblem } from '../../http/respond-problem.js'
import { DAY_MS } from '../../ledger/revenue.js'
import { invalidRequest } from '../invalid-request.js'
import { timeSchema } from '../settlement-query.js'

/** Days that a view shows, and days that it may show. */
const DEFAULT_DAYS = 30
const MAX_DAYS = 400

/** A time span in milliseconds since the epoch; `until` is exclusive. */
export interface Span {
  readonly from: number
  readonly until: number
}

/** The parameters of every view. */
export const spanQuery = z.object({
  from: timeSchema.optional().meta({
    description: 'Begin: a date or a time. Default: 30 days before `to`.',
    examples: ['2026-01-01'],
  }),
  to: timeSchema.optional().meta({
    description: 'End, at most 400 days after `from`. Default: the end of today (UTC).',
    examples: ['2026-02-01T00:00:00Z'],
  }),
})

/**
 * The time that `from` and `to` ask for.
 *
 * @defaultValue the last 30 days, with today
 * @throws {@link RequestProblem} 400
 */
export function readSpan(query: z.output<typeof spanQuery>, now: number): Span {
  const tomorrow = (Math.floor(now / DAY_MS) + 1) * DAY_MS
  const until = query.to ?? Math.max(tomorrow, (query.from ?? 0) + DAY_MS)
  const from = query.from ?? until - DEFAULT_DAYS * DAY_MS
  if (from >= until) throw invalidSpan('to', 'must be after from')
  if (until - from > MAX_DAYS * DAY_MS)
    throw invalidSpan(
      'from',
      `must be at most ${MAX_DAYS} days before to, which is now if left out`,
    )
  return { from, until }
}

const invalidSpan = (path: string, message: string): RequestProblem =>
  invalidRequest('query', [{ path, message }])

/** A span, as it is shown. */
export function shownSpan({ from, until }: Span) {
  return { from: new Date(from).toISOString(), to: new Date(until).toISOString() }
}
