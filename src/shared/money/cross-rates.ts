import { divideUp, powerOfTen, trimDecimal, type Decimal } from './decimal.js'
import type { Rate, RateSource } from './rates.js'

/** Significant digits of a rounded rate; enough for a trillion in a token of 18 digits. */
const SIGNIFICANT_DIGITS = 36

/** Currency of all crosses. */
const HUB = 'USD'

/** A rate as a positive fraction, exact until it is written as a decimal. */
interface Ratio extends Omit<Rate, 'rate'> {
  readonly dividend: bigint
  readonly divisor: bigint
}

/**
 * Adds inverse and cross rates to a source.
 *
 * A pair that the source does not know is the inverse of the opposite pair, or a cross through USD. Such
 * a rate is exact to 36 significant digits and rounded up. Its `asOf` is that of the older part, and its
 * `until` that of the part that ends first.
 *
 * @param source - Asked for the pair, its inverse, and both parts of the cross, in this order.
 * @returns A source that rejects like `source`.
 *
 * @example
 * ```ts
 * import { crossRates, type RateSource } from 'express-x402-gateway'
 *
 * const bank: RateSource = {
 *   getRate: async (base, quote) =>
 *     base === 'EUR' && quote === 'USD'
 *       ? { rate: { units: 108n, scale: 2 }, asOf: 1767225600, source: 'bank' }
 *       : undefined,
 * }
 * const rates = crossRates(bank) // knows USD/EUR as well
 * ```
 */
export function crossRates(source: RateSource): RateSource {
  const inverse = async (base: string, quote: string): Promise<Ratio | undefined> => {
    const opposite = await source.getRate(quote, base)
    return opposite && invert(toRatio(opposite))
  }

  const find = async (base: string, quote: string): Promise<Ratio | undefined> => {
    const rate = await source.getRate(base, quote)
    return rate === undefined ? inverse(base, quote) : toRatio(rate)
  }

  const cross = async (base: string, quote: string): Promise<Ratio | undefined> => {
    if (base === HUB || quote === HUB) return undefined
    const first = await find(base, HUB)
    const second = first && (await find(HUB, quote))
    return second && multiply(first, second)
  }

  return {
    async getRate(base, quote) {
      if (base === quote) return ITSELF
      const rate = await source.getRate(base, quote)
      if (rate !== undefined) return rate
      const ratio = (await inverse(base, quote)) ?? (await cross(base, quote))
      return ratio && toRate(ratio)
    },
  }
}

/** Rate of a currency in itself; it has no age. */
const ITSELF: Rate = { rate: { units: 1n, scale: 0 }, asOf: 0, source: 'identity' }

function toRatio({ rate, ...circumstances }: Rate): Ratio | undefined {
  // A rate of zero, a mistake of a source, would make everything free.
  if (rate.units <= 0n) return undefined
  return { dividend: rate.units, divisor: powerOfTen(rate.scale), ...circumstances }
}

function invert(ratio: Ratio | undefined): Ratio | undefined {
  return ratio && { ...ratio, dividend: ratio.divisor, divisor: ratio.dividend }
}

function multiply(one: Ratio, other: Ratio): Ratio {
  const ends = [one, other].flatMap(({ until }) => until ?? [])
  return {
    dividend: one.dividend * other.dividend,
    divisor: one.divisor * other.divisor,
    asOf: Math.min(one.asOf, other.asOf),
    source: one.source === other.source ? one.source : `${one.source}, ${other.source}`,
    ...(ends.length > 0 && { until: Math.min(...ends) }),
  }
}

function toRate({ dividend, divisor, ...circumstances }: Ratio): Rate {
  return { rate: leastDecimal(dividend, divisor), ...circumstances }
}

/** Rounds a fraction up to a decimal with at least {@link SIGNIFICANT_DIGITS}. */
function leastDecimal(dividend: bigint, divisor: bigint): Decimal {
  const scale = SIGNIFICANT_DIGITS + divisor.toString().length
  return trimDecimal({ units: divideUp(dividend * powerOfTen(scale), divisor), scale })
}
