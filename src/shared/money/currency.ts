import { data } from 'currency-codes'
import { quoteName } from '../protocol/visible-text.js'

/** ISO 4217 codes without digits ("N.A."): metals, bond units, baskets, test codes. */
const WITHOUT_DIGITS: ReadonlySet<string> = new Set(
  'XAG XAU XPD XPT XBA XBB XBC XBD XDR XSU XUA XTS XXX'.split(' '),
)

/** Missing from `currency-codes`: ISO 4217 amendment 176, in force since March 2025. */
const ADDED: ReadonlyArray<readonly [code: string, digits: number]> = [['XCG', 2]]

const digitsByCode: ReadonlyMap<string, number> = new Map([
  ...ADDED,
  ...data
    .filter(({ code }) => !WITHOUT_DIGITS.has(code))
    .map(({ code, digits }) => [code, digits] as const),
])

/** Unambiguous signs. `¥` may be JPY or CNY. */
const codesBySign: ReadonlyMap<string, string> = new Map([
  ['$', 'USD'],
  ['€', 'EUR'],
  ['£', 'GBP'],
])

/**
 * A currency's digits after the point (ISO 4217): USD 2, JPY 0, KWD 3, HUF 2.
 *
 * @param code - Alphabetic code in upper case.
 * @returns `undefined` for unknown codes and those that are not money: metals, `XXX`, `XTS`.
 */
export function currencyDigits(code: string): number | undefined {
  return digitsByCode.get(code)
}

export function currencyOfSign(sign: string): string | undefined {
  return codesBySign.get(sign)
}

export function isCurrency(code: unknown): code is string {
  return typeof code === 'string' && digitsByCode.has(code)
}

export function explainCurrency(code: unknown): string {
  if (typeof code !== 'string') return "the currency must be a string, e.g. 'USD'"
  const shown = quoteName(code)
  const upperCase = code.toUpperCase()
  if (code !== upperCase && isCurrency(upperCase))
    return `currency codes are written in upper case: '${upperCase}', not ${shown}`
  if (WITHOUT_DIGITS.has(upperCase)) return `${shown} is not a currency for payments (ISO 4217)`
  return `${shown} is not a currency code of ISO 4217, e.g. 'USD', 'EUR', 'JPY'`
}
