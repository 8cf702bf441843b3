/** What a view is asked for: whose payments, and of which time. */
import type { Request } from 'express'
import { z } from 'zod'
import type { RequestProblem } from '../../http/respond-problem.js'
import type { LedgerQuery } from '../../ledger/index.js'
import { DAY_MS } from '../../ledger/revenue.js'
import type { Asset } from '../../money/assets.js'
import type { KnownMembers } from '../../protocol/strict-document.js'
import { invalidRequest } from '../invalid-request.js'
import { readQuery } from '../read-query.js'
import { timeSchema } from '../settlement-query.js'

/** Days that a view shows, and days that it may show. */
const DEFAULT_DAYS = 30
const MAX_DAYS = 400

/** Whose payments a view shows. */
export interface ViewScope {
  readonly project: LedgerQuery['project']
  /** Tokens whose symbol and decimals are told. */
  readonly accepts: readonly Asset[]
}

/** A time span in milliseconds since the epoch; `until` is exclusive. */
export interface Span {
  readonly from: number
  readonly until: number
}

/** The parameters of every view. */
export const SPAN_PARAMETERS = ['from', 'to'] as const

/** Reads the time of a view. */
export const spanSchema = z.object({ from: timeSchema.optional(), to: timeSchema.optional() })

/**
 * Reads `from` and `to` of a request.
 *
 * @param parameters - All that it may have, with those that are read elsewhere.
 * @defaultValue the last 30 days, with today
 * @throws {@link RequestProblem} 400
 */
export function readSpan(
  req: Request,
  now: number,
  parameters: readonly string[] = SPAN_PARAMETERS,
): Span {
  const query = readQuery(req, spanSchema, parametersOf(parameters))
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

/** The parameters of a view. `_` is how some HTTP clients evade caches. */
export function parametersOf(known: readonly string[]): KnownMembers {
  return { known, tolerated: ['_'] }
}

const invalidSpan = (path: string, message: string): RequestProblem =>
  invalidRequest('query', [{ path, message }])

/** A span, as it is shown. */
export function shownSpan({ from, until }: Span) {
  return { from: new Date(from).toISOString(), to: new Date(until).toISOString() }
}
