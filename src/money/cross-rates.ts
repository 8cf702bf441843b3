import { divideUp, powerOfTen, trimDecimal, type Decimal } from './decimal.js'
import type { Rate, RateSource } from './rates.js'

/** Significant digits that a rounded rate has at least: a trillion in a token of 18 digits is exact. */
const SIGNIFICANT_DIGITS = 36

/** The currency that crosses go through. */
const HUB = 'USD'

/** A rate on its way: a positive rational number, exact until the last step. */
interface Ratio extends Omit<Rate, 'rate'> {
  readonly dividend: bigint
  readonly divisor: bigint
}

/**
 * Adds inverses and crosses to the pairs that a source knows.
 *
 * A pair that it does not know is the inverse of its opposite, or else a cross through USD. Such a
 * rate is exact where it ends within 36 significant digits, and is rounded up there otherwise. It is
 * as old as the older of its parts.
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

/** Of any time. */
const ITSELF: Rate = { rate: { units: 1n, scale: 0 }, asOf: 0, source: 'identity' }

function toRatio({ rate, ...circumstances }: Rate): Ratio | undefined {
  // A source's mistake must not give anything away.
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

/** The least decimal with enough digits that is not less than the ratio. */
function leastDecimal(dividend: bigint, divisor: bigint): Decimal {
  const scale = SIGNIFICANT_DIGITS + divisor.toString().length
  return trimDecimal({ units: divideUp(dividend * powerOfTen(scale), divisor), scale })
}
