/** What a route costs: its declared price, the prices before it, and what is charged of a maximum. */
import { ConfigError, isConfigError } from '../../shared/errors.js'
import { hashOf } from '../../ledger/purchase.js'
import type { Merchant } from '../../core/merchants/project.js'
import { formatDecimal } from '../../shared/money/decimal.js'
import { parsePrice, type ParsedPrice, type Price } from '../../shared/money/price.js'
import type { AppliedRate } from '../../shared/money/rates.js'
import { checkSmallest } from './checked-price.js'
import { Meter, type MeteredPayment, type MeteredResponse } from './up-to-charge.js'
import type { PriceFunction, RouteOptions } from './options.js'
import { readPriceRange, requireWithin, type PriceRange } from './price-range.js'
import type { RequestView } from './request-view.js'
import { nameOfRoute } from './route-warnings.js'
import { checkDefaultCharge, checkFlow, type ReadPrice } from './up-to-price.js'

export interface AskedPrice {
  readonly price: ParsedPrice
  readonly askedPrice: string
}

/** The declared price of a function, in records and quotes. */
const FUNCTION = 'function'

export class RoutePrices {
  /** Whether the price is the most that may be charged. */
  readonly isMaximum: boolean
  /** That of a price function; `undefined` if it names none. */
  readonly range: PriceRange | undefined
  readonly #merchant: Merchant
  readonly #options: RouteOptions
  readonly #declared: PriceFunction | AskedPrice
  readonly #earlier: readonly string[]
  /** What is charged of a maximum if the handler does not say it. */
  readonly #defaultCharge: ParsedPrice | undefined

  /** @throws `ConfigError` for a price that cannot work. */
  constructor({ price, maximum }: ReadPrice, merchant: Merchant, options: RouteOptions) {
    this.#merchant = merchant
    this.#options = options
    this.isMaximum = maximum !== undefined
    if (this.isMaximum) checkFlow(options)
    this.range = readPriceRange(options.priceRange, { price }, merchant.currency)
    this.#defaultCharge = this.#parseDefault(maximum?.defaultCharge)
    this.#declared = typeof price === 'function' ? price : this.#read(price)
    const { currency: defaultCurrency } = merchant
    this.#earlier = (options.earlierPrices ?? []).map((one) =>
      priceName(parsePrice(one, { defaultCurrency, option: 'earlierPrices' })),
    )
  }

  /** The price; `undefined` if it depends on the request. */
  get fixed(): AskedPrice | undefined {
    return typeof this.#declared === 'function' ? undefined : this.#declared
  }

  /** Names of the price and of those before it; `undefined` if it depends on the request. */
  get fixedNames(): readonly string[] | undefined {
    return this.fixed && [priceName(this.fixed.price), ...this.#earlier]
  }

  get hasEarlier(): boolean {
    return this.#earlier.length > 0
  }

  /** Asks what a request costs. @throws `ConfigError` for no price; and whatever a price function throws. */
  async ask(view: RequestView): Promise<AskedPrice> {
    const declared = this.#declared
    if (typeof declared !== 'function') return declared
    const returned = await declared(view.req)
    try {
      const asked = this.#read(returned)
      requireWithin(asked.price, this.range)
      return asked
    } catch (error) {
      if (!isConfigError(error)) throw error
      const name = `${nameOfRoute(view)}: its price function ${declared.name}`.trimEnd()
      throw new ConfigError(
        error.issues.map((issue) => ({
          ...issue,
          message: `${name} returned this: ${issue.message}`,
        })),
      )
    }
  }

  /**
   * The declared price that a payment buys at: that which its quote or its record names, if it is the route's own or
   * one of `earlierPrices`; else its own. An app may choose between routes by anything in a request.
   */
  nameFor(view: RequestView, named?: string): string {
    if (named !== undefined && this.#earlier.includes(named)) return named
    if (this.fixed !== undefined) return priceName(this.fixed.price)
    const quotedFor = this.#quotedFor(view)
    return quotedFor === undefined ? FUNCTION : `${FUNCTION} ${hashOf(quotedFor)}`
  }

  /** Opens the meter of a payment; `undefined` if the price is fixed. */
  openMeter(res: MeteredResponse, payment: MeteredPayment): Meter | undefined {
    if (!this.isMaximum) return undefined
    return new Meter(payment, { res, merchant: this.#merchant, defaultCharge: this.#defaultCharge })
  }

  #quotedFor(view: RequestView): string | undefined {
    if (this.#options.quoteFor === undefined) return undefined
    const quotedFor: unknown = this.#options.quoteFor(view.req)
    if (typeof quotedFor === 'string') return quotedFor
    throw new ConfigError(
      'quoteFor',
      `must return a string, at ${nameOfRoute(view)}`,
      'invalid_type',
    )
  }

  #parseDefault(charge: Price | undefined): ParsedPrice | undefined {
    if (charge === undefined) return undefined
    const option = 'defaultCharge'
    const { currency: defaultCurrency } = this.#merchant
    const parsed = parsePrice(charge, { defaultCurrency, allowFree: true, option })
    checkSmallest(parsed, this.#merchant, option)
    return parsed
  }

  #read(value: Price): AskedPrice {
    const { allowFree = false } = this.#options
    const price = parsePrice(value, { defaultCurrency: this.#merchant.currency, allowFree })
    checkSmallest(price, this.#merchant)
    checkDefaultCharge(this.#defaultCharge, price, this.#merchant)
    return { price, askedPrice: askedPriceOf(value, price) }
  }
}

export function ratedPriceOf(applied: AppliedRate | undefined): string | undefined {
  return applied && `${applied.price} ${applied.currency}`
}

/** The name of a price, however it is written. */
function priceName(price: ParsedPrice): string {
  return price.kind === 'asset'
    ? `${price.amount} units of ${price.asset}`
    : `${formatDecimal(price.amount)} ${price.currency}`
}

/** The same, of what access is bought at: a token has its symbol on several networks. */
export function accessPriceName(price: ParsedPrice): string {
  return price.kind === 'asset' ? `${priceName(price)} on ${price.network}` : priceName(price)
}

/** Writes a price as the developer did, with the merchant's currency if it names none. */
function askedPriceOf(price: Price, parsed: ParsedPrice): string {
  if (typeof price === 'string' && /[^\d.,\s]/.test(price)) return price.trim()
  return priceName(parsed)
}
