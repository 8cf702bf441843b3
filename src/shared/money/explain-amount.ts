/** Error messages about amounts. */
import { visible } from '../protocol/visible-text.js'

/** Longest part of a value that a message repeats. */
const MAX_SHOWN_LENGTH = 60

/** Common mistakes, the likeliest first. */
const MISTAKES: ReadonlyArray<readonly [RegExp, string]> = [
  [/^$/, "it has no amount; write '0.01'"],
  [/,/, "write decimals with a point and thousands without a comma, e.g. '0.01' or '1000'"],
  [/^-/, 'it must not be negative'],
  [/^\+/, 'leave out the plus sign'],
  [/^\d[\d.]*e[+-]?\d+$/i, "write out the digits instead of an exponent, e.g. '1000'"],
  [/^\.\d+$/, "write the zero before the point, e.g. '0.5'"],
  [/^\d+\.$/, "leave out the point at the end, or write digits after it, e.g. '5.00'"],
  [/\..*\./, "it has two points; write thousands without separators, e.g. '1000.00'"],
  [/^0\d/, "leave out the leading zeros, e.g. '0.5'"],
  [/^\d+(\.\d+)?$/, 'it is too long'],
]

export function explainAmount(text: string, otherwise: string): string {
  const [, whole, cents] = /^(\d{1,15}),(\d{1,2})$/.exec(text) ?? []
  if (whole !== undefined) return `write decimals with a point, not a comma: '${whole}.${cents}'`
  const mistake = MISTAKES.find(([pattern]) => pattern.test(text))
  return mistake?.[1] ?? otherwise
}

export function showValue(value: unknown): string {
  if (typeof value === 'bigint') return `${value}n`.slice(0, MAX_SHOWN_LENGTH)
  if (typeof value !== 'string') return typeof value === 'number' ? `${value}` : typeOf(value)
  return `'${visible(value, MAX_SHOWN_LENGTH)}${value.length > MAX_SHOWN_LENGTH ? '…' : ''}'`
}

function typeOf(value: unknown): string {
  if (value === null || value === undefined) return `${value}`
  return Array.isArray(value) ? 'an array' : `this ${typeof value}`
}
