import type { IncomingMessage } from 'node:http'

/** Removes headers of a request, in every form that a handler or a proxy reads. */
export function removeHeaders(req: IncomingMessage, names: ReadonlySet<string>): void {
  for (const name of names) {
    Reflect.deleteProperty(req.headers, name)
    Reflect.deleteProperty(req.headersDistinct, name)
  }
  // Last, because Node derives the other two from the raw headers on first access.
  const { rawHeaders } = req
  const raw: string[] = []
  for (let index = 0; index < rawHeaders.length; index += 2)
    if (!names.has((rawHeaders[index] ?? '').toLowerCase()))
      raw.push(...rawHeaders.slice(index, index + 2))
  req.rawHeaders = raw
}
