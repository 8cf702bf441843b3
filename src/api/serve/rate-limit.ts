import type { Request, RequestHandler, Response } from 'express'
import { ipKeyGenerator, rateLimit } from 'express-rate-limit'
import type { Logger } from '../../shared/logger.js'
import { limiterSettings, type RateLimitOptions } from '../../shared/http/rate-limiter.js'
import { authorOf } from './acting.js'
import { projectOf } from './authenticate.js'
import { RequestProblem } from '../../shared/http/respond-problem.js'

export function setLimitKey(res: Response, key: string): void {
  res.locals['x402LimitKey'] = key
}

/**
 * Who is counted: by {@link setLimitKey}, else the project, else the address. A project's settlements have places of
 * their own: what was verified can be settled, however much more is to be verified.
 */
export function limitKeyOf(req: Request, res: Response): string {
  const key: unknown = res.locals['x402LimitKey']
  return typeof key === 'string' ? key : callerOf(req, res)
}

export const addressKey = (req: Request): string => `address:${ipKeyGenerator(req.ip ?? '')}`

/** Counts requests that are no project's. */
export const countByAddress: RequestHandler = (req, res, next) => {
  setLimitKey(res, addressKey(req))
  next()
}

function callerOf(req: Request, res: Response): string {
  const project = projectOf(res)
  const isSettle = req.path === '/api/v2/payment/settle'
  return project ? `project:${project.id}${isSettle ? ':settle' : ''}` : addressKey(req)
}

const MINUTE_MS = 60_000

/**
 * What a project may do in a minute. `sendings` have something sent to a URL of the project's choice: a gateway
 * must not become a tool against others. `changes` of a project, and of its `webhooks`, are read again by all
 * gateways, and stay in the audit log. `reads` of the catalogue need no token: of strangers, an address is counted.
 */
const LIMITS = {
  sendings: { limit: 60, words: 'webhooks were sent by hand' },
  changes: { limit: 30, words: 'changes were made' },
  webhooks: { limit: 120, words: 'webhooks were changed' },
  reads: { limit: 120, words: 'pages of the catalogue were read' },
} as const

export type LimitName = keyof typeof LIMITS

/** Limits some requests, in addition to the limits of requests. An admin is counted apart from the project. */
export function limitSome(name: LimitName, logger: Logger): RequestHandler {
  const { limit, words } = LIMITS[name]
  return rateLimit({
    ...limiterSettings({ windowMs: MINUTE_MS, limit }, logger),
    standardHeaders: false,
    requestPropertyName: `x402Limit:${name}`,
    keyGenerator: (req, res) => authorOf(res)?.actor ?? callerOf(req, res),
    handler(_req, res, next) {
      res.set('Retry-After', String(MINUTE_MS / 1000))
      next(
        new RequestProblem(
          'rate_limited',
          `More than ${limit} ${words} in ${MINUTE_MS / 1000} s; Retry-After says when to come back.`,
        ),
      )
    },
  })
}

/** Limits requests per project, and per address for requests without a valid token. */
export function limitRequests(options: RateLimitOptions, logger: Logger): RequestHandler {
  const settings = limiterSettings(options, logger)
  const { windowMs, limit } = settings
  return rateLimit({
    ...settings,
    standardHeaders: 'draft-8',
    keyGenerator: limitKeyOf,
    handler: (_req, _res, next) =>
      next(
        new RequestProblem(
          'rate_limited',
          `More than ${limit} requests in ${windowMs / 1000} s; Retry-After says when to come back.`,
        ),
      ),
  })
}
