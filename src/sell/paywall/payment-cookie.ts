/**
 * Shows bought HTML.
 *
 * The page pays by `fetch`, but cannot show the response itself: its scripts and styles would run under
 * the paywall's policy. It therefore reloads its own URL and presents the same payment in a cookie, because
 * a navigation cannot have custom headers. The stored response of that payment is sent
 * (`payment-identifier`): the handler does not run again, and nothing is paid again.
 *
 * The cookie counts only for a navigation that a page of the same origin has started, so that no other
 * site, image or frame can present it. It lives for a minute, for one path, and the response removes it.
 */
import type { Request, Response } from 'express'
import { PAYMENT_SIGNATURE } from '../../shared/protocol/headers.js'
import { bringsPayment } from '../route/version-2.js'

export const PAYMENT_COOKIE = 'x402-payment'

const VALUE = new RegExp(`(?:^|;\\s*)${PAYMENT_COOKIE}=([A-Za-z0-9_-]+)(?:;|$)`)

/** Requests whose payment came in a cookie. */
const byCookie = new WeakSet<Request>()

/** Moves the payment of a request from its cookie into the header. */
export function takePaymentCookie(req: Request, res: Response): void {
  const value = VALUE.exec(req.headers.cookie ?? '')?.[1]
  if (value === undefined || !isOwnNavigation(req) || bringsPayment(req)) return
  req.headers[PAYMENT_SIGNATURE.toLowerCase()] = value
  byCookie.add(req)
  const [path = '/'] = req.originalUrl.split('?', 1)
  res.append('Set-Cookie', `${PAYMENT_COOKIE}=; Path=${path}; Max-Age=0; SameSite=Strict`)
}

/** Whether the payment of a request came in a cookie, from a person and not a program. */
export function cameByCookie(req: Request): boolean {
  return byCookie.has(req)
}

/** Whether a page of the same origin started this navigation (Fetch Metadata). */
function isOwnNavigation({ method, headers }: Request): boolean {
  return (
    method === 'GET' &&
    headers['sec-fetch-mode'] === 'navigate' &&
    headers['sec-fetch-dest'] === 'document' &&
    headers['sec-fetch-site'] === 'same-origin'
  )
}
