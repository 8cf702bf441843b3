import type { Request } from 'express'
import type { FacilitatorCore } from '../facilitator/facilitator.js'
import { ledgerEntryOf } from '../ledger/ledger-entry.js'
import type { LedgerStore } from '../ledger/ledger.js'
import { isSamePurchase } from '../ledger/purchase.js'
import type { Quote } from '../merchants/quote.js'
import { isAuthorized, paymentFor, type DecodedPayload } from '../protocol/decoded-payment.js'
import { sameHex } from '../protocol/hex.js'
import type { PaymentRequirements } from '../protocol/payment.js'
import { describeDifference, sameOffer, shown } from '../protocol/same-offer.js'
import { checkTerms, type PurchaseTerms, type Refusal } from '../schemes/scheme.js'
import { pricedMethod, type Offer, type SigningContext } from './offer.js'
import type { PaidRoute } from './route.js'

/** What matching a payment needs from its gateway. */
export interface MatchContext extends SigningContext {
  readonly ledger: Pick<LedgerStore, 'find'>
  readonly facilitator: Pick<FacilitatorCore, 'formats'>
}

/** A payment that is presented for an offer. */
export interface OfferedPayment {
  readonly req: Request
  readonly decoded: DecodedPayload
  readonly accepted: PaymentRequirements
}

/** The quote that a payment was made for. */
export interface MatchedQuote extends Quote {
  /** Whether it has expired: then it is good only for what was paid by it in time. */
  readonly redeemOnly?: boolean
  /** Whether it was an earlier price that nobody signed: as {@link MatchedPayment.storedOnly}. */
  readonly storedOnly?: boolean
}

/** What a payment is compared with. */
interface Asked {
  readonly route: PaidRoute
  readonly offer: Offer
}

/**
 * Finds the quote that a payment was made for, or says why there is none.
 *
 * It is one of this offer, or one that was signed before and still holds, whatever the price is now.
 */
export async function matchOffer(
  context: MatchContext,
  { route, offer }: Asked,
  presented: OfferedPayment,
): Promise<MatchedQuote | Refusal> {
  const { decoded, accepted } = presented
  if (!context.facilitator.formats.has(accepted.scheme)) return { refused: 'unsupported_scheme' }
  const mismatch = checkTerms(accepted, route.merchant)
  if (mismatch !== undefined) return { refused: mismatch }
  const paidFor = decoded.payload.resource?.['url']
  if (paidFor !== undefined && !sameUrl(paidFor, offer.resource.url))
    return otherResource({ route, offer }, presented.req, paidFor)
  const signed = accepted.extra?.['quote']
  if (typeof signed === 'string')
    return honourQuote(context, { route, offer }, { ...presented, signed })
  return (
    offer.quotes.find(({ entry }) => sameOffer(entry, accepted)) ??
    (await findEarlier(context, { route, offer }, presented)) ??
    otherOffer(offer, accepted)
  )
}

/**
 * Finds the quote of a payment that was taken for this very resource when its price was another one.
 *
 * An earlier price is worth nothing to a payment that the ledger does not know.
 */
async function findEarlier(
  { ledger }: MatchContext,
  { route, offer }: Asked,
  { req, decoded, accepted }: OfferedPayment,
): Promise<MatchedQuote | undefined> {
  const entry = route.entryFor(accepted)
  const presented = { decoded, accepted, project: route.merchant.project }
  const purchase = { method: pricedMethod(req), url: offer.resource.url }
  if (entry === undefined || !(await isKnown(ledger, presented, purchase))) return undefined
  return { entry, redeemOnly: true, storedOnly: true }
}

/**
 * A payment for another resource. Often it is the same one at another host or port, behind a proxy or in a
 * test: the developer is told, because the buyer can do nothing about it.
 */
function otherResource({ route, offer }: Asked, req: Request, paidFor: unknown): Refusal {
  const { url } = offer.resource
  if (isSamePath(paidFor, url)) route.warnings.warnOfOtherHost(req)
  const named = typeof paidFor === 'string' ? shown(paidFor) : 'no URL'
  return {
    refused: 'resource_mismatch',
    message: `The offer is for ${shown(url)}, the payment for ${named}.`,
  }
}

function isSamePath(one: unknown, other: string): boolean {
  const [a, b] = [pathOf(one), pathOf(other)]
  return a !== undefined && a === b
}

function pathOf(url: unknown): string | undefined {
  if (typeof url !== 'string' || !URL.canParse(url)) return undefined
  const { pathname, search } = new URL(url)
  return pathname + search
}

function otherOffer({ accepts }: Offer, accepted: PaymentRequirements): Refusal {
  const nearest = accepts.find((entry) => sameHex(entry.asset, accepted.asset)) ?? accepts[0]
  return {
    refused: 'accepted_mismatch',
    message: nearest && describeDifference(accepted, nearest, 'the offer of this request'),
  }
}

async function honourQuote(
  { quotes, now, ledger }: MatchContext,
  { route, offer }: Asked,
  { req, decoded, accepted, signed }: OfferedPayment & { readonly signed: string },
): Promise<MatchedQuote | Refusal> {
  const request = route.quotedRequest(req, offer.resource)
  const terms = request && (await quotes.read(signed, { request, entry: accepted }))
  const entry = route.entryFor(accepted)
  if (terms === undefined || entry === undefined) return { refused: 'quote_mismatch' }
  // A payment that was made in time may be redeemed later.
  const redeemOnly = now() > terms.expiresAt * 1000
  const url = offer.resource.url
  const presented = { decoded, accepted, project: route.merchant.project }
  if (redeemOnly && !(await isKnown(ledger, presented, { method: pricedMethod(req), url })))
    return { refused: 'quote_expired' }
  return {
    entry: { ...entry, extra: { ...entry.extra, quote: signed } },
    applied: terms.applied,
    redeemOnly,
  }
}

/**
 * Tells whether a payment was taken for this very purchase, and can still be redeemed for it.
 *
 * A payment whose transaction failed cannot: its quote would hold for as long as the authorization.
 */
async function isKnown(
  ledger: MatchContext['ledger'],
  { decoded, accepted, project }: KnownPayment,
  purchase: PurchaseTerms,
): Promise<boolean> {
  const payment = paymentFor(decoded, accepted)
  if (!isAuthorized(payment)) return false
  const record = await ledger.find(payment.key)
  if (record === undefined || record.state === 'failed') return false
  if (record.paidLate && !record.delivered) return false
  return isSamePurchase(record, ledgerEntryOf(payment, { project, purchase }))
}

/** A payment that may be in the ledger. */
interface KnownPayment {
  readonly decoded: DecodedPayload
  readonly accepted: PaymentRequirements
  readonly project: string
}

function sameUrl(one: unknown, other: string): boolean {
  if (one === other) return true
  if (typeof one !== 'string' || !URL.canParse(one) || !URL.canParse(other)) return false
  return new URL(one).href === new URL(other).href
}
