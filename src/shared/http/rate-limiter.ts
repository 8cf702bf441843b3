/** Settings of all rate limiters of a gateway. */
import type { Options, Store } from 'express-rate-limit'
import type { Logger } from '../logger.js'
import { world } from '../world.js'

const DEFAULT_WINDOW_MS = 60_000
const DEFAULT_LIMIT = 600

/** How often a failing store is reported (ms): it may fail for every request. */
const REPORT_EVERY_MS = 60_000

/**
 * Rate limits of the gateway's API or of its paid routes.
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
   * Requests per window: at the API per project, or per address without a token; at paid routes per
   * address, and also per payer. @defaultValue 600
   */
  readonly limit?: number
  /**
   * Store for counts that several gateways share. Each limit needs its own instance.
   * @defaultValue in memory
   */
  readonly store?: Store
  /**
   * URL of a Redis that counts for all gateways: `redis://` or `rediss://`. Needs the packages `ioredis`
   * and `rate-limit-redis`. While Redis is unreachable, requests pass uncounted and a warning is logged
   * each minute: limits only guard against load. @defaultValue in memory
   */
  readonly redisUrl?: string
}

/** Applies defaults, and sends the limiter's messages to the gateway's logger. */
export function limiterSettings(options: RateLimitOptions, logger: Logger) {
  const { windowMs = DEFAULT_WINDOW_MS, limit = DEFAULT_LIMIT, store, redisUrl } = options
  let reportedAt = -Infinity
  return {
    windowMs,
    limit,
    ...(store && { store }),
    // Routers of one gateway count together.
    ...(redisUrl !== undefined && { validate: { unsharedStore: false } }),
    legacyHeaders: false,
    // A failing store must not stop payments: requests pass uncounted.
    passOnStoreError: true,
    logger: {
      warn: (...details) => logger.warn('Rate limiter warning.', { error: errorIn(details) }),
      error(...details) {
        const error = errorIn(details)
        if (isMisuse(error)) return logger.error('The rate limiter is misconfigured.', { error })
        if (world.elapsed() - reportedAt < REPORT_EVERY_MS) return
        reportedAt = world.elapsed()
        logger.warn('The rate limiter cannot count, so requests pass uncounted.', { error })
      },
    },
  } satisfies Partial<Options>
}

function errorIn(details: readonly unknown[]): Error | undefined {
  return details.find((one) => one instanceof Error)
}

/** Whether an error comes from express-rate-limit's checks of its setup, which have codes. */
function isMisuse(error: Error | undefined): boolean {
  return String((error as { code?: unknown } | undefined)?.code).startsWith('ERR_ERL_')
}
