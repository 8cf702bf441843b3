/**
 * The payment of a request, kept from its handler.
 *
 * A handler may be a proxy. Who sees a payment with its `payment-identifier` can ask for what it bought.
 */
import type { IncomingMessage } from 'node:http'
import { PAYMENT_COOKIE } from '../paywall/payment-cookie.js'
import { PAYMENT_HEADER_KEYS } from '../../shared/protocol/headers.js'
import { partCredentials } from '../../shared/protocol/mpp.js'
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

/** Takes the credentials of MPP out of a request, and leaves what else is in `Authorization` to the app. */
export function takeCredentials(req: IncomingMessage): readonly string[] {
  // Node keeps one header alone in `headers`; adapters such as serverless-http write nothing else.
  const given = req.headersDistinct['authorization'] ?? [req.headers.authorization ?? '']
  const parted = given.map(partCredentials)
  const credentials = parted.flatMap(({ payments }) => payments)
  if (credentials.length === 0) return credentials
  // The app may have removed what it does not trust, or have written its own.
  const { authorization: shown = '' } = req.headers
  const kept = shown === given[0] ? parted.map(({ others }) => others) : [shown]
  removeHeaders(req, new Set(['authorization']))
  for (const others of kept.filter((one) => one !== '')) {
    req.headers.authorization ??= others
    ;(req.headersDistinct['authorization'] ??= []).push(others)
    req.rawHeaders.push('Authorization', others)
  }
  return credentials
}

/** A `Cookie` header without the cookie of the paywall; the very same text where there is none. */
function withoutPayment(cookie: string): string {
  if (!cookie.includes(PAYMENT_COOKIE)) return cookie
  return cookie
    .split(/;\s*/)
    .filter((pair) => !pair.startsWith(`${PAYMENT_COOKIE}=`))
    .join('; ')
}
