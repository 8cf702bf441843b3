import type { Request, Response } from 'express'
import { ipKeyGenerator, rateLimit, type AugmentedRequest } from 'express-rate-limit'
import type { Logger } from '../logger.js'
import { limiterSettings, type LimiterOptions } from '../http/rate-limiter.js'
import { answerProblem } from './answers.js'

/** Where express-rate-limit leaves its count: `rateLimit` may belong to a limiter of the app. */
const COUNT = 'x402PaymentRateLimit'

/** What a gateway lets pay at its routes. */
export interface PaymentRateLimitContext {
  readonly paymentRateLimit: LimiterOptions | false
  readonly logger: Logger
}

/** A request that brings a payment. */
export interface CountedRequest {
  readonly req: Request
  readonly res: Response
  /** Who pays, once his payment was verified. Without it, the request counts for its address. */
  readonly payer?: string
}

/** Answers a request that is one too many: 429, with the time after which to come back. */
export type AnswerLimited = () => void

/** Counts a request. @returns What answers it, where it is one too many; else `undefined`. */
export type CountRequest = (counted: CountedRequest) => Promise<AnswerLimited | undefined>

/** Makes the limiter of a gateway's paid routes; `undefined` where they are not limited. */
export function createPaymentRateLimit({
  paymentRateLimit,
  logger,
}: PaymentRateLimitContext): CountRequest | undefined {
  if (paymentRateLimit === false) return undefined
  const settings = limiterSettings(paymentRateLimit, logger)
  const payers = new WeakMap<Request, string>()
  // One limiter for both counts: a store must not be shared by two.
  const limiter = rateLimit({
    ...settings,
    requestPropertyName: COUNT,
    // Written with a refusal only: other answers may carry those of a limiter of the app.
    standardHeaders: false,
    keyGenerator: (req) => {
      const payer = payers.get(req)
      if (payer !== undefined) return `payment-payer:${payer.toLowerCase()}`
      return `payment-address:${ipKeyGenerator(req.ip ?? '')}`
    },
    handler: (_req, _res, next) => next(EXCEEDED),
  })
  return async function countRequest({ req, res, payer }) {
    if (payer === undefined) payers.delete(req)
    else payers.set(req, payer)
    const failure = await new Promise<unknown>((resolve) => void limiter(req, res, resolve))
    if (failure === undefined) return undefined
    if (failure !== EXCEEDED) {
      // A payment may be reserved by now: what cannot be counted is let through.
      logger.error('The rate limiter failed.', { error: failure })
      return undefined
    }
    const { resetTime } = (req as AugmentedRequest)[COUNT] ?? {}
    const by = payer === undefined ? 'address' : 'payer'
    return () => answerLimited(res, { ...settings, by, resetTime })
  }
}

/** Passed on by the limiter where a request is one too many. */
const EXCEEDED = Symbol('exceeded')

interface Exceeded {
  readonly windowMs: number
  readonly limit: number
  readonly by: 'address' | 'payer'
  /** When the window ends, where the store knows. */
  readonly resetTime: Date | undefined
}

/** Headers as in draft-ietf-httpapi-ratelimit-headers-08, beside those of a limiter of the app. */
function answerLimited(res: Response, { windowMs, limit, by, resetTime }: Exceeded): void {
  const leftMs = resetTime === undefined ? windowMs : resetTime.getTime() - Date.now()
  const seconds = Math.max(1, Math.ceil(leftMs / 1000))
  res.set('Retry-After', String(seconds))
  res.append('RateLimit', `"${by}"; r=0; t=${seconds}`)
  res.append('RateLimit-Policy', `"${by}"; q=${limit}; w=${Math.ceil(windowMs / 1000)}`)
  answerProblem(res, {
    status: 429,
    code: 'rate_limited',
    detail: `More than ${limit} requests with a payment in ${windowMs / 1000} s, by ${by}; this request charged nothing. Retry-After says when to present the same payment again.`,
  })
}
