/** Details of a request, for the record of its payment. */
import type { Request } from 'express'
import { ConfigError } from '../../shared/errors.js'
import { findMounts } from '../discovery/express-routes.js'
import { isReference, NOT_A_REFERENCE, type PaymentDetails } from '../../ledger/payment-details.js'
import { findAcceptedAsset, type Merchant } from '../../core/merchants/project.js'
import { formatDecimal } from '../../shared/money/decimal.js'
import type { ParsedPrice, Price } from '../../shared/money/price.js'
import type { AppliedRate } from '../../shared/money/rates.js'
import type { PaymentRequirements } from '../../shared/protocol/payment.js'
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

/** Paths of the router of each Express route: as many as the app has. */
const mounts = new WeakMap<object, string | undefined>()

/** The pattern of the Express route, with the paths of its routers. */
export function routeOf(req: Request): string | undefined {
  const { path } = (req.route ?? {}) as { readonly path?: unknown }
  return typeof path === 'string' ? mountOf(req) + path : undefined
}

/** Names what sells a request: its route, or the path that a middleware is mounted at. */
export function soldAt(req: Request): string {
  return routeOf(req) ?? req.baseUrl + String(req.route?.path ?? '')
}

/** Express takes `baseUrl` away once a request is over, when a warning may still name its route. */
interface MountedRequest extends Pick<Request, 'route' | 'app'> {
  readonly baseUrl?: string | undefined
}

/** Where the router of a route is mounted; with the values of parameters, where its pattern cannot be read. */
function mountOf({ route, baseUrl = '', app }: MountedRequest): string {
  if (baseUrl !== '' && !mounts.has(route)) {
    const [mount, other] = findMounts(app, route)
    mounts.set(route, other === undefined ? mount : undefined)
  }
  const mount = mounts.get(route)
  // Express leaves the route of an earlier handler on the request of a later middleware.
  return mount?.split('/').length === baseUrl.split('/').length ? mount : baseUrl
}

/** The price that a rate was applied to. */
export function ratedPriceOf(applied: AppliedRate | undefined): string | undefined {
  return applied && `${applied.price} ${applied.currency}`
}

/** The name of a price, however it is written. */
export function priceName(price: ParsedPrice): string {
  return price.kind === 'asset'
    ? `${price.amount} units of ${price.asset}`
    : `${formatDecimal(price.amount)} ${price.currency}`
}

/** Writes a price as the developer did, with the merchant's currency if it names none. */
export function askedPriceOf(price: Price, parsed: ParsedPrice): string {
  if (typeof price === 'string' && /[^\d.,\s]/.test(price)) return price.trim()
  return priceName(parsed)
}
