/** Settings that all rate limiters of a gateway share. */
import type { Options, Store } from 'express-rate-limit'
import type { Logger } from '../logger.js'

const DEFAULT_WINDOW_MS = 60_000
const DEFAULT_LIMIT = 600

/** Limits of the gateway's API, or of its paid routes. */
export interface RateLimitOptions {
  /** Length of the window in milliseconds. @defaultValue 60000 */
  readonly windowMs?: number
  /**
   * Requests in a window. At the API per project, or per address for those without a token; at paid
   * routes per address, and again per payer. @defaultValue 600
   */
  readonly limit?: number
  /**
   * Where counts are kept, for several gateways that share them. Each limit needs an instance of its
   * own. @defaultValue in memory
   */
  readonly store?: Store
}

/** Options of express-rate-limit that are the same for every limiter. */
export type LimiterSettings = Partial<Options> & {
  readonly windowMs: number
  readonly limit: number
}

/** Applies the defaults, and sends what the limiter logs to the gateway's logger. */
export function limiterSettings(options: RateLimitOptions, logger: Logger): LimiterSettings {
  const { windowMs = DEFAULT_WINDOW_MS, limit = DEFAULT_LIMIT, store } = options
  return {
    windowMs,
    limit,
    ...(store && { store }),
    legacyHeaders: false,
    // A store that fails must not stop payments: those requests pass uncounted.
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
