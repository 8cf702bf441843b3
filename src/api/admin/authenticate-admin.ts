import type { RequestHandler } from 'express'
import { ipKeyGenerator, rateLimit, type RateLimitInfo } from 'express-rate-limit'
import { limiterSettings } from '../../shared/http/rate-limiter.js'
import { RequestProblem } from '../../shared/http/respond-problem.js'
import type { Logger } from '../../shared/logger.js'
import {
  mayAdmin,
  rolesFor,
  type Admin,
  type AdminRole,
  type AdminToken,
} from '../../core/merchants/access.js'
import { digestToken } from '../../shared/crypto/identify-token.js'
import { setLimitKey } from '../serve/rate-limit.js'
import type { Guard } from '../serve/guard.js'
import { findAdmin, findAdminByHash, setAdmin } from './admin.js'

/** Failed attempts from one address in {@link FAILURE_WINDOW_MS}, after which they get a 429. */
const MAX_FAILURES = 30
const FAILURE_WINDOW_MS = 60_000

const BEARER = /^Bearer +(\S+)$/i

/** Makes a handler that finds the admin of a request, and refuses none. */
export function identifyAdmin(tokens: readonly AdminToken[]): RequestHandler {
  return function identify(req, res, next) {
    const token = BEARER.exec(req.get('authorization') ?? '')?.[1]
    const admin = token === undefined ? undefined : findAdminByHash(tokens, digestToken(token))
    if (admin !== undefined) {
      setAdmin(res, admin)
      setLimitKey(res, `admin:${admin.name}`)
    } else setLimitKey(res, `address:${ipKeyGenerator(req.ip ?? '')}`)
    next()
  }
}

/**
 * Makes the guard of the admin API. It refuses requests without an admin token, or whose admin has not the role
 * for the endpoint.
 *
 * Failed attempts are counted by address, whatever the limits of requests are.
 */
export function requireAdmin(logger: Logger): Guard {
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
  return (endpoint) =>
    function require(req, res, next) {
      res.set('Cache-Control', 'no-store')
      const admin = findAdmin(res)
      if (admin !== undefined)
        return next(
          mayAdmin(admin.role, endpoint) ? undefined : forbidden(admin, rolesFor(endpoint)),
        )
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

/** Refuses an admin whose role is not among those that may do something. */
export function forbidden({ name, role }: Admin, roles: readonly AdminRole[]): RequestProblem {
  const who = roles.length === 1 ? `An ${roles[0]}` : `One of ${roles.join(', ')}`
  return new RequestProblem('forbidden', `${name} has the role ${role}. ${who} may do this.`)
}
