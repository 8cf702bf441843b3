import type { Request } from 'express'
import { ipKeyGenerator, rateLimit, type Options } from 'express-rate-limit'

interface PaymentLimiterOptions extends Partial<Options> {
  /** The payer of a request, once its payment was verified. */
  readonly payerOf: (req: Request) => string | undefined
}

/** Creates the limiter of requests with a payment, in a file of its own because it is loaded by the first one. */
export function createLimiter({ payerOf, ...options }: PaymentLimiterOptions) {
  return rateLimit({
    ...options,
    // Only refusals have these headers: other responses may carry those of the app's own limiter.
    standardHeaders: false,
    keyGenerator: (req) => {
      const payer = payerOf(req)
      if (payer !== undefined) return `payment-payer:${payer.toLowerCase()}`
      return `payment-address:${ipKeyGenerator(req.ip ?? '')}`
    },
  })
}
