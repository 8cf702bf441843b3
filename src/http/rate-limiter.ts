/** What all limiters of a gateway have in common. */
import type { Options, Store } from 'express-rate-limit'
import type { Logger } from '../logger.js'

const DEFAULT_WINDOW_MS = 60_000
const DEFAULT_LIMIT = 600

/** How many requests are answered. */
export interface LimiterOptions {
  readonly windowMs?: number
  readonly limit?: number
  readonly store?: Store
}

/** Options of express-rate-limit that are the same wherever requests are limited. */
export type LimiterSettings = Partial<Options> & {
  readonly windowMs: number
  readonly limit: number
}

/** Fills in what was left out, and logs what the limiter has to say. */
export function limiterSettings(options: LimiterOptions, logger: Logger): LimiterSettings {
  const { windowMs = DEFAULT_WINDOW_MS, limit = DEFAULT_LIMIT, store } = options
  return {
    windowMs,
    limit,
    ...(store && { store }),
    legacyHeaders: false,
    // Counts that cannot be kept are no reason to turn payments away.
    passOnStoreError: true,
    logger: {
      warn: (...details) => logger.warn('The rate limiter warns.', errorIn(details)),
      error: (...details) => logger.error('The rate limiter failed.', errorIn(details)),
    },
  }
}

function errorIn(details: readonly unknown[]): object {
  return { error: details.find((one) => one instanceof Error) }
}
