import type { Response } from 'express'
import { PAYMENT_REQUIRED } from '../../shared/protocol/headers.js'
import { newOfferId, withOfferId } from '../../shared/protocol/offer-id.js'
import { paymentIdentifierExtensions } from '../../shared/protocol/payment-identifier.js'
import { sponsoringExtensions } from '../../shared/protocol/permit-sponsoring.js'
import { SIGN_IN_WITH_X } from '../../shared/protocol/sign-in.js'
import { writeChallenge, WWW_AUTHENTICATE } from '../../shared/protocol/mpp.js'
import { explainReason } from '../../shared/protocol/reason-words.js'
import {
  withProtocolVersion,
  X402_VERSION,
  type PaymentRequired,
} from '../../shared/protocol/payment.js'
import type { Offer } from './offer.js'
import { challengeIn, type Challenge } from './payment-dialect.js'
import { varyByAccept } from '../paywall/prefers-html.js'
import { exposeHeaders } from '../respond/respond.js'

/** The `error` of a 402 to a request that brought no payment. */
export const NOT_PAID = 'Payment required'

/** The entries of a 402, their resource, and what it says about it. */
export type AskedPayment = Pick<
  Offer,
  'resource' | 'accepts' | 'bazaar' | 'signIn' | 'dialects' | 'issuer'
>

export interface Asking {
  /** A reason, or text for the developer of the client. */
  readonly error: string
  /** A reason in words. @defaultValue what it always means */
  readonly message?: string | undefined
}

/**
 * Makes the document of a 402.
 *
 * @param offerId - Proves later that a payer received this very response.
 */
export function paymentRequired(
  { resource, accepts, bazaar, signIn, issuer }: Omit<AskedPayment, 'dialects'>,
  { error, message = explainReason(error) }: Asking,
  offerId = newOfferId(),
): PaymentRequired {
  return {
    x402Version: X402_VERSION,
    error,
    ...(message !== undefined && { errorMessage: message }),
    resource,
    accepts: withProtocolVersion(withOfferId(accepts, offerId)),
    extensions: {
      ...paymentIdentifierExtensions,
      ...sponsoringExtensions(accepts),
      ...(bazaar && { bazaar }),
      ...(signIn && { [SIGN_IN_WITH_X]: signIn }),
      ...(accepts.length > 0 && issuer?.signOffers(resource.url, accepts)),
    },
    protocolVersion: X402_VERSION,
  }
}

export interface AskedBecause extends Asking {
  /**
   * 400 if the payment header is unreadable. @defaultValue 402; 412 if the payer has yet to approve the token to
   * Permit2
   */
  readonly status?: AskingStatus | undefined
}

export type AskingStatus = 402 | 400 | 412

/** Asks for the payment of an offer: by a page if a browser is to show it, otherwise in JSON. */
export function askForPayment(
  res: Response,
  offer: Offer,
  { status: given, ...asking }: AskedBecause,
): void {
  // As official servers answer.
  const status = given ?? (asking.error === 'permit2_allowance_required' ? 412 : 402)
  const document = paymentRequired(offer, asking)
  const { paywall, price, quotes } = offer
  const { challenges = [], header, body, problem } = challengeIn(offer.dialects, document)
  const written = challenges.map(writeChallenge)
  if (written.length > 0) {
    // The app may ask for other credentials.
    res.appendHeader(WWW_AUTHENTICATE, written)
    exposeHeaders(res, [WWW_AUTHENTICATE])
  }
  if (paywall !== undefined) varyByAccept(res)
  if (paywall?.isWantedBy(res)) return paywall.respond(res, { document, price, quotes, status })
  // MPP's problem is about a 402.
  const isOfMpp = problem !== undefined && status === 402
  const whole = isOfMpp ? JSON.stringify({ ...problem, ...JSON.parse(body) }) : body
  const headerBytes = writePaymentRequired(res, { header, body: whole }, status)
  offer.onWritten?.(headerBytes + written.join('').length)
}

/**
 * Responds with a 402, or a 400: the document as the body, and encoded in the header.
 *
 * @returns The length of that header.
 */
export function writePaymentRequired(
  res: Response,
  { header: json, body }: Challenge,
  status: AskingStatus = 402,
): number {
  exposeHeaders(res)
  res.statusCode = status
  const header = Buffer.from(json).toString('base64')
  res.setHeader(PAYMENT_REQUIRED, header)
  res.setHeader('Cache-Control', 'no-store')
  res.setHeader('Content-Type', 'application/json; charset=utf-8')
  res.end(body)
  return header.length
}
