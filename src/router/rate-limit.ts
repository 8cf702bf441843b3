import type { RequestHandler } from 'express'
import { ipKeyGenerator, rateLimit, type Store } from 'express-rate-limit'
import type { Logger } from '../logger.js'
import { projectOf } from './authenticate.js'
import { RequestProblem } from './problem-response.js'

const DEFAULT_WINDOW_MS = 60_000
const DEFAULT_LIMIT = 600

/** How many requests are answered. */
export interface LimiterOptions {
  readonly windowMs?: number
  readonly limit?: number
  readonly store?: Store
}

/** Limits requests: per project, and per address where there is no valid token. */
export function limitRequests(options: LimiterOptions, logger: Logger): RequestHandler {
  const { windowMs = DEFAULT_WINDOW_MS, limit = DEFAULT_LIMIT, store } = options
  return rateLimit({
    windowMs,
    limit,
    ...(store && { store }),
    standardHeaders: 'draft-8',
    legacyHeaders: false,
    // Counts that cannot be kept are no reason to turn payments away.
    passOnStoreError: true,
    logger: {
      warn: (...details) => logger.warn('The rate limiter warns.', errorIn(details)),
      error: (...details) => logger.error('The rate limiter failed.', errorIn(details)),
    },
    keyGenerator: (req, res) => {
      const project = projectOf(res)
      return project ? `project:${project.id}` : `address:${ipKeyGenerator(req.ip ?? '')}`
    },
    handler: (_req, _res, next) =>
      next(
        new RequestProblem({
          status: 429,
          code: 'rate_limited',
          detail: `More than ${limit} requests in ${windowMs / 1000} s; Retry-After says when to come back.`,
        }),
      ),
  })
}

function errorIn(details: readonly unknown[]): object {
  return { error: details.find((one) => one instanceof Error) }
}
