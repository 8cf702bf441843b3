/** Words for errors about amounts. */

/** Longest part of a value that a message repeats. */
const MAX_SHOWN_LENGTH = 60

/** Mistakes in a text that is no amount, the likeliest first. */
const MISTAKES: ReadonlyArray<readonly [RegExp, string]> = [
  [/^$/, "it has no amount; write '0.01'"],
  [/,/, "a comma may mean thousands or decimals; write '1000' or '1.00', with a point"],
  [/^-/, 'it must not be negative'],
  [/^\+/, 'leave out the plus sign'],
  [/^\d[\d.]*e[+-]?\d+$/i, "write out the digits instead of an exponent, e.g. '1000'"],
  [/^\.\d+$/, "write the zero before the point, e.g. '0.5'"],
  [/^\d+\.$/, "leave out the point at the end, or write digits after it, e.g. '5.00'"],
  [/\..*\./, "it has two points; write thousands without separators, e.g. '1000.00'"],
  [/^0\d/, "leave out the leading zeros, e.g. '0.5'"],
  [/^\d+(\.\d+)?$/, 'it is too long'],
]

/** Names the likeliest mistake in a text that is no amount; `otherwise` where none is known. */
export function explainAmount(text: string, otherwise: string): string {
  const mistake = MISTAKES.find(([pattern]) => pattern.test(text))
  return mistake?.[1] ?? otherwise
}

/** Writes what was given, short enough for a message. */
export function showValue(value: unknown): string {
  if (typeof value === 'bigint') return `${value}n`.slice(0, MAX_SHOWN_LENGTH)
  if (typeof value !== 'string') return typeof value === 'number' ? `${value}` : typeOf(value)
  return value.length > MAX_SHOWN_LENGTH ? `'${value.slice(0, MAX_SHOWN_LENGTH)}…'` : `'${value}'`
}

function typeOf(value: unknown): string {
  if (value === null || value === undefined) return `${value}`
  return Array.isArray(value) ? 'an array' : `this ${typeof value}`
}
