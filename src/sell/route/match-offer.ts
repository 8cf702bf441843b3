import type { FacilitatorCore } from '../../core/facilitator/facilitator.js'
import { ledgerEntryOf } from '../../ledger/ledger-entry.js'
import type { LedgerStore } from '../../ledger/index.js'
import { isGoodOnEarlierTerms, whyAnotherPurchase } from '../../ledger/purchase.js'
import type { Quote } from '../../core/quotes/quote.js'
import type { QuoteTerms } from '../../core/quotes/signed-quote.js'
import {
  isReadable,
  paymentFor,
  type DecodedPayload,
} from '../../shared/protocol/decoded-payment.js'
import { sameHex } from '../../shared/protocol/hex.js'
import type { PaymentRequirements } from '../../shared/protocol/payment.js'
import { describeDifference, sameOffer, shown } from '../../shared/protocol/same-offer.js'
import { checkTerms, isRefusal, type Refusal } from '../../core/schemes/scheme.js'
import type { Offer, SigningContext } from './offer.js'
import { ratedPriceOf } from './route-prices.js'
import type { RequestView } from './request-view.js'
import type { PaidRoute } from './route.js'
import { purchaseOf } from './route-records.js'

export interface MatchContext extends SigningContext {
  readonly ledger: Pick<LedgerStore, 'payments' | 'refunds'>
  readonly facilitator: Pick<FacilitatorCore, 'formats'>
}

export interface OfferedPayment {
  readonly view: RequestView
  readonly decoded: DecodedPayload
  readonly accepted: PaymentRequirements
}

export interface MatchedQuote extends Quote {
  /** The declared price that it buys at, as records name it. */
  readonly price: string
  /** Whether it is no longer offered, and good only for a purchase that is already open. */
  readonly redeemOnly?: boolean
  /** Whether what it buys may be something else by now: as {@link MatchedPayment.storedOnly}. */
  readonly storedOnly?: boolean
}

interface Asked {
  readonly route: PaidRoute
  readonly offer: Offer
}

/** A signed quote that came with a payment; without terms where it was signed for something else. */
interface PresentedQuote {
  readonly signed: string
  readonly terms: QuoteTerms | undefined
}

interface QuotedPayment extends OfferedPayment {
  readonly quote: PresentedQuote | undefined
}

/**
 * Finds the quote that a payment was made for, or says why there is none.
 *
 * It is one of this offer, or one that was signed before and still holds, even if the price is
 * another one now; or the payment was taken in time, even if the merchant takes other terms now.
 */
export async function matchOffer(
  context: MatchContext,
  { route, offer }: Asked,
  presented: OfferedPayment,
): Promise<MatchedQuote | Refusal> {
  const { decoded, accepted } = presented
  if (!context.facilitator.formats.has(accepted.scheme)) return { refused: 'unsupported_scheme' }
  const mismatch = checkTerms(accepted, route.merchant)
  const { url: paidFor, argumentsHash } = decoded.payload.resource ?? {}
  if (paidFor !== undefined && !sameUrl(paidFor, offer.resource.url))
    return mismatch
      ? { refused: mismatch }
      : otherResource({ route, offer }, presented.view, paidFor)
  if (argumentsHash !== undefined && argumentsHash !== offer.resource.argumentsHash)
    return { refused: 'resource_mismatch', message: 'The payment is for other arguments.' }
  const quote = await readQuote(context, { route, offer }, presented)
  const current = mismatch
    ? { refused: mismatch }
    : matchCurrent(context, { route, offer }, { ...presented, quote })
  // An earlier price may come to the same amount.
  if (!isRefusal(current) && !route.prices.hasEarlier) return current
  return (await findEarlier(context, { route, offer }, { ...presented, quote })) ?? current
}

function matchCurrent(
  { now }: MatchContext,
  { route, offer }: Asked,
  { view, accepted, quote }: QuotedPayment,
): MatchedQuote | Refusal {
  if (quote === undefined) {
    const current = offer.quotes.find(({ entry }) => sameOffer(entry, accepted))
    return current ? { ...current, price: route.prices.nameFor(view) } : otherOffer(offer, accepted)
  }
  const { signed, terms } = quote
  const entry = route.offers.entryFor(accepted)
  if (terms === undefined || entry === undefined) return { refused: 'quote_mismatch' }
  const { applied, expiresAt } = terms
  const price = route.prices.nameFor(view, ratedPriceOf(applied))
  if (route.prices.fixed !== undefined && price !== ratedPriceOf(applied))
    return { refused: 'price_changed' }
  if (now() > expiresAt * 1000) return { refused: 'quote_expired' }
  return { entry: { ...entry, extra: { ...entry.extra, quote: signed } }, applied, price }
}

async function readQuote(
  { quotes }: MatchContext,
  { route, offer }: Asked,
  { view, accepted }: OfferedPayment,
): Promise<PresentedQuote | undefined> {
  const signed = accepted.extra?.['quote']
  if (typeof signed !== 'string') return undefined
  const request = route.offers.signedFor(view, offer.resource)
  return { signed, terms: request && (await quotes.read(signed, { request, entry: accepted })) }
}

/**
 * Finds the quote of a payment that was taken for this very resource when payee, token or rate were others, or at a
 * price that the route still lists.
 *
 * Its terms are those of its record. To a payment that the ledger does not know, they are worth nothing.
 */
async function findEarlier(
  { ledger }: MatchContext,
  { route, offer }: Asked,
  { view, decoded, accepted, quote }: QuotedPayment,
): Promise<MatchedQuote | Refusal | undefined> {
  const payment = paymentFor(decoded, accepted)
  if (!isReadable(payment)) return undefined
  const record = await ledger.payments.find(payment.key)
  const { project } = route.merchant
  const price = route.prices.nameFor(view, record?.purchase?.price)
  const purchase = purchaseOf(view, { url: offer.resource.url, price }, decoded)
  const entry = ledgerEntryOf(payment, { project, purchase })
  if (!isGoodOnEarlierTerms(record, entry))
    return record && whyAnotherPurchase(record, entry) === 'price_changed'
      ? { refused: 'price_changed' }
      : undefined
  const { askedPrice } = offer
  const asksTheSame = askedPrice !== undefined && askedPrice === record.details?.askedPrice
  const sellsTheSame = quote
    ? quote.terms !== undefined
    : route.prices.fixed !== undefined || asksTheSame
  return {
    entry: { ...accepted, payTo: record.payTo, amount: String(record.value) },
    applied: record.appliedRate,
    redeemOnly: true,
    storedOnly: !sellsTheSame,
    price,
  }
}

/**
 * A payment for another resource. Often it is the same one at another host or port, behind a proxy or in a
 * test: the developer is told, because the buyer can do nothing about it.
 */
function otherResource({ route, offer }: Asked, view: RequestView, paidFor: unknown): Refusal {
  const { url } = offer.resource
  if (isSamePath(paidFor, url)) route.warnings.warnOfOtherHost(view)
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
    refused: 'invalid_payment_requirements',
    message: nearest && describeDifference(accepted, nearest, 'the offer of this request'),
  }
}

function sameUrl(one: unknown, other: string): boolean {
  if (one === other) return true
  if (typeof one !== 'string' || !URL.canParse(one) || !URL.canParse(other)) return false
  return new URL(one).href === new URL(other).href
}
