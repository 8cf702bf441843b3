import { LRUCache } from 'lru-cache'
import { RateError } from '../errors.js'
import type { Rate, RateSource } from './rates.js'

/** Pairs that are remembered at once. */
const MAX_PAIRS = 1000

/** Milliseconds after a refresh that failed in which no other is tried. */
const RETRY_MS = 5000

/** How long rates are remembered. */
export interface RateCacheOptions {
  /** Seconds for which a rate is used without asking again. */
  readonly freshSeconds: number
  /** Seconds for which it is used at most, while the source is asked again in the background. */
  readonly staleSeconds: number
  /** Milliseconds since the epoch. @defaultValue `Date.now` */
  readonly now?: (() => number) | undefined
}

/** A rate and when it was read, in milliseconds; `rate` is missing where the pair is not known. */
interface Reading {
  readonly rate: Rate | undefined
  readonly at: number
  readonly retryAt: number
}

/**
 * Remembers what a source said.
 *
 * A rate is fresh at first; then it is stale, used while the source is asked again in the background;
 * and then it is gone: whoever wants it waits for the source. Of many who ask for a pair at once, one
 * asks the source. No rate is used beyond the time for which its source stands by it.
 */
export function cachedRates(source: RateSource, options: RateCacheOptions): RateSource {
  const { freshSeconds, staleSeconds, now = Date.now } = options
  const readings = new LRUCache<string, Reading>({ max: MAX_PAIRS })
  const underWay = new Map<string, Promise<Rate | undefined>>()

  const ask = async (base: string, quote: string): Promise<Rate | undefined> => {
    const pair = `${base}/${quote}`
    const askSource = async (): Promise<Rate | undefined> => {
      const rate = await source.getRate(base, quote)
      if (rate !== undefined && !isGood(rate, now())) throw outdated(base, quote)
      readings.set(pair, { rate, at: now(), retryAt: 0 })
      return rate
    }
    const asking = underWay.get(pair) ?? askSource().finally(() => underWay.delete(pair))
    underWay.set(pair, asking)
    return asking
  }

  const refresh = (base: string, quote: string, reading: Reading): void => {
    if (now() < reading.retryAt) return
    ask(base, quote).catch(() => {
      readings.set(`${base}/${quote}`, { ...reading, retryAt: now() + RETRY_MS })
    })
  }

  return {
    async getRate(base, quote) {
      const reading = readings.get(`${base}/${quote}`)
      const ageMs = reading === undefined ? Infinity : now() - reading.at
      if (reading === undefined || ageMs > staleSeconds * 1000) return ask(base, quote)
      if (reading.rate !== undefined && !isGood(reading.rate, now())) return ask(base, quote)
      if (ageMs > freshSeconds * 1000) refresh(base, quote, reading)
      return reading.rate
    },
  }
}

function isGood({ until = Infinity }: Rate, nowMs: number): boolean {
  return nowMs <= until * 1000
}

function outdated(base: string, quote: string): RateError {
  return new RateError('rate_unavailable', `The rate of ${base}/${quote} is too old to be used.`)
}
