/** What the ledger records of a payment: what it buys, its details, and the merchant's terms. */
import { ConfigError } from '../../shared/errors.js'
import { isReference, NOT_A_REFERENCE } from '../../ledger/payment-details.js'
import { findAcceptedAsset } from '../../core/merchants/project.js'
import type { AppliedRate } from '../../shared/money/rates.js'
import type { DecodedPayload } from '../../shared/protocol/decoded-payment.js'
import type { PaymentRequirements } from '../../shared/protocol/payment.js'
import { sameHex } from '../../shared/protocol/hex.js'
import { sameNetwork } from '../../shared/protocol/networks.js'
import type { MerchantTerms, PurchaseTerms } from '../../core/schemes/scheme.js'
import { bodyFingerprint } from './body-fingerprint.js'
import type { RouteOptions } from './options.js'
import type { Offer } from './offer.js'
import { pricedMethod, type RequestView } from './request-view.js'
import { accessPriceName, ratedPriceOf } from './route-prices.js'
import type { PaidRoute } from './route.js'

export interface DescribedPayment {
  readonly requirements: PaymentRequirements
  /** How its amount came about, if a rate was applied. */
  readonly appliedRate: AppliedRate | undefined
  /** Whether its terms do not hold any more, so that it is good only for a purchase that is already open. */
  readonly redeemOnly: boolean
  /** The price as it was asked; unknown for an earlier quote without an applied rate. */
  readonly askedPrice: string | undefined
}

export type RequestedPurchase = Pick<PurchaseTerms, 'method' | 'url' | 'route' | 'price' | 'body'>

/** The purchase of a payment. What was charged for one body does not pay for the answer to another. */
export function purchaseOf(
  view: RequestView,
  asked: Pick<RequestedPurchase, 'url' | 'price'>,
  { format }: Pick<DecodedPayload, 'format'>,
): RequestedPurchase {
  const bought = { method: pricedMethod(view), route: view.soldAt, ...asked }
  if (view.argumentsHash !== undefined) return { ...bought, body: view.argumentsHash }
  return format?.bindsBody === true ? { ...bought, body: bodyFingerprint(view) } : bought
}

interface Presented {
  readonly view: RequestView
  readonly bought: RequestedPurchase
  readonly payment: DescribedPayment
  /** What the request costs now. */
  readonly offer?: Pick<Offer, 'price' | 'askedPrice' | 'accepts'> | undefined
}

/** The merchant's terms, for one purchase. @throws `ConfigError` */
export function termsOf(
  {
    merchant,
    options,
    prices,
    signIn,
  }: Pick<PaidRoute, 'merchant' | 'options' | 'prices' | 'signIn'>,
  { view, bought, payment, offer }: Presented,
): MerchantTerms {
  const { redeemWithoutProof = merchant.redeemWithoutProof, paymentFlow } = options
  // With `upfront`, the authorization need not outlive the handler.
  const { minValiditySeconds = paymentFlow === 'upfront' ? 0 : undefined } = options
  const { appliedRate, redeemOnly, requirements, askedPrice } = payment
  const paid = prices.fixed === undefined ? functionPriceOf(payment, offer) : bought.price
  const access = signIn?.accessOf(view, paid)
  const purchase = { ...bought, client: view.ip, redeemOnly, access }
  const { decimals } = findAcceptedAsset(merchant, requirements) ?? {}
  const details = { reference: referenceOf(options, view), route: view.route, decimals, askedPrice }
  return { appliedRate, details, purchase, ...merchant, redeemWithoutProof, minValiditySeconds }
}

/** Names the price at which a payment was asked by a function; `undefined` if it has changed, and the quote does not name it. */
function functionPriceOf(
  { requirements, appliedRate }: DescribedPayment,
  { price, askedPrice, accepts }: NonNullable<Presented['offer']> = { accepts: [] },
): string | undefined {
  if (appliedRate !== undefined) return ratedPriceOf(appliedRate)
  // Where no rate was known, what is offered again is the payment's own entry.
  if (price === undefined || askedPrice === undefined) return undefined
  const isCurrent = accepts.some(
    ({ network, asset, amount }) =>
      sameNetwork(network, requirements.network) &&
      sameHex(asset, requirements.asset) &&
      amount === requirements.amount,
  )
  return isCurrent ? accessPriceName(price) : undefined
}

/**
 * Names a payment as the merchant does, by the route's option `reference`.
 *
 * @throws `ConfigError` if its function returns anything else than a reference.
 */
function referenceOf({ reference }: RouteOptions, view: RequestView): string | undefined {
  if (typeof reference !== 'function') return reference
  const named: unknown = reference(view.req)
  if (isReference(named)) return named
  throw new ConfigError(
    'reference',
    `returned a value that is none: it ${NOT_A_REFERENCE}`,
    'invalid_value',
  )
}
