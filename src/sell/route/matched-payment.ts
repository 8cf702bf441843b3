import { echoes } from '../../core/catalogue/bazaar.js'
import type { Counters } from '../../ledger/counters.js'
import { paymentFor, type Payment } from '../../shared/protocol/decoded-payment.js'
import { BAZAAR } from '../../shared/protocol/payment.js'
import { isReason } from '../../shared/protocol/reasons.js'
import { isRefusal } from '../../core/schemes/scheme.js'
import type { Exit } from '../flow/exits.js'
import { matchOffer, type MatchContext, type MatchedQuote } from './match-offer.js'
import type { Offer } from './offer.js'
import { NOT_PAID, type Asking } from './payment-required.js'
import { readPayment, type PaymentDialect, type PresentedPayment } from './payment-dialect.js'
import { ratedPriceOf } from './route-prices.js'
import type { RequestView } from './request-view.js'
import type { PaidRoute } from './route.js'
import type { DescribedPayment } from './route-records.js'

/** A payment that was read from a request and fits what its route asks. */
export interface MatchedPayment
  extends Payment, Omit<DescribedPayment, 'requirements'>, Pick<MatchedQuote, 'price'> {
  /**
   * Whether a price function asked another price then, which nobody signed: it buys the response that was
   * made for it then, and no handler runs for it. The function may depend on anything, for example on
   * what is in a cart by now.
   */
  readonly storedOnly: boolean
  readonly dialect: PaymentDialect
}

export type ReadPayment =
  | { readonly kind: 'matched'; readonly payment: MatchedPayment }
  | Extract<Exit, { kind: 'payment_required' }>

/**
 * Reads the payment of a request, and matches it with the route's offer.
 *
 * @throws `RateError` if the route has nothing to offer now, and nothing offered before is paid.
 */
export async function readMatchingPayment(
  context: MatchContext,
  asked: { readonly route: PaidRoute; readonly offer: Offer },
  view: RequestView,
): Promise<ReadPayment> {
  const { offer } = asked
  const askAgain = (asking: Asking, status?: 402 | 400): ReadPayment => {
    if (offer.failure !== undefined) throw offer.failure
    return { kind: 'payment_required', offer, ...asking, status }
  }
  const presented = await readPayment(offer.dialects, view)
  if (presented === undefined) return askAgain(offer.unsigned ?? { error: NOT_PAID })
  switch (presented.kind) {
    case 'unreadable':
      return askAgain({ error: presented.problem }, 400)
    case 'other_version':
      return askAgain({ error: 'invalid_x402_version' })
    case 'refused':
      return askAgain({ error: presented.error, message: presented.message })
    case 'payment': {
      const { decoded, accepted, network, dialect } = presented
      if (!(await keepsEcho(context, offer, presented)))
        return askAgain({ error: 'extension_echo_mismatch' })
      const quote = await matchOffer(context, asked, { view, decoded, accepted })
      if (isRefusal(quote)) return askAgain({ error: quote.refused, message: quote.message })
      const { entry, applied, price, redeemOnly = false, storedOnly = false } = quote
      const payment = paymentFor(decoded, { ...entry, network: network ?? entry.network })
      const found = { askedPrice: askedPriceOf(offer, quote), price, redeemOnly, storedOnly }
      return { kind: 'matched', payment: { ...payment, appliedRate: applied, ...found, dialect } }
    }
  }
}

/**
 * Whether a payment sends back what the offer says about the resource, or nothing of it. A payment that was
 * taken may have had an older offer.
 */
async function keepsEcho(
  { ledger }: MatchContext,
  { bazaar }: Offer,
  { decoded, accepted }: Extract<PresentedPayment, { kind: 'payment' }>,
): Promise<boolean> {
  const echoed = decoded.payload.extensions?.[BAZAAR]
  if (bazaar === undefined || echoed === undefined || echoes(bazaar, echoed)) return true
  const { key } = paymentFor(decoded, accepted)
  return key !== undefined && (await ledger.payments.find(key)) !== undefined
}

/** A price may have changed since a quote was signed. */
function askedPriceOf({ askedPrice }: Offer, { entry, applied }: MatchedQuote): string | undefined {
  if (entry.extra?.['quote'] === undefined) return askedPrice
  return ratedPriceOf(applied)
}

/** Counts a request without a payment, or with one that is not for this route. */
export function countUnmatched(
  counters: Counters,
  { merchant: { project } }: PaidRoute,
  { error, offer }: Extract<ReadPayment, { kind: 'payment_required' }>,
): void {
  if (error === NOT_PAID || error === offer.unsigned?.error) return counters.count(project, 'asked')
  counters.count(project, 'presented')
  // Other texts tell a developer what is wrong with the header.
  counters.count(project, 'refused', isReason(error) ? error : 'invalid_payload')
}
