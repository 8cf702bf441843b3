/** Amounts for people, computed with text and integers: only Intl rounds. */
import { decimalOf as positiveDecimalOf } from '../../browser/decimal.js'
import type { Settlement, TokenAmount } from '../api/documents.js'

/** Atomic units as a decimal, which may be below zero. */
export function decimalOf(units: string, decimals: number): string {
  return units.startsWith('-')
    ? `-${positiveDecimalOf(units.slice(1), decimals)}`
    : positiveDecimalOf(units, decimals)
}

/** Most digits of an amount. */
const MAX_DIGITS = 18

/** A decimal as atomic units; `undefined` if it is not an amount of the token. */
export function unitsOf(text: string, decimals: number): bigint | undefined {
  const match = /^(\d{1,60})(?:\.(\d+))?$/.exec(text.trim())
  if (match === null) return undefined
  const [, whole = '', fraction = ''] = match
  if (fraction.length > decimals) return undefined
  return BigInt(whole + fraction.padEnd(decimals, '0'))
}

/** What to write instead of a text that was refused as an amount; `undefined` if it is one. */
export function amountError(text: string): string | undefined {
  if (unitsOf(text, MAX_DIGITS) !== undefined) return undefined
  const hasComma = /^\d+,\d{1,2}$/.test(text.trim())
  return hasComma ? `Write ${text.trim().replace(',', '.')}.` : 'Write an amount like 12.50.'
}

/** A decimal with the separators of a locale, exact: Intl takes decimals as text. */
export function formatDecimal(decimal: string, locale?: string): string {
  const format = new Intl.NumberFormat(locale, {
    minimumFractionDigits: 2,
    maximumFractionDigits: MAX_DIGITS,
  })
  return format.format(decimal as Intl.StringNumericLiteral)
}

/** An amount of a token: `1,234.50 USDC`. */
export function formatToken(
  { amount, decimals, symbol }: Pick<TokenAmount, 'amount' | 'decimals' | 'symbol'>,
  locale?: string,
): string {
  if (decimals === undefined) return `${amount} units`
  return `${formatDecimal(decimalOf(amount, decimals), locale)} ${symbol ?? 'tokens'}`
}

/** An amount of a currency: `€40.79`. Amounts below one keep their digits: `€0.0125`. */
export function formatFiat(decimal: string, currency: string, locale?: string): string {
  try {
    const kept = Math.abs(Number(decimal)) < 1 ? digitsOf(decimal) : 0
    const format = new Intl.NumberFormat(locale, {
      style: 'currency',
      currency,
      maximumFractionDigits: Math.max(fractionDigits(currency, locale), kept),
    })
    return format.format(decimal as Intl.StringNumericLiteral)
  } catch {
    return `${decimal} ${currency}`
  }
}

function fractionDigits(currency: string, locale?: string): number {
  const format = new Intl.NumberFormat(locale, { style: 'currency', currency })
  return format.resolvedOptions().maximumFractionDigits ?? 2
}

const digitsOf = (decimal: string): number =>
  Math.min(decimal.split('.', 2)[1]?.length ?? 0, MAX_DIGITS)

interface Priced extends Pick<TokenAmount, 'amount' | 'decimals'> {
  readonly quote?: Pick<NonNullable<Settlement['quote']>, 'price' | 'currency'> | undefined
}

/** Value of a settlement in the merchant's currency: its quote, or the peg of its token. */
export function fiatOf(
  { amount, decimals, quote }: Priced,
  peg: string | undefined,
): { readonly decimal: string; readonly currency: string } | undefined {
  if (quote !== undefined) return { decimal: quote.price, currency: quote.currency }
  if (peg === undefined || decimals === undefined) return undefined
  return { decimal: decimalOf(amount, decimals), currency: peg }
}
