import { LRUCache } from 'lru-cache'
import { RateError } from '../errors.js'
import type { Rate, RateSource } from './rates.js'
import { world } from '../world.js'

/** Size of the cache in pairs. */
const MAX_PAIRS = 1000

/** How long to wait after a failed refresh (ms). */
const RETRY_MS = 5000

/**
 * Options of {@link cachedRates}.
 *
 * @example
 * ```ts
 * import type { RateCacheOptions } from 'express-x402-gateway'
 *
 * const options: RateCacheOptions = { freshSeconds: 60, staleSeconds: 3600 }
 * ```
 */
export interface RateCacheOptions {
  /** How long a rate is used without asking again (s). */
  readonly freshSeconds: number
  /** How long a rate is used at all (s); after `freshSeconds`, the source is asked in the background. */
  readonly staleSeconds: number
  /** Clock (ms since the epoch). @defaultValue `Date.now` */
  readonly now?: (() => number) | undefined
}

interface Reading {
  /** `undefined` if the source does not know the pair. */
  readonly rate: Rate | undefined
  /** When it was read (ms). */
  readonly readAt: number
  /** When the next refresh may be tried, after a failed one (ms). */
  readonly retryAt: number
}
interface Pair {
  readonly base: string
  readonly quote: string
}

/**
 * Caches a source.
 *
 * A rate is fresh for `freshSeconds`. Until `staleSeconds` it is still used, while the source is asked
 * again in the background. After that, requests wait for the source; concurrent requests for a pair
 * share one call. No rate is used after its `until`. Pairs that the source does not know are cached too.
 *
 * @param source - Asked for each pair that is not cached.
 * @param options - How long rates are used.
 * @returns A source that rejects like `source`, and with {@link RateError} (`rate_unavailable`) when
 * `source` gives a rate that is too old.
 *
 * @example
 * ```ts
 * import { cachedRates, type RateSource } from 'express-x402-gateway'
 *
 * const bank: RateSource = {
 *   getRate: async () => ({ rate: { units: 108n, scale: 2 }, asOf: 1767225600, source: 'bank' }),
 * }
 * const rates = cachedRates(bank, { freshSeconds: 60, staleSeconds: 3600 })
 * ```
 */
export function cachedRates(source: RateSource, options: RateCacheOptions): RateSource {
  const { freshSeconds, staleSeconds, now = world.now } = options

  const isUsable = ({ rate, readAt }: Reading): boolean =>
    now() - readAt <= staleSeconds * 1000 && isValid(rate, now())

  const readings = new LRUCache<string, Reading, Pair>({
    max: MAX_PAIRS,
    // A pair that is evicted during its fetch still gets its rate.
    ignoreFetchAbort: true,
    async fetchMethod(_key, stale, { context: { base, quote } }) {
      try {
        const rate = await source.getRate(base, quote)
        if (!isValid(rate, now())) throw outdated(base, quote)
        return { rate, readAt: now(), retryAt: 0 }
      } catch (error) {
        if (stale === undefined || !isUsable(stale)) throw error
        return { ...stale, retryAt: now() + RETRY_MS }
      }
    },
  })

  /** Asks the source, or joins the current call. */
  const fetch = (pair: Pair): Promise<Reading | undefined> =>
    readings.fetch(`${pair.base}/${pair.quote}`, { context: pair, forceRefresh: true })

  return {
    async getRate(base, quote) {
      const reading = readings.get(`${base}/${quote}`)
      if (reading === undefined || !isUsable(reading)) return (await fetch({ base, quote }))?.rate
      const isFresh = now() - reading.readAt <= freshSeconds * 1000
      if (!isFresh && now() >= reading.retryAt) fetch({ base, quote }).catch(() => undefined)
      return reading.rate
    },
  }
}

function isValid(rate: Rate | undefined, nowMs: number): boolean {
  return nowMs <= (rate?.until ?? Infinity) * 1000
}

function outdated(base: string, quote: string): RateError {
  return new RateError('rate_unavailable', `The rate of ${base}/${quote} is too old to be used.`)
}
