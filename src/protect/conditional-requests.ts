/**
 * Conditional requests (RFC 9110 § 13) of paid routes.
 *
 * Their answers carry validators of what is for sale, and nobody pays for a 304: they would be a free
 * sample. So a paid handler never sees a condition, and answers with what was paid for.
 */
import type { IncomingMessage } from 'node:http'

/** Statuses of a condition or a range that did not hold: there is nothing to pay for. */
const CONDITIONAL_STATUSES: ReadonlySet<number> = new Set([304, 412, 416])

/** Tells whether an answer says only that a condition or a range does not fit. */
export function isConditionalStatus(status: number): boolean {
  return CONDITIONAL_STATUSES.has(status)
}

/**
 * Removes all `If-*` headers of a request.
 *
 * A `Range` that comes with `If-Range` goes, too: without its condition it could be answered with a
 * part of another version than the client has. The whole is always right (RFC 9110 § 14.2).
 */
export function removeConditions(req: IncomingMessage): void {
  const removed = new Set(Object.keys(req.headers).filter((name) => name.startsWith('if-')))
  if (removed.size === 0) return
  if (removed.has('if-range')) removed.add('range')

  // Node makes both of the raw headers, when they are first asked for: those are changed last.
  for (const name of removed) {
    Reflect.deleteProperty(req.headers, name)
    Reflect.deleteProperty(req.headersDistinct, name)
  }
  const { rawHeaders } = req
  const raw: string[] = []
  for (let index = 0; index < rawHeaders.length; index += 2)
    if (!removed.has((rawHeaders[index] ?? '').toLowerCase()))
      raw.push(...rawHeaders.slice(index, index + 2))
  req.rawHeaders = raw
}
