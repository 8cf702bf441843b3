import { RateError } from '../../shared/errors.js'
import { compare, formatDecimal, type Decimal } from '../../shared/money/decimal.js'
import type { ParsedPrice } from '../../shared/money/price.js'
import { findAcceptedAsset, type Merchant } from '../merchants/project.js'

/** The amount of a price that is checked against a merchant's limits. */
interface FaceValue {
  readonly amount: Decimal
  /** ISO 4217, or the token's name in rates. */
  readonly currency: string
}

/**
 * The amount to check against a merchant's limits; `undefined` if nothing is limited.
 *
 * Tokens without a rate, whose value is unknown, and prices of zero, which are intended, have no limits.
 */
export function limitedValue(merchant: Merchant, price: ParsedPrice): FaceValue | undefined {
  if (merchant.minAmount === undefined && merchant.maxAmount === undefined) return undefined
  const value = faceValue(merchant, price)
  return value?.amount.units === 0n ? undefined : value
}

function faceValue(merchant: Merchant, price: ParsedPrice): FaceValue | undefined {
  if (price.kind === 'fiat') return price
  const asset = findAcceptedAsset(merchant, price)
  const currency = asset?.currency ?? asset?.rateSymbol
  if (asset === undefined || currency === undefined) return undefined
  return { amount: { units: price.amount, scale: asset.decimals }, currency }
}

/**
 * Checks an amount against a merchant's limits.
 *
 * @param amount - In the merchant's currency.
 * @throws {@link RateError} `amount_out_of_range`
 */
export function checkLimits({ minAmount, maxAmount, currency }: Merchant, amount: Decimal): void {
  if (minAmount !== undefined && compare(amount, minAmount) < 0)
    throw outOfRange(`at least ${formatDecimal(minAmount)} ${currency}`)
  if (maxAmount !== undefined && compare(amount, maxAmount) > 0)
    throw outOfRange(`at most ${formatDecimal(maxAmount)} ${currency}`)
}

function outOfRange(limit: string): RateError {
  return new RateError('amount_out_of_range', `This merchant takes ${limit} at once.`)
}
