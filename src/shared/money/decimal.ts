/**
 * An exact decimal number that is not negative: `units / 10^scale`.
 *
 * @example
 * ```ts
 * import type { Decimal } from 'express-x402-gateway'
 *
 * // 1.08
 * const price: Decimal = { units: 108n, scale: 2 }
 * ```
 */
export interface Decimal {
  /** The number without its point. */
  readonly units: bigint
  /** Digits after the point, trailing zeros included. */
  readonly scale: number
}

/** No amount of money needs more. */
const MAX_DECIMAL_LENGTH = 100

const PLAIN_DECIMAL = /^(0|[1-9]\d*)(?:\.(\d+))?$/

/** Output of `toPrecision` for finite numbers that are not negative. */
const NUMBER_TEXT = /^(\d+)(?:\.(\d+))?(?:e([+-]\d+))?$/

/**
 * Parses digits with at most one point between them.
 *
 * Signs, exponents, spaces, separators and leading zeros are refused, so that each text has one
 * meaning. The scale stays as written: `1.50` has two digits after the point.
 */
export function parseDecimal(text: string): Decimal | undefined {
  if (text.length > MAX_DECIMAL_LENGTH) return undefined
  const match = PLAIN_DECIMAL.exec(text)
  if (match === null) return undefined
  const [, whole = '', fraction = ''] = match
  return { units: BigInt(whole + fraction), scale: fraction.length }
}

/** Every decimal keeps this many digits in a float. The rest is noise of arithmetic. */
const FLOAT_DIGITS = 15

/**
 * Reads a float by its first 15 digits, as the developer meant it: `0.1` is one tenth, and `0.1 + 0.2`
 * is three.
 *
 * @returns `undefined` for `NaN`, infinities and negative numbers.
 */
export function decimalFromNumber(value: number): Decimal | undefined {
  const match = NUMBER_TEXT.exec(value.toPrecision(FLOAT_DIGITS))
  if (match === null) return undefined
  const [, whole = '', fraction = '', exponent = '0'] = match
  const scale = fraction.length - Number(exponent)
  const units = BigInt(whole + fraction)
  if (scale >= 0) return trimDecimal({ units, scale })
  return { units: units * powerOfTen(-scale), scale: 0 }
}

/** Reads a decimal from its text or a float; `undefined` for any other value. */
export function readDecimal(value: unknown): Decimal | undefined {
  if (typeof value === 'number') return decimalFromNumber(value)
  return typeof value === 'string' ? parseDecimal(value) : undefined
}

export function add(a: Decimal, b: Decimal): Decimal {
  const scale = Math.max(a.scale, b.scale)
  return { units: ceilToUnits(a, scale) + ceilToUnits(b, scale), scale }
}

export function multiply(a: Decimal, b: Decimal): Decimal {
  return { units: a.units * b.units, scale: a.scale + b.scale }
}

/** Compares by value: `1.5` and `1.50` are equal. */
export function compare(a: Decimal, b: Decimal): -1 | 0 | 1 {
  const scale = Math.max(a.scale, b.scale)
  const [left, right] = [ceilToUnits(a, scale), ceilToUnits(b, scale)]
  if (left === right) return 0
  return left < right ? -1 : 1
}

/**
 * Counts a value in units of `10^-decimals`, rounding up.
 *
 * @param decimals - 6 for USDC.
 */
export function ceilToUnits(value: Decimal, decimals: number): bigint {
  if (value.scale <= decimals) return value.units * powerOfTen(decimals - value.scale)
  return divideUp(value.units, powerOfTen(value.scale - decimals))
}

/** Divides, rounding up. Neither integer may be negative. */
export function divideUp(dividend: bigint, divisor: bigint): bigint {
  return (dividend + divisor - 1n) / divisor
}

export function powerOfTen(exponent: number): bigint {
  return 10n ** BigInt(exponent)
}

/** Drops trailing zeros of the fraction. */
export function trimDecimal({ units, scale }: Decimal): Decimal {
  while (scale > 0 && units % 10n === 0n) {
    units /= 10n
    scale -= 1
  }
  return { units, scale }
}

/** Writes a value with as many digits after the point as its scale. */
export function formatDecimal({ units, scale }: Decimal): string {
  if (scale === 0) return units.toString()
  const digits = units.toString().padStart(scale + 1, '0')
  return `${digits.slice(0, -scale)}.${digits.slice(-scale)}`
}
