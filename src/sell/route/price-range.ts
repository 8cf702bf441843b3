/** The range of a price from a function, as documents show it before anybody asks. */
import { ConfigError } from '../../shared/errors.js'
import { compare, formatDecimal, type Decimal } from '../../shared/money/decimal.js'
import { parsePrice, type ParsedPrice, type Price } from '../../shared/money/price.js'
import { isFree } from './checked-price.js'
import type { ReadPrice } from './up-to-price.js'

export interface PriceRange {
  readonly currency: string
  readonly min: Decimal
  readonly max: Decimal
}

const FORM = "must be the least and the most, in one currency, like ['$0.01', '$2.00']"

/** @throws `ConfigError` for anything but two prices of one currency, and beside a price that is fixed. */
export function readPriceRange(
  given: readonly Price[] | undefined,
  { price }: Pick<ReadPrice, 'price'>,
  defaultCurrency: string,
): PriceRange | undefined {
  if (given === undefined) return undefined
  const option = 'priceRange'
  if (typeof price !== 'function')
    throw new ConfigError(option, 'is for prices from a function: remove it', 'conflicting_options')
  const [min, max] = given.map((one) =>
    parsePrice(one, { defaultCurrency, allowFree: true, option }),
  )
  const isFiat = min?.kind === 'fiat' && max?.kind === 'fiat'
  const range = isFiat && { currency: min.currency, min: min.amount, max: max.amount }
  if (range && isWithin(range, max)) return range
  throw new ConfigError(option, FORM, 'invalid_price')
}

/** @throws `ConfigError` for a price that documents have not announced. What is free needs no announcement. */
export function requireWithin(price: ParsedPrice, range: PriceRange | undefined): void {
  if (range === undefined || isFree(price) || isWithin(range, price)) return
  const words = `${formatDecimal(range.min)} to ${formatDecimal(range.max)} ${range.currency}`
  throw new ConfigError('price', `is not within priceRange, ${words}`, 'invalid_price')
}

const isWithin = ({ currency, min, max }: PriceRange, price: ParsedPrice): boolean =>
  price.kind === 'fiat' &&
  price.currency === currency &&
  compare(min, price.amount) <= 0 &&
  compare(price.amount, max) <= 0
