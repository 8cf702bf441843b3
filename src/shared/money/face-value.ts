import type { Asset } from './assets.js'
import { currencyDigits } from './currency.js'
import { formatDecimal, parseDecimal, powerOfTen, trimDecimal, type Decimal } from './decimal.js'

/** A price in a currency (ISO 4217). */
export interface FaceValue {
  readonly price: string
  readonly currency: string
}

/**
 * The price that an amount of a pegged token was asked for, where no rate was applied: `15.00` of USD.
 *
 * @returns `undefined` for a token without a peg.
 */
export function faceValueOf(
  units: bigint,
  { decimals, currency }: Pick<Asset, 'decimals' | 'currency'>,
): FaceValue | undefined {
  if (currency === undefined) return undefined
  return { price: formatPrice({ units, scale: decimals }, currency), currency }
}

const PART_DIGITS = 6

/** The part of a price that a part of its amount was taken for, rounded to six digits after the point. */
export function partOfPrice(
  { price, currency }: FaceValue,
  { part, whole }: { readonly part: bigint; readonly whole: bigint },
): string {
  const { units, scale } = parseDecimal(price)!
  const divisor = 2n * whole * powerOfTen(scale)
  const rounded = (2n * units * part * powerOfTen(PART_DIGITS) + divisor / 2n) / divisor
  return formatPrice({ units: rounded, scale: PART_DIGITS }, currency)
}

/** Writes a price as short as it is, with the digits of its currency at least. */
function formatPrice(price: Decimal, currency: string): string {
  const { units, scale } = trimDecimal(price)
  const missing = Math.max(0, (currencyDigits(currency) ?? 0) - scale)
  return formatDecimal({ units: units * powerOfTen(missing), scale: scale + missing })
}
