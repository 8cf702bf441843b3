import { ConfigError } from '../errors.js'
import { explainCurrency, isCurrency } from './currency.js'
import { divideUp, parseDecimal, powerOfTen, trimDecimal, type Decimal } from './decimal.js'

/** What one unit of a currency costs in another. */
export interface Rate {
  /** Units of the quote currency for one unit of the base currency. */
  readonly rate: Decimal
  /** When the rate held, in Unix seconds. */
  readonly asOf: number
  /** Who says so, for people: `fixed`. */
  readonly source: string
}

/** Where rates come from. */
export interface RateSource {
  /**
   * Finds a rate.
   *
   * @param base - Currency of the price (ISO 4217).
   * @param quote - Currency of the token.
   * @returns `undefined` where the source does not know this pair.
   * @throws {@link RateError} where it should know, but could not be asked.
   */
  getRate(base: string, quote: string): Promise<Rate | undefined>
}

/** Significant digits that a rounded rate has at least. */
const SIGNIFICANT_DIGITS = 18

/** The currency that crosses go through. */
const HUB = 'USD'

/** A positive rational number: rates stay exact until the last step. */
interface Ratio {
  readonly dividend: bigint
  readonly divisor: bigint
}

const ONE: Ratio = { dividend: 1n, divisor: 1n }

/**
 * Rates written down in the configuration.
 *
 * A pair that is not listed is the inverse of its opposite, or else a cross through USD. Such a rate
 * is exact where it ends within 18 significant digits, and is rounded up there otherwise, so that a
 * price is never less than it was.
 *
 * @param rates - `{ 'EUR/USD': '1.08' }`: one euro costs 1.08 dollars.
 * @param now - Unix time in seconds; a fixed rate is always of now.
 * @throws {@link ConfigError} naming the rate, as `rates["EUR/USD"]`.
 */
export function fixedRates(
  rates: Readonly<Record<string, string>>,
  now: () => number = unixSeconds,
): RateSource {
  const ratios = new Map(
    Object.entries(rates).map(([pair, rate]) => [checkPair(pair), readRate(pair, rate)]),
  )

  function listed(base: string, quote: string): Ratio | undefined {
    if (base === quote) return ONE
    return ratios.get(`${base}/${quote}`) ?? invert(ratios.get(`${quote}/${base}`))
  }

  function find(base: string, quote: string): Ratio | undefined {
    return listed(base, quote) ?? cross(listed(base, HUB), listed(HUB, quote))
  }

  return {
    async getRate(base, quote) {
      const ratio = find(base, quote)
      return ratio && { rate: toDecimal(ratio), asOf: now(), source: 'fixed' }
    },
  }
}

function checkPair(pair: string): string {
  const [base, quote, ...others] = pair.split('/')
  if (base === undefined || quote === undefined || others.length > 0)
    throw rateError(pair, "the name of a rate is two currencies, e.g. 'EUR/USD'")
  const unknown = [base, quote].find((currency) => !isCurrency(currency))
  if (unknown !== undefined) throw rateError(pair, explainCurrency(unknown))
  if (base === quote) throw rateError(pair, 'a currency has no rate against itself')
  return pair
}

function readRate(pair: string, rate: unknown): Ratio {
  const value = typeof rate === 'string' ? parseDecimal(rate) : undefined
  if (value === undefined || value.units === 0n)
    throw rateError(pair, "the rate must be a decimal string greater than zero, e.g. '1.08'")
  return { dividend: value.units, divisor: powerOfTen(value.scale) }
}

function rateError(pair: string, message: string): ConfigError {
  return new ConfigError(`rates[${JSON.stringify(pair)}]`, message)
}

function invert(ratio: Ratio | undefined): Ratio | undefined {
  return ratio && { dividend: ratio.divisor, divisor: ratio.dividend }
}

function cross(first: Ratio | undefined, second: Ratio | undefined): Ratio | undefined {
  if (first === undefined || second === undefined) return undefined
  return {
    dividend: first.dividend * second.dividend,
    divisor: first.divisor * second.divisor,
  }
}

/** The least decimal with enough digits that is not less than the ratio. */
function toDecimal({ dividend, divisor }: Ratio): Decimal {
  const scale = SIGNIFICANT_DIGITS + divisor.toString().length
  return trimDecimal({ units: divideUp(dividend * powerOfTen(scale), divisor), scale })
}

function unixSeconds(): number {
  return Math.floor(Date.now() / 1000)
}
