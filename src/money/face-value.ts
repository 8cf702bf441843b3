import type { Asset } from './assets.js'
import { currencyDigits } from './currency.js'
import { formatDecimal, powerOfTen, trimDecimal } from './decimal.js'

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
  const { units: shortest, scale } = trimDecimal({ units, scale: decimals })
  // With the digits of the currency at least.
  const missing = Math.max(0, (currencyDigits(currency) ?? 0) - scale)
  const padded = { units: shortest * powerOfTen(missing), scale: scale + missing }
  return { price: formatDecimal(padded), currency }
}
