/** The time that a view is asked for. */
import { z } from 'zod'
import type { RequestProblem } from '../../../shared/http/respond-problem.js'
import { DAY_MS, dayOf, startOfDay, UTC, type TimeZone } from '../../../ledger/time-zone.js'
import { invalidRequest } from '../../serve/invalid-request.js'
import { networkParameter } from '../settlement-query.js'
import { momentOf, timeSchema, timeZoneParameter } from '../time-query.js'

/** Days that a view shows, and days that it may show. */
const DEFAULT_DAYS = 30
const MAX_DAYS = 400

/** How much later a clock may be put within such a span (ms). */
const MAX_SHIFT_MS = 3 * 3_600_000

/** A time span in milliseconds since the epoch; `until` is exclusive. */
export interface Span {
  readonly from: number
  readonly until: number
  /** Whose days are shown. */
  readonly zone: TimeZone
}

export const spanQuery = z.object({
  from: timeSchema.optional().meta({
    description: 'Begin: a date (midnight in `timeZone`) or a time. Default: 30 days before `to`.',
    examples: ['2026-01-01'],
  }),
  to: timeSchema.optional().meta({
    description: 'End, at most 400 days after `from`. Default: the end of today.',
    examples: ['2026-02-01T00:00:00Z'],
  }),
  timeZone: timeZoneParameter,
})

/** Which money is summed: never test networks' together with others'. */
export const moneyMembers = {
  network: networkParameter,
  testnet: z
    .enum(['true', 'false'])
    .transform((text) => text === 'true')
    .optional()
    .meta({
      description:
        '`true`: only test networks. `false`: never those. Default: test networks only where nothing else was paid.',
      as: { type: 'boolean' },
    }),
}

/**
 * The time that `from` and `to` ask for.
 *
 * @defaultValue the last 30 days, with today
 * @throws {@link RequestProblem} 400
 */
export function readSpan(query: z.output<typeof spanQuery>, now: number): Span {
  const zone = query.timeZone ?? UTC
  const [begin, end] = [query.from, query.to].map((time) => time && momentOf(time, zone))
  const tomorrow = dayOf(zone, now) + 1
  const until = end ?? Math.max(startOfDay(zone, tomorrow), (begin ?? 0) + DAY_MS)
  const from = begin ?? startBefore(zone, until)
  if (from >= until) throw invalidSpan('to', 'must be after from')
  // A day of a changed clock is longer.
  if (until - from > MAX_DAYS * DAY_MS + MAX_SHIFT_MS)
    throw invalidSpan(
      'from',
      `must be at most ${MAX_DAYS} days before to, which is now if left out`,
    )
  return { from, until, zone }
}

/** The begin of the usual number of days, which may be an hour longer or shorter than 24 each. */
function startBefore(zone: TimeZone, until: number): number {
  const day = dayOf(zone, until)
  const isMidnight = startOfDay(zone, day) === until
  return isMidnight ? startOfDay(zone, day - DEFAULT_DAYS) : until - DEFAULT_DAYS * DAY_MS
}

const invalidSpan = (path: string, message: string): RequestProblem =>
  invalidRequest('query', [{ path, message }])

export function shownSpan({ from, until, zone }: Span) {
  const [begin, end] = [from, until].map((ms) => new Date(ms).toISOString())
  return { from: begin!, to: end!, timeZone: zone.name }
}
