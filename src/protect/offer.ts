import type { Request } from 'express'
import type { RateError } from '../errors.js'
import type { Quote } from '../merchants/quote.js'
import type { QuoteSigner, QuoteSubject } from '../merchants/signed-quote.js'
import type { PaymentRequirements, ResourceInfo } from '../protocol/payment.js'
import { bodyFingerprint } from './body-fingerprint.js'

/** What a route asks for one request. */
export interface Offer {
  readonly resource: ResourceInfo
  readonly accepts: readonly PaymentRequirements[]
  /** The same entries, with the rates that they come from. */
  readonly quotes: readonly Quote[]
  /** Why there are none: nothing can be asked for now, but what was asked for before is honoured. */
  readonly failure?: RateError | undefined
}

/** Makes an offer of quotes. */
export function offerOf(
  resource: ResourceInfo,
  quotes: readonly Quote[],
  failure?: RateError,
): Offer {
  return { resource, accepts: quotes.map(({ entry }) => entry), quotes, failure }
}

/** The method that a request is charged for: `HEAD` costs what `GET` costs. */
export function pricedMethod({ method }: Request): string {
  return method === 'HEAD' ? 'GET' : method
}

/**
 * What a quote is for: this method, resource, URL and body.
 *
 * @param quotedFor - What else the price depends on, such as who asks.
 * @returns `undefined` where the body cannot be told from others: such a quote is not signed.
 */
export function quotedRequest(
  req: Request,
  { url }: ResourceInfo,
  quotedFor: string | undefined,
): QuoteSubject['request'] | undefined {
  const body = bodyFingerprint(req)
  if (body === undefined) return undefined
  const request = [pricedMethod(req), url, req.originalUrl, body]
  return quotedFor === undefined ? request : [...request, 'for', quotedFor]
}

/** What signing an offer takes. */
export interface SigningContext {
  readonly quotes: QuoteSigner
  /** Milliseconds since the epoch. */
  readonly now: () => number
}
