import { ceilToUnits, compare, multiply, type Decimal } from './decimal.js'

const ONE: Decimal = { units: 1n, scale: 0 }

export interface Conversion {
  /** Price of one unit of the price's currency in the token's. @defaultValue 1 */
  readonly rate?: Decimal
  /** Surcharge in hundredths of a percent, an integer. @defaultValue 0 */
  readonly bufferBps?: number
}

/**
 * Converts a fiat price into atomic units of a token.
 *
 * `ceil(price × rate × (1 + bufferBps / 10⁴) × 10^decimals)`, in exact integers: never less than the
 * price, and less than one unit more.
 *
 * @param decimals - Digits of the token: 6 for USDC.
 */
export function tokenAmount(
  price: Decimal,
  decimals: number,
  { rate = ONE, bufferBps = 0 }: Conversion = {},
): bigint {
  const buffer = { units: 10_000n + BigInt(bufferBps), scale: 4 }
  return ceilToUnits(multiply(multiply(price, rate), buffer), decimals)
}

/**
 * Whether a price is above zero but below one atomic unit of a token. Rounding up would multiply it, so
 * declaring it is a mistake.
 */
export function isBelowOneUnit(price: Decimal, decimals: number, rate: Decimal = ONE): boolean {
  return price.units > 0n && compare(multiply(price, rate), { units: 1n, scale: decimals }) < 0
}
