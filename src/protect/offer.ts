import type { Request } from 'express'
import type { RateError } from '../errors.js'
import { fingerprintOf } from '../ledger/idempotency.js'
import type { Quote } from '../merchants/quote.js'
import type { QuoteSigner, QuoteSubject } from '../merchants/signed-quote.js'
import type { PaymentRequirements, ResourceInfo } from '../protocol/payment.js'

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

/** What a quote is for: this method, resource, URL and body. */
export function quotedRequest(req: Request, resource: ResourceInfo): QuoteSubject['request'] {
  return [pricedMethod(req), resource.url, req.originalUrl, bodyOf(req)]
}

/** A body that was parsed before the price was asked for, and that it may depend on. */
function bodyOf({ body }: { body?: unknown }): string {
  if (body === undefined) return ''
  return fingerprintOf(Buffer.isBuffer(body) ? body.toString('base64') : body)
}

/** What signing an offer takes. */
export interface SigningContext {
  readonly quotes: QuoteSigner
  /** Milliseconds since the epoch. */
  readonly now: () => number
}
