import type { OutgoingHttpHeader, ServerResponse } from 'node:http'

/** What Node's `writeHead` is called with. */
export type HeadArguments = readonly [status: number, ...rest: unknown[]]

/**
 * Sets on a response what was given to its `writeHead`: status, reason and headers.
 *
 * Afterwards the head can be read and changed by `getHeader` and `setHeader`, and is written by
 * `writeHead` with the status alone.
 */
export function setHead(res: ServerResponse, [status, ...rest]: HeadArguments): void {
  const [first, second] = rest
  res.statusCode = status
  if (typeof first === 'string') res.statusMessage = first
  const headers = second ?? first
  if (typeof headers !== 'object' || headers === null) return
  const pairs = pairsOf(headers)
  for (const [name] of pairs) res.removeHeader(name)
  // An array may name a header several times, Set-Cookie for example.
  for (const [name, value] of pairs)
    res.appendHeader(name, typeof value === 'number' ? String(value) : value)
}

/** Headers as `writeHead` takes them: an object, pairs, or names and values in turn. */
function pairsOf(headers: object): readonly (readonly [string, OutgoingHttpHeader])[] {
  if (!Array.isArray(headers))
    return Object.entries(headers as Record<string, OutgoingHttpHeader | undefined>).flatMap(
      ([name, value]) => (name === '' || value === undefined ? [] : [[name, value] as const]),
    )
  const list: readonly unknown[] = headers
  if (Array.isArray(list[0])) return list as readonly (readonly [string, string])[]
  if (list.length % 2 !== 0)
    throw new TypeError('The headers must be an object, pairs, or names and values in turn.')
  return Array.from({ length: list.length / 2 }, (_, index) => [
    String(list[2 * index]),
    list[2 * index + 1] as OutgoingHttpHeader,
  ])
}
