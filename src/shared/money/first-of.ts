import { isRateError, type RateError } from '../errors.js'
import { crossRates } from './cross-rates.js'
import type { Rate, RateSource } from './rates.js'

/**
 * Asks several rate sources in order, until one knows the pair.
 *
 * A source that fails is skipped; its error is thrown if no other source knows the pair. A pair that no
 * source knows may be a cross through USD of pairs from two of them.
 *
 * @param sources - The preferred source first.
 * @returns A source that throws {@link RateError} (`rate_unavailable`) when a source failed and no
 * other knows the pair.
 *
 * @example
 * ```ts
 * import { firstOf, fixedRates, httpRates } from 'express-x402-gateway'
 *
 * const rates = firstOf(
 *   httpRates({ url: 'https://api.frankfurter.dev/v1' }),
 *   fixedRates({ 'EUR/USD': '1.08' }),
 * )
 * ```
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
