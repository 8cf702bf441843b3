/**
 * Conditional requests (RFC 9110 §13) on paid routes.
 *
 * A 304 is not charged for, and its validators describe what is for sale: a free sample. Therefore a
 * paid handler never sees a condition on a GET or HEAD, and responds with what was paid for. Conditions of writes
 * prevent lost updates: they stay.
 */
import type { IncomingMessage } from 'node:http'
import { removeHeaders } from './request-headers.js'

/**
 * Removes all `If-*` headers of a GET or HEAD.
 *
 * A `Range` with an `If-Range` is removed as well: without the condition, the response could be a part
 * of another version than the client has. The complete resource is always correct (RFC 9110 §14.2).
 */
export function removeConditions(req: IncomingMessage): void {
  if (req.method !== 'GET' && req.method !== 'HEAD') return
  const removed = new Set(Object.keys(req.headers).filter((name) => name.startsWith('if-')))
  if (removed.size === 0) return
  if (removed.has('if-range')) removed.add('range')
  removeHeaders(req, removed)
}
