/** What a paid route answers instead of, or beside, its handler's own answer. */
import type { Response } from 'express'
import {
  encodeHeader,
  EXPOSED_HEADERS,
  PAYMENT_REQUIRED,
  PAYMENT_RESPONSE,
  X_PAYMENT_RESPONSE,
} from '../protocol/headers.js'
import { newOfferId, withOfferId } from '../protocol/offer-id.js'
import { paymentIdentifierExtensions } from '../protocol/payment-identifier.js'
import { withProtocolVersion, X402_VERSION } from '../protocol/payment.js'
import type {
  PaymentRequired,
  PaymentRequirements,
  ResourceInfo,
  SettleResponse,
} from '../protocol/payment.js'
import { PROBLEM_JSON, problemDetails, type Problem } from '../http/problem.js'

/** Seconds after which an unknown outcome, or a network that was away, is worth another try. */
const RETRY_AFTER_SECONDS = 5

/** The `error` of a 402 to a request that brought no payment. */
export const NOT_PAID = 'Payment required'

/** What a route asks, and for which resource. */
export interface Asked {
  readonly resource: ResourceInfo
  readonly accepts: readonly PaymentRequirements[]
}

/**
 * Writes the document of a 402.
 *
 * @param error - A reason, or words.
 * @param offerId - Proves later who was given this very answer.
 */
export function paymentRequired(
  { resource, accepts }: Asked,
  error: string,
  offerId = newOfferId(),
): PaymentRequired {
  return {
    x402Version: X402_VERSION,
    error,
    resource,
    accepts: withProtocolVersion(withOfferId(accepts, offerId)),
    extensions: paymentIdentifierExtensions,
    protocolVersion: X402_VERSION,
  }
}

/** A {@link PaymentRequired}, as it is sent. */
export interface WrittenDocument {
  readonly json: string
  /** The same in base64, for the header. */
  readonly header: string
  /** Of the JSON: what is ASCII Node writes faster as such. */
  readonly encoding: 'latin1' | 'utf8'
}

/** Writes a document for the wire. @param json - A {@link PaymentRequired}. */
function writeDocument(json: string): WrittenDocument {
  const bytes = Buffer.from(json, 'utf8')
  const encoding = bytes.length === json.length ? 'latin1' : 'utf8'
  return { json, header: bytes.toString('base64'), encoding }
}

/** Asks for payment: the document in the header, and again as the body. */
export function answerPaymentRequired(
  res: Response,
  document: PaymentRequired,
  status: 402 | 400 = 402,
): void {
  sendPaymentRequired(res, writeDocument(JSON.stringify(document)), status)
}

/** {@link answerPaymentRequired}, of what is written already. */
export function sendPaymentRequired(
  res: Response,
  { json, header, encoding }: WrittenDocument,
  status: 402 | 400 = 402,
): void {
  // Not by Express's `res.set`, which takes its time to see that there is nothing to add.
  exposeHeaders(res)
  res.statusCode = status
  res.setHeader(PAYMENT_REQUIRED, header)
  res.setHeader('Cache-Control', 'no-store')
  res.setHeader('Content-Type', 'application/json; charset=utf-8')
  res.end(json, encoding)
}

/** Answers that something outside failed, and that the same payment is good for another try. */
export function answerUnavailable(res: Response, problem: Omit<Problem, 'status'>): void {
  res.set('Retry-After', String(RETRY_AFTER_SECONDS))
  answerProblem(res, { status: 503, ...problem })
}

/** Answers with problem details (RFC 9457). */
export function answerProblem(res: Response, problem: Problem): void {
  exposeHeaders(res)
  res.status(problem.status)
  res.set({ 'Cache-Control': 'no-store', 'Content-Type': PROBLEM_JSON })
  res.end(JSON.stringify(problemDetails(problem)))
}

/** Tells the client what became of its payment, beside whatever else is answered. */
export function setPaymentResponse(res: Response, settlement: SettleResponse): void {
  res.set(paymentResponse(settlement))
  exposeHeaders(res)
}

/** The headers that tell what became of a payment. */
export function paymentResponse(settlement: SettleResponse): Readonly<Record<string, string>> {
  const value = encodeHeader(settlement)
  return { [PAYMENT_RESPONSE]: value, [X_PAYMENT_RESPONSE]: value }
}

const EXPOSE_HEADERS = 'Access-Control-Expose-Headers'
const ALL_EXPOSED = EXPOSED_HEADERS.join(', ')

/** Lets browsers read our headers, beside those that the app exposes already. */
function exposeHeaders(res: Response): void {
  const value = res.getHeader(EXPOSE_HEADERS)
  if (value === undefined) {
    res.setHeader(EXPOSE_HEADERS, ALL_EXPOSED)
    return
  }
  const exposed = String(value)
    .split(',')
    .map((header) => header.trim())
    .filter(Boolean)
  const missing = EXPOSED_HEADERS.filter(
    (header) => !exposed.some((one) => one.toLowerCase() === header.toLowerCase()),
  )
  res.setHeader(EXPOSE_HEADERS, [...exposed, ...missing].join(', '))
}
