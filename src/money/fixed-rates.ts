import { ConfigError } from '../errors.js'
import { crossRates } from './cross-rates.js'
import { explainCurrency, isCurrency } from './currency.js'
import { parseDecimal, type Decimal } from './decimal.js'
import type { RateSource } from './rates.js'

/** Options of {@link fixedRates}. */
export interface FixedRatesOptions {
  /** What rates call tokens that are priced by them, beside the currencies: `ETH`. */
  readonly symbols?: readonly string[]
  /** Milliseconds since the epoch; a fixed rate is always of now. @defaultValue `Date.now` */
  readonly now?: () => number
}

/**
 * Rates written down in the configuration.
 *
 * A pair that is not listed is the inverse of its opposite, or else a cross through USD. Such a rate
 * is exact where it ends within 36 significant digits, and is rounded up there otherwise, so that a
 * price is never less than it was.
 *
 * @param rates - `{ 'EUR/USD': '1.08' }`: one euro costs 1.08 dollars.
 * @throws {@link ConfigError} naming the rate, as `rates["EUR/USD"]`.
 */
export function fixedRates(
  rates: Readonly<Record<string, string>>,
  { symbols = [], now = Date.now }: FixedRatesOptions = {},
): RateSource {
  const listed = new Map(
    Object.entries(rates).map(([pair, rate]) => [
      checkPair(pair, symbols, `rates[${JSON.stringify(pair)}]`),
      readRate(pair, rate),
    ]),
  )
  return crossRates({
    async getRate(base, quote) {
      const rate = listed.get(`${base}/${quote}`)
      return rate && { rate, asOf: Math.floor(now() / 1000), source: 'fixed' }
    },
  })
}

/**
 * Checks the name of a pair, `EUR/USD`.
 *
 * @param symbols - Names beside the currencies.
 * @param option - What errors call it.
 * @throws {@link ConfigError}
 */
function checkPair(pair: string, symbols: readonly string[], option: string): string {
  const [base, quote, ...others] = pair.split('/')
  if (base === undefined || quote === undefined || others.length > 0)
    throw new ConfigError(
      option,
      "the name of a rate is two currencies, e.g. 'EUR/USD'",
      'invalid_rate',
    )
  const unknown = [base, quote].find((name) => !isCurrency(name) && !symbols.includes(name))
  if (unknown !== undefined)
    throw new ConfigError(option, explainCurrency(unknown), 'unknown_currency')
  if (base === quote)
    throw new ConfigError(option, 'a currency has no rate against itself', 'invalid_rate')
  return pair
}

function readRate(pair: string, rate: unknown): Decimal {
  const value = typeof rate === 'string' ? parseDecimal(rate) : undefined
  if (value !== undefined && value.units > 0n) return value
  throw new ConfigError(
    `rates[${JSON.stringify(pair)}]`,
    "the rate must be a decimal string greater than zero, e.g. '1.08'",
    'invalid_rate',
  )
}
