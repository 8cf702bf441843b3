import type { Request, Response } from 'express'

/** Without one of these, a request comes from a program. */
const MENTIONS_HTML = /text\/(?:html|\*)/i

/** Longest `Accept` that is parsed (characters): no browser's is longer, and parsing takes time. */
const MAX_ACCEPT_LENGTH = 1024

/** Programs that make previews of links, for chats and feeds. They accept any type. */
const PREVIEWS =
  /\b(?:WhatsApp|TelegramBot|Slackbot|Discordbot|Twitterbot|LinkedInBot|facebookexternalhit)\b/

/** Whether a request comes from a program that makes the preview of a link: it cannot pay. */
export function isPreview({ method, headers }: Request): boolean {
  return (method === 'GET' || method === 'HEAD') && PREVIEWS.test(headers['user-agent'] ?? '')
}

/**
 * Whether a request prefers HTML to JSON (RFC 9110 §12.5.1). One that accepts any type gets JSON, unless it
 * comes from a program that makes a preview.
 */
export function prefersHtml(req: Request): boolean {
  if (isPreview(req)) return true
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
