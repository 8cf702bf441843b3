import { ServerResponse, type OutgoingHttpHeader } from 'node:http'

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

/**
 * Applies the arguments of `writeHead` to a response, and fixes its head without sending it. From then on
 * `headersSent` is true, and methods that would change the head throw `ERR_HTTP_HEADERS_SENT`.
 *
 * Node writes the same head for a response without a connection first, so that a status, a reason or
 * trailers that it refuses are refused now, and not when the response is sent.
 *
 * @returns That response.
 */
export function fixHead(res: ServerResponse, head: HeadArguments): ServerResponse {
  const written = new ServerResponse(res.req)
  const { statusCode, statusMessage, strictContentLength } = res
  Object.assign(written, { statusCode, statusMessage, strictContentLength })
  for (const [name, value] of Object.entries(res.getHeaders()))
    if (value !== undefined) written.setHeader(name, value)
  try {
    Reflect.apply(ServerResponse.prototype.writeHead, written, head)
  } finally {
    res.statusCode = written.statusCode
    res.statusMessage = written.statusMessage
  }
  setHead(res, [res.statusCode, ...head.slice(1)])
  markHead(res, written)
  return written
}

/**
 * Makes a response's head look sent, as another one's is, or changeable again.
 *
 * Node's own methods go by `_header`, and so does middleware for sessions and compression.
 *
 * @param written - `undefined` for a head that may change.
 */
export function markHead(res: ServerResponse, written: ServerResponse | undefined): void {
  const { _header = null } = (written ?? {}) as { readonly _header?: string | null }
  Reflect.set(res, '_header', _header)
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
