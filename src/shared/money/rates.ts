import type { Decimal } from './decimal.js'

/**
 * The price of one unit of a currency in another.
 *
 * @example
 * ```ts
 * import type { Rate } from 'express-x402-gateway'
 *
 * // One euro costs 1.08 dollars.
 * const rate: Rate = { rate: { units: 108n, scale: 2 }, asOf: Date.now() / 1000, source: 'bank' }
 * ```
 */
export interface Rate {
  /** Units of the quote currency for one unit of the base currency. */
  readonly rate: Decimal
  /** When the rate held, in Unix seconds. */
  readonly asOf: number
  /** Name of the source, for people: `fixed`. */
  readonly source: string
  /** Unix seconds after which the rate must not be used. @defaultValue no end */
  readonly until?: number | undefined
}

/**
 * A source of rates.
 *
 * @example
 * ```ts
 * import type { RateSource } from 'express-x402-gateway'
 *
 * const bank: RateSource = {
 *   async getRate(base, quote) {
 *     if (base !== 'EUR' || quote !== 'USD') return undefined
 *     return { rate: { units: 108n, scale: 2 }, asOf: Date.now() / 1000, source: 'bank' }
 *   },
 * }
 * ```
 */
export interface RateSource {
  /**
   * Finds a rate.
   *
   * @param base - Currency of the price (ISO 4217), or a token's name in rates.
   * @param quote - Currency of the token, or its name in rates.
   * @returns `undefined` if the source does not know this pair.
   * @throws {@link RateError} (`rate_unavailable`) if it knows the pair but has no rate now.
   */
  getRate(base: string, quote: string): Promise<Rate | undefined>
}

/** The conversion of a price into token units, stored with its payment. Numbers are plain decimals. */
export interface AppliedRate {
  /** The price, in units of `currency`. */
  readonly price: string
  /** Currency of the price (ISO 4217). */
  readonly currency: string
  /** Price of one unit of `currency` in the token's currency, without the merchant's buffer. */
  readonly rate: string
  /** When the rate held, in Unix seconds. */
  readonly asOf: number
  /** Name of the source of the rate. */
  readonly source: string
}
