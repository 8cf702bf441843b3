/** How prices are written in records and quotes. */
import { formatDecimal } from '../../shared/money/decimal.js'
import type { ParsedPrice, Price } from '../../shared/money/price.js'
import type { AppliedRate } from '../../shared/money/rates.js'

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
