import type { Request, Response } from 'express'

/** Media types of an `Accept` that could prefer HTML. One that has none of them is a program's. */
const MENTIONS_HTML = /text\/(?:html|\*)/i

/** Characters of the longest `Accept` that is read: no browser writes a longer one, and reading takes time. */
const MAX_ACCEPT_LENGTH = 1024

/** Tells whether a request prefers HTML to JSON (RFC 9110 §12.5.1). One that takes any type gets JSON. */
export function prefersHtml(req: Request): boolean {
  const { accept } = req.headers
  if (accept === undefined || accept.length > MAX_ACCEPT_LENGTH) return false
  if (!MENTIONS_HTML.test(accept)) return false
  return req.accepts(['application/json', 'text/html']) === 'text/html'
}

/** Tells caches that the response depends on `Accept`. */
export function varyByAccept(res: Response): void {
  if (res.hasHeader('Vary')) res.vary('Accept')
  else res.setHeader('Vary', 'Accept')
}
