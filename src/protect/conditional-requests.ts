/**
 * Conditional requests (RFC 9110 §13) on paid routes.
 *
 * A 304 is not charged for, and its validators describe what is for sale: a free sample. Therefore a
 * paid handler never sees a condition, and responds with what was paid for.
 */
import type { IncomingMessage } from 'node:http'
import { removeHeaders } from './request-headers.js'

/** Statuses of a failed condition or range: nothing was delivered, so nothing is charged. */
const CONDITIONAL_STATUSES: ReadonlySet<number> = new Set([304, 412, 416])

/** Tells whether a response reports only that a condition or a range failed. */
export function isConditionalStatus(status: number): boolean {
  return CONDITIONAL_STATUSES.has(status)
}

/**
 * Removes all `If-*` headers of a request.
 *
 * A `Range` with an `If-Range` is removed as well: without the condition, the response could be a part
 * of another version than the client has. The complete resource is always correct (RFC 9110 §14.2).
 */
export function removeConditions(req: IncomingMessage): void {
  const removed = new Set(Object.keys(req.headers).filter((name) => name.startsWith('if-')))
  if (removed.size === 0) return
  if (removed.has('if-range')) removed.add('range')
  removeHeaders(req, removed)
}
