import type { OutgoingHttpHeader, ServerResponse } from 'node:http'

/** The arguments of Node's `writeHead`. */
export type HeadArguments = readonly [status: number, ...rest: unknown[]]

/**
 * Applies the arguments of `writeHead` to a response, without writing its head: status, reason and
 * headers.
 *
 * `getHeader` and `setHeader` see them afterwards, and `writeHead` with the status alone writes them.
 */
export function setHead(res: ServerResponse, [status, ...rest]: HeadArguments): void {
  const [first, second] = rest
  res.statusCode = status
  if (typeof first === 'string') res.statusMessage = first
  const headers = second ?? first
  if (typeof headers !== 'object' || headers === null) return
  const pairs = pairsOf(headers)
  for (const [name] of pairs) res.removeHeader(name)
  // An array may contain a header several times, for example Set-Cookie.
  for (const [name, value] of pairs)
    res.appendHeader(name, typeof value === 'number' ? String(value) : value)
}

/** Reads headers in any form that `writeHead` takes: an object, pairs, or alternating names and values. */
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

/** Header methods without effect: Node's own throw once the head has been sent. */
export function ignoredHeaderMethods(res: ServerResponse) {
  const nothing = (): ServerResponse => res
  return {
    setHeader: nothing,
    setHeaders: nothing,
    appendHeader: nothing,
    removeHeader: (): void => undefined,
    writeContinue: (): void => undefined,
  }
}
