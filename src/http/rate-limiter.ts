/** Settings that all rate limiters of a gateway share. */
import type { Options, Store } from 'express-rate-limit'
import type { Logger } from '../logger.js'

const DEFAULT_WINDOW_MS = 60_000
const DEFAULT_LIMIT = 600

/** Milliseconds between two reports of a store that fails: it may fail for every request. */
const REPORT_EVERY_MS = 60_000

/**
 * Limits of the gateway's API, or of its paid routes.
 *
 * @example
 * ```ts
 * import type { RateLimitOptions } from 'express-x402-gateway'
 *
 * const limits: RateLimitOptions = { windowMs: 10_000, limit: 50 }
 * ```
 */
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
  /**
   * URL of a Redis that keeps the counts for all gateways that use it: `redis://` or `rediss://`.
   * Needs the packages `ioredis` and `rate-limit-redis`. While Redis cannot be reached, requests pass
   * uncounted and the log has a warning a minute: a limit guards against load, and whether a payment is
   * good does not depend on it. @defaultValue in memory
   */
  readonly redisUrl?: string
}

/** Applies the defaults, and sends what the limiter logs to the gateway's logger. */
export function limiterSettings(options: RateLimitOptions, logger: Logger) {
  const { windowMs = DEFAULT_WINDOW_MS, limit = DEFAULT_LIMIT, store, redisUrl } = options
  let reportedAt = -Infinity
  return {
    windowMs,
    limit,
    ...(store && { store }),
    // Two routers of a gateway count together.
    ...(redisUrl !== undefined && { validate: { unsharedStore: false } }),
    legacyHeaders: false,
    // A store that fails must not stop payments: those requests pass uncounted.
    passOnStoreError: true,
    logger: {
      warn: (...details) => logger.warn('The rate limiter warns.', { error: errorIn(details) }),
      error(...details) {
        const error = errorIn(details)
        if (isMisuse(error)) return logger.error('The rate limiter is set up wrongly.', { error })
        if (performance.now() - reportedAt < REPORT_EVERY_MS) return
        reportedAt = performance.now()
        logger.warn('The rate limiter cannot count: requests pass.', { error })
      },
    },
  } satisfies Partial<Options>
}

function errorIn(details: readonly unknown[]): Error | undefined {
  return details.find((one) => one instanceof Error)
}

/** Tells whether an error is one of express-rate-limit's own checks of its setup, which have codes. */
function isMisuse(error: Error | undefined): boolean {
  return String((error as { code?: unknown } | undefined)?.code).startsWith('ERR_ERL_')
}
