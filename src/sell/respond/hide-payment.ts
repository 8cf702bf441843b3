/**
 * The payment of a request, kept from its handler.
 *
 * A handler may be a proxy. Who sees a payment with its `payment-identifier` can ask for what it bought.
 */
import type { IncomingMessage } from 'node:http'
import { PAYMENT_COOKIE } from '../paywall/payment-cookie.js'
import { PAYMENT_HEADER_KEYS } from '../../shared/protocol/headers.js'
import { removeHeaders } from './request-headers.js'

const COOKIE = 'cookie'

/** Removes the payment from the headers of a request, once it was read. */
export function hidePayment(req: IncomingMessage): void {
  const { cookie } = req.headers
  const others = cookie && withoutPayment(cookie)
  if (others === cookie) return removeHeaders(req, new Set(PAYMENT_HEADER_KEYS))
  removeHeaders(req, new Set([...PAYMENT_HEADER_KEYS, COOKIE]))
  if (!others) return
  req.headers[COOKIE] = others
  req.headersDistinct[COOKIE] = [others]
  req.rawHeaders.push('Cookie', others)
}

/** A `Cookie` header without the cookie of the paywall; the very same text where there is none. */
function withoutPayment(cookie: string): string {
  if (!cookie.includes(PAYMENT_COOKIE)) return cookie
  return cookie
    .split(/;\s*/)
    .filter((pair) => !pair.startsWith(`${PAYMENT_COOKIE}=`))
    .join('; ')
}
