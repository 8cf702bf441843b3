import type { RequestHandler, Response } from 'express'
import { FailedAttempts, type Attempt } from '../../shared/http/failed-attempts.js'
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
import { addressKey, setLimitKey } from '../serve/rate-limit.js'
import type { Guard } from '../serve/guard.js'
import { findAdmin, findAdminByHash, setAdmin } from './admin.js'

/** Failed attempts from one address, after which they get a 429. */
const FAILURES = { windowMs: 60_000, limit: 30 }

const BEARER = /^Bearer +(\S+)$/i

/** Makes a handler that finds the admin of a request, and refuses none. */
export function identifyAdmin(tokens: readonly AdminToken[]): RequestHandler {
  return function identify(req, res, next) {
    const token = BEARER.exec(req.get('authorization') ?? '')?.[1]
    const admin = token === undefined ? undefined : findAdminByHash(tokens, digestToken(token))
    if (admin !== undefined) {
      setAdmin(res, admin)
      setLimitKey(res, `admin:${admin.name}`)
    } else setLimitKey(res, addressKey(req))
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
  const failures = new FailedAttempts(FAILURES)
  return (endpoint) =>
    function require(req, res, next) {
      res.set('Cache-Control', 'no-store')
      const admin = findAdmin(res)
      if (admin !== undefined)
        return next(
          mayAdmin(admin.role, endpoint) ? undefined : forbidden(admin, rolesFor(endpoint)),
        )
      const refuse = ({ waitSeconds, isLast }: Attempt): void => {
        if (isLast)
          logger.warn(
            'Wrong admin tokens: further ones of this address are refused for a minute.',
            { ip: req.ip },
          )
        if (waitSeconds > 0) return next(tooManyFailures(res, waitSeconds))
        res.set('WWW-Authenticate', 'Bearer realm="x402 gateway admin"')
        const given = req.get('authorization') !== undefined
        const detail = given
          ? 'The header Authorization holds no admin token of this gateway.'
          : "The admin token is missing: send it as 'Authorization: Bearer …'."
        next(new RequestProblem('unauthorized', detail))
      }
      failures.begin(req).then(refuse, next)
    }
}

function tooManyFailures(res: Response, seconds: number): RequestProblem {
  res.set('Retry-After', String(seconds))
  return new RequestProblem(
    'rate_limited',
    `More than ${FAILURES.limit} requests without a valid admin token in ${FAILURES.windowMs / 1000} s; Retry-After says when to come back.`,
  )
}

export function forbidden({ name, role }: Admin, roles: readonly AdminRole[]): RequestProblem {
  const who = roles.length === 1 ? `An ${roles[0]}` : `One of ${roles.join(', ')}`
  return new RequestProblem('forbidden', `${name} has the role ${role}. ${who} may do this.`)
}
