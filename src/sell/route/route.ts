import type { AdvertisedPrice } from '../discovery/declared-routes.js'
import { chooseMerchant } from '../../core/merchants/choose-merchant.js'
import type { Merchant } from '../../core/merchants/project.js'
import type { PaymentFlow } from '../../shared/protocol/payment.js'
import { openPaywall, type PaywallContext } from '../paywall/paywall.js'
import { checkValidity, DEFAULT_MAX_HELD_BYTES, type RouteOptions } from './options.js'
import type { PaymentDialect } from './payment-dialect.js'
import { RouteOffers, type OffersContext } from './make-offer.js'
import { RouteSignIn, type SignInContext } from '../sign-in/route-sign-in.js'
import { RoutePrices } from './route-prices.js'
import { RouteResource, type ResourceContext } from './route-resource.js'
import { RouteWarnings } from './route-warnings.js'
import { readDeclaredPrice, type DeclaredPrice } from './up-to-price.js'
import { Version1 } from './version-1.js'
import { Version2 } from './version-2.js'

export interface RouteContext extends OffersContext, ResourceContext, PaywallContext {
  readonly merchants: ReadonlyMap<string, Merchant>
  /** Warnings of the declared route. @defaultValue none yet */
  readonly warnings?: RouteWarnings | undefined
  readonly signIns: SignInContext
}

/** A route that charges. Everything that does not depend on a request is checked and prepared. */
export class PaidRoute {
  readonly merchant: Merchant
  readonly options: RouteOptions
  readonly prices: RoutePrices
  readonly offers: RouteOffers
  readonly warnings: RouteWarnings
  readonly paymentFlow: PaymentFlow
  readonly maxHeldBytes: number
  readonly chargeIf: RouteOptions['chargeIf']
  /** Those in which it is paid, the first choice first. */
  readonly dialects: readonly PaymentDialect[]
  /** `undefined` if it asks nobody to sign in. */
  readonly signIn: RouteSignIn | undefined

  /** @throws `ConfigError` for options or a price that cannot work. */
  constructor(context: RouteContext, declared: DeclaredPrice, options: RouteOptions = {}) {
    const price = readDeclaredPrice(declared)
    const merchant = chooseMerchant(context.merchants, options.merchant)
    checkValidity(options, merchant)
    const { formats } = context.facilitator
    const version2 = new Version2(formats)
    const isOpen = options.v1 ?? merchant.v1
    const dialects = isOpen ? [new Version1(merchant, formats), version2] : [version2]
    const paywall = openPaywall(context, merchant, options.paywall)
    const prices = new RoutePrices(price, merchant, options)
    const warnings = context.warnings ?? new RouteWarnings(context.logger, options.description)
    const resource = new RouteResource(context, options, warnings)
    const parts = { merchant, options, prices, resource, warnings, paywall, dialects }
    this.merchant = merchant
    this.options = options
    this.prices = prices
    this.offers = new RouteOffers(context, parts)
    this.warnings = warnings
    this.paymentFlow = options.paymentFlow ?? 'authorization'
    this.maxHeldBytes = options.maxHeldBytes ?? DEFAULT_MAX_HELD_BYTES
    this.chargeIf = options.chargeIf
    this.dialects = dialects
    const knowsCallers = options.signIn === true || options.access !== undefined
    this.signIn = knowsCallers ? new RouteSignIn(context.signIns, parts) : undefined
  }

  get advertised(): AdvertisedPrice {
    const { isMaximum, fixed, range } = this.prices
    const terms = { seller: this.merchant.name, range, ...(isMaximum && { isMaximum }) }
    if (fixed === undefined) return terms
    const entries = this.offers.fixedQuotes?.map(({ entry }) => entry)
    return { price: fixed.price, entries, ...terms }
  }
}
