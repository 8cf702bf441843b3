import type { PaymentPayload, PaymentRequirements } from '../protocol/payment.js'

/**
 * The payment for a request, as its handler sees it: `req.x402`, and `res.locals.x402` for templates.
 *
 * In the `authorization` flow, the payment is verified and reserved when the handler runs, and settled
 * after it. In the `upfront` flow, it is already settled.
 */
export interface PaidRequest {
  /** Address of the payer. */
  readonly payer: string
  /** What is paid, in the token's atomic units: a decimal string. */
  readonly amount: string
  /** Address of the token. */
  readonly asset: string
  /** Id of the network: CAIP-2, or the short name with `networkNames: 'short'`. */
  readonly network: string
  /** The entry of `accepts` that is paid. */
  readonly requirements: PaymentRequirements
  /** The payment as the client sent it. */
  readonly payload: PaymentPayload
  /** Hash of the transaction. Only in the `upfront` flow, where it is mined before the handler runs. */
  readonly transaction?: string
}

declare global {
  // eslint-disable-next-line @typescript-eslint/no-namespace -- the way Express's types are extended
  namespace Express {
    interface Request {
      /**
       * The payment for this request. Present behind `x402Protect`, except for requests that its `skip`
       * or a price of zero let through unpaid.
       */
      x402: PaidRequest
    }
  }
}
