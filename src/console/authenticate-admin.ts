import { timingSafeEqual } from 'node:crypto'
import type { RequestHandler } from 'express'
import { ipKeyGenerator, rateLimit, type RateLimitInfo } from 'express-rate-limit'
import { limiterSettings } from '../http/rate-limiter.js'
import { RequestProblem } from '../http/respond-problem.js'
import type { Logger } from '../logger.js'
import { digestToken } from '../merchants/project.js'
import { setLimitKey } from '../router/rate-limit.js'
import { adminOfHash, findAdmin, setAdmin } from './admin.js'

/** Failed attempts from one address in {@link FAILURE_WINDOW_MS}, after which they get a 429. */
const MAX_FAILURES = 30
const FAILURE_WINDOW_MS = 60_000

const BEARER = /^Bearer +(\S+)$/i

/**
 * Makes a handler that finds the admin of a request, and refuses none.
 *
 * @param tokenHashes - SHA-256 of each admin token. All are compared, each in constant time.
 */
export function identifyAdmin(tokenHashes: readonly Buffer[]): RequestHandler {
  return function identify(req, res, next) {
    const token = BEARER.exec(req.get('authorization') ?? '')?.[1]
    const presented = token === undefined ? undefined : digestToken(token)
    let found: Buffer | undefined
    for (const hash of presented ? tokenHashes : [])
      if (presented && timingSafeEqual(hash, presented)) found = hash
    if (found !== undefined) {
      const admin = adminOfHash(found)
      setAdmin(res, admin)
      setLimitKey(res, `admin:${admin.name}`)
    } else setLimitKey(res, `address:${ipKeyGenerator(req.ip ?? '')}`)
    next()
  }
}

/**
 * Makes a handler that refuses requests without an admin token.
 *
 * Failed attempts are counted by address, whatever the limits of requests are.
 */
export function requireAdmin(logger: Logger): RequestHandler {
  const countFailure = rateLimit({
    ...limiterSettings({ windowMs: FAILURE_WINDOW_MS, limit: MAX_FAILURES }, logger),
    standardHeaders: false,
    requestPropertyName: 'x402FailureLimit',
    keyGenerator: (req) => ipKeyGenerator(req.ip ?? ''),
    handler(req, res, next) {
      const { used } = (req as unknown as { x402FailureLimit: RateLimitInfo }).x402FailureLimit
      if (used === MAX_FAILURES + 1)
        logger.warn('Wrong admin tokens: further ones of this address are refused for a minute.', {
          ip: req.ip,
        })
      res.set('Retry-After', String(FAILURE_WINDOW_MS / 1000))
      next(
        new RequestProblem(
          'rate_limited',
          `More than ${MAX_FAILURES} requests without a valid admin token in ${FAILURE_WINDOW_MS / 1000} s; Retry-After says when to come back.`,
        ),
      )
    },
  })
  return function require(req, res, next) {
    res.set('Cache-Control', 'no-store')
    if (findAdmin(res) !== undefined) return next()
    const given = req.get('authorization') !== undefined
    const refuse = (error?: unknown): void => {
      if (error !== undefined) return next(error)
      res.set('WWW-Authenticate', 'Bearer realm="x402 gateway admin"')
      next(
        new RequestProblem(
          'unauthorized',
          given
            ? 'The header Authorization holds no admin token of this gateway.'
            : "The admin token is missing: send it as 'Authorization: Bearer …'.",
        ),
      )
    }
    Promise.resolve(countFailure(req, res, refuse)).catch(next)
  }
}
