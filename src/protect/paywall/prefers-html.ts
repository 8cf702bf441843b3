import type { Request, Response } from 'express'

/** Without one of these, a request comes from a program. */
const MENTIONS_HTML = /text\/(?:html|\*)/i

/** Longest `Accept` that is parsed (characters): no browser's is longer, and parsing takes time. */
const MAX_ACCEPT_LENGTH = 1024

/** Whether a request prefers HTML to JSON (RFC 9110 §12.5.1). One that accepts any type gets JSON. */
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
