import { ConfigError, type ConfigErrorCode } from '../errors.js'
import { crossRates } from './cross-rates.js'
import { explainCurrency, isCurrency } from './currency.js'
import { parseDecimal, type Decimal } from './decimal.js'
import type { RateSource } from './rates.js'
import { world } from '../world.js'

/**
 * Options of {@link fixedRates}.
 *
 * @example
 * ```ts
 * import type { FixedRatesOptions } from 'express-x402-gateway'
 *
 * const options: FixedRatesOptions = { symbols: ['ETH'] }
 * ```
 */
export interface FixedRatesOptions {
  /** Tokens that the rates may name in addition to currencies: `['ETH']`. @defaultValue none */
  readonly symbols?: readonly string[]
  /** Clock for the `asOf` of every rate (ms since the epoch). @defaultValue `Date.now` */
  readonly now?: () => number
}

/**
 * Uses fixed rates.
 *
 * A pair that is not listed is the inverse of the opposite pair, or a cross through USD. Such a rate is
 * exact to 36 significant digits and rounded up, so that a converted price is never too low.
 *
 * @param rates - `{ 'EUR/USD': '1.08' }`: one euro costs 1.08 dollars.
 * @param options - Token names and the clock.
 * @returns The option `rates` of `createGateway`, or a part of it.
 * @throws {@link ConfigError} (`config_invalid`) naming the rate, as `rates["EUR/USD"]`.
 *
 * @example
 * ```ts
 * import { fixedRates } from 'express-x402-gateway'
 *
 * const rates = fixedRates({ 'EUR/USD': '1.08', 'ETH/USD': '3200' }, { symbols: ['ETH'] })
 * ```
 */
export function fixedRates(
  rates: Readonly<Record<string, string>>,
  { symbols = [], now = world.now }: FixedRatesOptions = {},
): RateSource {
  const listed = new Map(
    Object.entries(rates).map(([pair, rate]) => [checkPair(pair, symbols), readRate(pair, rate)]),
  )
  return crossRates({
    async getRate(base, quote) {
      const rate = listed.get(`${base}/${quote}`)
      return rate && { rate, asOf: Math.floor(now() / 1000), source: 'fixed' }
    },
  })
}

/** Checks the name of a pair, `EUR/USD`. @param symbols - Names allowed in addition to currencies. */
function checkPair(pair: string, symbols: readonly string[]): string {
  const [base, quote, ...others] = pair.split('/')
  if (base === undefined || quote === undefined || others.length > 0)
    throw invalid(
      pair,
      "is neither a pair like 'EUR/USD': '1.08' nor a source, which is { http: { url } } or an object with getRate",
    )
  const unknown = [base, quote].find((name) => !isCurrency(name) && !symbols.includes(name))
  if (unknown !== undefined) throw invalid(pair, explainCurrency(unknown), 'unknown_currency')
  if (base === quote) throw invalid(pair, 'a currency has no rate against itself')
  return pair
}

function readRate(pair: string, rate: unknown): Decimal {
  const value = typeof rate === 'string' ? parseDecimal(rate) : undefined
  if (value !== undefined && value.units > 0n) return value
  throw invalid(pair, "the rate must be a decimal string greater than zero, e.g. '1.08'")
}

function invalid(
  pair: string,
  message: string,
  code: ConfigErrorCode = 'invalid_rate',
): ConfigError {
  return new ConfigError(`rates[${JSON.stringify(pair)}]`, message, code)
}
