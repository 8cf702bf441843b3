import type { Request } from 'express'
import {
  authorizationKey,
  lowerHex,
  parseAuthorization,
} from '../schemes/exact-evm/authorization.js'
import { checkTerms, sameOffer } from '../schemes/exact-evm/verify/checks.js'
import type { PurchaseTerms } from '../schemes/scheme.js'
import { entryOf } from '../schemes/exact-evm/purchase.js'
import type { LedgerStore } from '../ledger/ledger.js'
import { isSamePurchase } from '../ledger/purchase.js'
import type { Quote } from '../merchants/quote.js'
import { findNetwork } from '../protocol/networks.js'
import { EXACT, parseExactEvmPayload } from '../protocol/payment.js'
import type { PaymentPayload, PaymentRequirements } from '../protocol/payment.js'
import type { Reason } from '../protocol/reasons.js'
import { pricedMethod, quotedRequest, type Offer, type SigningContext } from './offer.js'
import type { PaidRoute } from './route.js'

/** What matching a payment takes of its gateway. */
export interface MatchContext extends SigningContext {
  readonly ledger: Pick<LedgerStore, 'find'>
}

/** A payment that is presented for an offer. */
export interface PresentedPayment {
  readonly req: Request
  readonly payload: PaymentPayload
  readonly accepted: PaymentRequirements
}

/** The quote that a payment was made for. */
export interface MatchedQuote extends Quote {
  /** Whether it has expired, and what was paid by it in time is all that it is good for. */
  readonly redeemOnly?: boolean
}

/** What a payment is held against. */
interface Asked {
  readonly route: PaidRoute
  readonly offer: Offer
}

/**
 * Finds the quote that a payment was made for, or says why there is none.
 *
 * One of this offer, or one that was signed before and still holds, whatever the price is now.
 */
export async function matchOffer(
  context: MatchContext,
  { route, offer }: Asked,
  presented: PresentedPayment,
): Promise<MatchedQuote | Reason> {
  const { payload, accepted } = presented
  if (accepted.scheme !== EXACT) return 'unsupported_scheme'
  const mismatch = checkTerms(accepted, route.merchant)
  if (mismatch !== undefined) return mismatch
  const paidFor = payload.resource?.['url']
  if (paidFor !== undefined && !sameUrl(paidFor, offer.resource.url)) return 'resource_mismatch'
  const signed = accepted.extra?.['quote']
  if (typeof signed === 'string')
    return honourQuote(context, { route, offer }, { ...presented, signed })
  return offer.quotes.find(({ entry }) => sameOffer(entry, accepted)) ?? 'accepted_mismatch'
}

async function honourQuote(
  { quotes, now, ledger }: MatchContext,
  { route, offer }: Asked,
  { req, payload, accepted, signed }: PresentedPayment & { readonly signed: string },
): Promise<MatchedQuote | Reason> {
  const request = quotedRequest(req, offer.resource, route.quoteFor(req))
  const terms = request && (await quotes.read(signed, { request, entry: accepted }))
  if (terms === undefined) return 'quote_mismatch'
  // What was paid for in time is redeemed at any time.
  const redeemOnly = now() > terms.expiresAt * 1000
  const url = offer.resource.url
  const presented = { payload, accepted, project: route.merchant.project }
  if (redeemOnly && !(await isKnown(ledger, presented, { method: pricedMethod(req), url })))
    return 'quote_expired'
  const entry = route.entryFor(accepted)
  return {
    entry: { ...entry, extra: { ...entry.extra, quote: signed } },
    applied: terms.applied,
    redeemOnly,
  }
}

/**
 * Tells whether a payment was taken for this very purchase, and can still be redeemed for it.
 *
 * One whose transaction failed was not: its quote would hold for as long as the authorization.
 */
async function isKnown(
  ledger: MatchContext['ledger'],
  { payload, accepted, project }: KnownPayment,
  purchase: PurchaseTerms,
): Promise<boolean> {
  const wire = parseExactEvmPayload(payload.payload)
  const chainId = findNetwork(accepted.network)?.chainId
  if (!wire.ok || chainId === undefined) return false
  const authorization = parseAuthorization(wire.value.authorization)
  const key = authorizationKey(authorization, { chainId, asset: lowerHex(accepted.asset) })
  const record = await ledger.find(key)
  if (record === undefined || record.state === 'failed') return false
  if (record.paidLate && !record.delivered) return false
  const terms = { payTo: authorization.to, accepts: [], project, purchase }
  return isSamePurchase(record, entryOf({ payload, terms, authorization, key }))
}

/** A payment that may be in the ledger. */
interface KnownPayment {
  readonly payload: PaymentPayload
  readonly accepted: PaymentRequirements
  readonly project: string
}

function sameUrl(one: unknown, other: string): boolean {
  if (one === other) return true
  if (typeof one !== 'string' || !URL.canParse(one) || !URL.canParse(other)) return false
  return new URL(one).href === new URL(other).href
}
