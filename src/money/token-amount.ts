import { ceilToUnits, compare, multiply, type Decimal } from './decimal.js'

const ONE: Decimal = { units: 1n, scale: 0 }

/** How a price becomes one in another currency. */
export interface Conversion {
  /** What one unit of the price's currency costs in the token's. @defaultValue 1 */
  readonly rate?: Decimal
  /** On top, in hundredths of a percent, whole ones. @defaultValue 0 */
  readonly bufferBps?: number
}

/**
 * Turns a fiat price into atomic units of a token.
 *
 * `ceil(price × rate × (1 + bufferBps / 10⁴) × 10^decimals)`, exact to the last step: never less
 * than the price, and less than one unit more.
 *
 * @param decimals - Of the token: 6 for USDC.
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
 * Tells whether a price is too fine for a token: more than nothing, yet less than one atomic unit.
 *
 * Such a price would cost a multiple of what it says once rounded up, so it is a mistake of who
 * declared it.
 */
export function isBelowOneUnit(price: Decimal, decimals: number, rate: Decimal = ONE): boolean {
  return price.units > 0n && compare(multiply(price, rate), { units: 1n, scale: decimals }) < 0
}
