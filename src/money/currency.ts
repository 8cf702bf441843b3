import { data } from 'currency-codes'

/** Listed in ISO 4217 with "N.A." for digits: metals, bond units, baskets, test codes, no money. */
const WITHOUT_DIGITS: ReadonlySet<string> = new Set(
  'XAG XAU XPD XPT XBA XBB XBC XBD XDR XSU XUA XTS XXX'.split(' '),
)

/** Younger than the list in `currency-codes`: ISO 4217 amendment 176, in force since March 2025. */
const ADDED: ReadonlyArray<readonly [code: string, digits: number]> = [['XCG', 2]]

const digitsByCode: ReadonlyMap<string, number> = new Map([
  ...ADDED,
  ...data
    .filter(({ code }) => !WITHOUT_DIGITS.has(code))
    .map(({ code, digits }) => [code, digits] as const),
])

/** Signs that mean one currency where prices are concerned. `¥` is two: JPY and CNY. */
const codesBySign: ReadonlyMap<string, string> = new Map([
  ['$', 'USD'],
  ['€', 'EUR'],
  ['£', 'GBP'],
])

/**
 * How many digits a currency has after the point, as ISO 4217 says: USD 2, JPY 0, KWD 3, HUF 2.
 *
 * @param code - Alphabetic code in upper case.
 * @returns `undefined` for what is no currency to pay in: unknown codes, metals, `XXX`, `XTS`.
 */
export function currencyDigits(code: string): number | undefined {
  return digitsByCode.get(code)
}

/** The currency a sign stands for: `$`, `€` or `£`. */
export function currencyOfSign(sign: string): string | undefined {
  return codesBySign.get(sign)
}

/** Tells whether a value is a currency to pay in. */
export function isCurrency(code: unknown): code is string {
  return typeof code === 'string' && digitsByCode.has(code)
}

/** Says why a value is no currency to pay in, and what to write instead. */
export function explainCurrency(code: unknown): string {
  if (typeof code !== 'string') return "the currency must be a string, e.g. 'USD'"
  const shown = JSON.stringify(code.slice(0, 20))
  const upperCase = code.toUpperCase()
  if (code !== upperCase && isCurrency(upperCase))
    return `currency codes are written in upper case: '${upperCase}', not ${shown}`
  if (WITHOUT_DIGITS.has(upperCase)) return `${shown} is no currency one can pay in (ISO 4217)`
  return `${shown} is not a currency code of ISO 4217, e.g. 'USD', 'EUR', 'JPY'`
}
