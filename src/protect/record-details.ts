/** Details of a request, for the record of its payment. */
import type { Request } from 'express'
import { ConfigError } from '../errors.js'
import { isReference, NOT_A_REFERENCE, type PaymentDetails } from '../ledger/payment-details.js'
import { findAcceptedAsset, type Merchant } from '../merchants/project.js'
import { formatDecimal } from '../money/decimal.js'
import type { ParsedPrice, Price } from '../money/price.js'
import type { AppliedRate } from '../money/rates.js'
import type { PaymentRequirements } from '../protocol/payment.js'
import type { ProtectOptions } from './options.js'

/** A payment, as its terms and its record describe it. */
export interface DescribedPayment {
  readonly requirements: PaymentRequirements
  /** How its amount came about, if a rate was applied. */
  readonly appliedRate: AppliedRate | undefined
  /** Whether its terms do not hold any more, so that it is good only for a purchase that is already open. */
  readonly redeemOnly: boolean
  /** The price as it was asked; unknown for an earlier quote without an applied rate. */
  readonly askedPrice: string | undefined
}

/**
 * Names a payment as the merchant does, by the route's option `reference`.
 *
 * @throws `ConfigError` if its function returns anything else than a reference.
 */
export function referenceOf(
  { reference }: Pick<ProtectOptions, 'reference'>,
  req: Request,
): string | undefined {
  if (typeof reference !== 'function') return reference
  const named: unknown = reference(req)
  if (isReference(named)) return named
  throw new ConfigError(
    'reference',
    `returned a value that is none: it ${NOT_A_REFERENCE}`,
    'invalid_value',
  )
}

/** The details that the route knows. */
export function routeDetails(
  merchant: Merchant,
  req: Request,
  { requirements, askedPrice }: DescribedPayment,
): PaymentDetails {
  const { decimals } = findAcceptedAsset(merchant, requirements) ?? {}
  return { route: routeOf(req), decimals, askedPrice }
}

/** The pattern of the Express route, below the path that its router is mounted at. */
export function routeOf({ route, baseUrl }: Request): string | undefined {
  const { path } = (route ?? {}) as { readonly path?: unknown }
  return typeof path === 'string' ? baseUrl + path : undefined
}

/** The price that a rate was applied to. */
export function ratedPriceOf(applied: AppliedRate | undefined): string | undefined {
  return applied && `${applied.price} ${applied.currency}`
}

/** Writes a price as the developer did, with the merchant's currency if it names none. */
export function askedPriceOf(price: Price, parsed: ParsedPrice): string {
  if (typeof price === 'string' && /[^\d.,\s]/.test(price)) return price.trim()
  if (parsed.kind === 'asset') return `${parsed.amount} units of ${parsed.asset}`
  return `${formatDecimal(parsed.amount)} ${parsed.currency}`
}
