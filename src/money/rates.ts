import type { Decimal } from './decimal.js'

/** What one unit of a currency costs in another. */
export interface Rate {
  /** Units of the quote currency for one unit of the base currency. */
  readonly rate: Decimal
  /** When the rate held, in Unix seconds. */
  readonly asOf: number
  /** Who says so, for people: `fixed`. */
  readonly source: string
  /** Unix seconds after which the source no longer stands by it. @defaultValue no end */
  readonly until?: number | undefined
}

/** Where rates come from. */
export interface RateSource {
  /**
   * Finds a rate.
   *
   * @param base - Currency of the price (ISO 4217), or what rates call a token.
   * @param quote - Currency of the token, or what rates call it.
   * @returns `undefined` where the source does not know this pair.
   * @throws {@link RateError} where it should know, but could not be asked.
   */
  getRate(base: string, quote: string): Promise<Rate | undefined>
}

/** How a price became token units, as it is kept with its payment. Numbers are plain decimals. */
export interface AppliedRate {
  /** Units of {@link currency}. */
  readonly price: string
  /** Of the price (ISO 4217). */
  readonly currency: string
  /** What one unit of the currency cost in the token's; the merchant's buffer comes on top. */
  readonly rate: string
  /** When the rate held, in Unix seconds. */
  readonly asOf: number
  /** Who said so. */
  readonly source: string
}
