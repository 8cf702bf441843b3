import type { PaymentPayload, PaymentRequirements } from '../protocol/payment.js'

/** What a handler learns of the payment for its request, as `req.x402` and `res.locals.x402`. */
export interface PaidRequest {
  /** Who pays. */
  readonly payer: string
  /** Token units, a decimal string. */
  readonly amount: string
  /** The token's address. */
  readonly asset: string
  /** CAIP-2, or the short name with `networkNames: 'short'`. */
  readonly network: string
  /** The entry of `accepts` that is paid. */
  readonly requirements: PaymentRequirements
  /** The payment as the client sent it. */
  readonly payload: PaymentPayload
  /** Hash of the transaction; in the `upfront` flow only, where it is mined before the handler runs. */
  readonly transaction?: string
}

declare global {
  // eslint-disable-next-line @typescript-eslint/no-namespace -- the way Express's types are extended
  namespace Express {
    interface Request {
      /**
       * The payment for this request. Only behind `x402Protect`, and not where its `skip` let the
       * request through unpaid.
       */
      x402: PaidRequest
    }
  }
}
