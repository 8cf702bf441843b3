import type { Bazaar } from '../../core/catalogue/bazaar.js'
import type { FacilitatorError, RateError } from '../../shared/errors.js'
import type { Quote } from '../../core/quotes/quote.js'
import type { QuoteSigner } from '../../core/quotes/signed-quote.js'
import type { ReceiptIssuer } from '../../shared/crypto/offer-receipt.js'
import type { ParsedPrice } from '../../shared/money/price.js'
import type { PaymentRequirements, ResourceInfo } from '../../shared/protocol/payment.js'
import type { SignInExtension } from '../../shared/protocol/sign-in.js'
import type { Paywall } from '../paywall/paywall.js'
import type { PaymentDialect } from './payment-dialect.js'

export interface Offer {
  readonly resource: ResourceInfo
  readonly accepts: readonly PaymentRequirements[]
  /** What the resource takes and gives; `undefined` if its route declares nothing. */
  readonly bazaar?: Bazaar | undefined
  /** What a caller may sign to be known; `undefined` if the route knows nobody. */
  readonly signIn?: SignInExtension | undefined
  /** Why its caller is not known. @defaultValue nobody has tried to sign in, or has to */
  readonly unsigned?: { readonly error: string; readonly message?: string } | undefined
  /** The same entries, with the rates that were applied. */
  readonly quotes: readonly Quote[]
  /** The price as the route asks for it: `$0.01`. */
  readonly askedPrice?: string | undefined
  readonly price?: ParsedPrice | undefined
  /** The page that shows the offer to browsers; `undefined` if they get JSON. */
  readonly paywall?: Paywall | undefined
  /** Those in which it is made, and may be paid. */
  readonly dialects: readonly PaymentDialect[]
  /** As that of {@link SigningContext}. */
  readonly issuer?: ReceiptIssuer | undefined
  /** Called with the length of the `PAYMENT-REQUIRED` header that this offer was written into. */
  readonly onWritten?: ((headerBytes: number) => void) | undefined
  /** Called when what was paid for is about to go out, with the entry that was paid. */
  readonly onSold?: ((entry: PaymentRequirements) => void) | undefined
  /** Why nothing can be quoted now. Earlier quotes are still honoured. */
  readonly failure?: RateError | FacilitatorError | undefined
}

export function offerOf(
  resource: ResourceInfo,
  quotes: readonly Quote[],
  failure?: Offer['failure'],
): Pick<Offer, 'resource' | 'accepts' | 'quotes' | 'failure'> {
  return { resource, accepts: quotes.map(({ entry }) => entry), quotes, failure }
}

/** The offer of a 402 after this payment. What cannot be quoted now is offered as it was before. */
export function offerAgain(offer: Offer, entry: PaymentRequirements): Offer {
  if (offer.failure === undefined) return offer
  const { failure: _failure, ...others } = offer
  return { ...others, ...offerOf(offer.resource, [{ entry }]) }
}

export interface SigningContext {
  readonly quotes: QuoteSigner
  /** Signs offers, and receipts for what they buy. @defaultValue neither is signed */
  readonly issuer?: ReceiptIssuer | undefined
  /** Milliseconds since the epoch. */
  readonly now: () => number
}
