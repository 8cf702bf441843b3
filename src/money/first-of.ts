import { isRateError, type RateError } from '../errors.js'
import { crossRates } from './cross-rates.js'
import type { Rate, RateSource } from './rates.js'

/**
 * Asks several sources of rates, in this order, until one knows.
 *
 * A source that is away is passed over. What none knows by itself may be a cross through USD of what
 * two of them know.
 */
export function firstOf(...sources: readonly RateSource[]): RateSource {
  return crossRates({
    async getRate(base, quote): Promise<Rate | undefined> {
      let failure: RateError | undefined
      for (const source of sources) {
        try {
          const rate = await source.getRate(base, quote)
          if (rate !== undefined) return rate
        } catch (error) {
          if (!isRateError(error)) throw error
          failure ??= error
        }
      }
      if (failure !== undefined) throw failure
      return undefined
    },
  })
}
