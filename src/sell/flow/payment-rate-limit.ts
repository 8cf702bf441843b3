import type { Request, Response } from 'express'
import type { AugmentedRequest } from 'express-rate-limit'
import type { Logger } from '../../shared/logger.js'
import { Lazy } from '../../shared/http/lazy.js'
import { limiterSettings, type RateLimitOptions } from '../../shared/http/rate-limiter.js'
import { respondRouteProblem } from '../respond/respond.js'
import { world } from '../../shared/world.js'

/** The property of a request with express-rate-limit's count. Its default, `rateLimit`, may belong to the app's own. */
const COUNT = 'x402PaymentRateLimit'

export interface PaymentRateLimitContext {
  readonly paymentRateLimit: RateLimitOptions | false
  readonly logger: Logger
}

export interface CountedRequest {
  readonly req: Request
  readonly res: Response
  /** The payer, once the payment was verified. Without it, the request counts for its address. */
  readonly payer?: string | undefined
}

export interface ExceededLimit {
  readonly kind: 'rate_limited'
  readonly windowMs: number
  readonly limit: number
  readonly by: 'address' | 'payer'
  /** When the window ends, if the store knows. */
  readonly resetTime: Date | undefined
}

export type CountRequest = (counted: CountedRequest) => Promise<ExceededLimit | undefined>

/** Makes the limiter of a gateway's paid routes; `undefined` if they are not limited. */
export function createPaymentRateLimit({
  paymentRateLimit,
  logger,
}: PaymentRateLimitContext): CountRequest | undefined {
  if (paymentRateLimit === false) return undefined
  const settings = limiterSettings(paymentRateLimit, logger)
  const payers = new WeakMap<Request, string>()
  // One limiter for addresses and payers, since two must not share a store.
  const limiter = new Lazy(async () => {
    const { createLimiter } = await import('./payment-limiter.js')
    return createLimiter({
      ...settings,
      requestPropertyName: COUNT,
      payerOf: (req) => payers.get(req),
      handler: (_req, _res, next) => next(EXCEEDED),
    })
  })
  // It reports a store that two limits share: soon, not with the first payment.
  if (settings.store !== undefined) limiter.get().catch(() => undefined)
  return async function countRequest({ req, res, payer }) {
    if (payer === undefined) payers.delete(req)
    else payers.set(req, payer)
    const countIn = await limiter.get()
    const failure = await new Promise<unknown>((resolve) => void countIn(req, res, resolve))
    if (failure === undefined) return undefined
    if (failure !== EXCEEDED) {
      // A payment may be reserved by now: a request that cannot be counted passes.
      logger.error('The rate limiter failed.', { error: failure })
      return undefined
    }
    const { windowMs, limit } = settings
    const { resetTime } = (req as AugmentedRequest)[COUNT] ?? {}
    const by = payer === undefined ? 'address' : 'payer'
    return { kind: 'rate_limited', windowMs, limit, by, resetTime }
  }
}

/** Passed on by the limiter for a request that exceeds its limit. */
const EXCEEDED = Symbol('exceeded')

/**
 * Responds with 429 and the time to wait. The headers are those of
 * draft-ietf-httpapi-ratelimit-headers-08, in addition to those of the app's own limiter.
 */
export function respondRateLimited(
  res: Response,
  { windowMs, limit, by, resetTime }: ExceededLimit,
): void {
  const leftMs = resetTime === undefined ? windowMs : resetTime.getTime() - world.now()
  const seconds = Math.max(1, Math.ceil(leftMs / 1000))
  res.set('Retry-After', String(seconds))
  res.append('RateLimit', `"${by}"; r=0; t=${seconds}`)
  res.append('RateLimit-Policy', `"${by}"; q=${limit}; w=${Math.ceil(windowMs / 1000)}`)
  respondRouteProblem(res, {
    code: 'rate_limited',
    detail: `More than ${limit} requests in ${windowMs / 1000} s, by ${by}; this request charged nothing. Retry-After says when to present the same payment again.`,
  })
}
