import type { Request } from 'express'
import type { RouteInput } from '../../core/catalogue/declaration.js'
import { ConfigError } from '../../shared/errors.js'
import type { Price } from '../../shared/money/price.js'
import type { SignedIn } from '../sign-in/signed-in.js'
import type { PaymentPayload, PaymentRequirements } from '../../shared/protocol/payment.js'

/**
 * The payment for a request, as its handler sees it: `req.x402`, and `res.locals.x402` for templates.
 *
 * In the `authorization` flow, the payment is verified and reserved when the handler runs, and settled
 * after it. In the `upfront` flow, it is already settled.
 *
 * @example
 * ```ts
 * import type { PaidRequest } from 'express-x402-gateway'
 *
 * const receipt = ({ payer, amount, asset, network }: PaidRequest): string =>
 *   `${payer} pays ${amount} units of ${asset} on ${network}`
 * ```
 */
export interface PaidRequest<Input = unknown> {
  /** Address of the payer. */
  readonly payer: string
  /**
   * What is paid, in the token's atomic units, a decimal string: `'10000'` is 0.01 USDC. Of a route with `upTo`, the
   * maximum.
   */
  readonly amount: string
  /** Address of the token. */
  readonly asset: string
  /**
   * Id of the network: CAIP-2, or the short name with `networkNames: 'short'` and for payments of x402
   * version 1.
   */
  readonly network: string
  /** The entry of `accepts` that is paid. */
  readonly requirements: PaymentRequirements
  /** The payment as the client sent it. */
  readonly payload: PaymentPayload
  /**
   * What the schemas of the route's option `input` make of the request: `query`, `params`, `headers` and
   * `body`, each if it has a schema.
   */
  readonly input: Input
  /** Who has signed in as well, on a route with `signIn` or `access`. */
  readonly signedIn?: SignedIn | undefined
  /** Hash of the transaction. Only in the `upfront` flow, where it is mined before the handler runs. */
  readonly transaction?: string
  /**
   * Says that this answer is free: the payment is released once the response has ended, and the answer is
   * sent without `PAYMENT-RESPONSE`. For protocols whose errors have status 200: MCP, GraphQL, JSON-RPC.
   *
   * @param reason - Counted, by day and project: one of a few names of your own, like `'tool_error'`. At
   * most 40 characters, `a-z`, `0-9` and `_`; everything else is counted as `other`.
   * @throws `ConfigError` (`waived_too_late`) once the response has ended, and (`conflicting_options`) with
   * `paymentFlow: 'upfront'`, where the payment is settled before the handler runs.
   *
   * @example
   * ```ts
   * import express from 'express'
   * import { paidRequest, x402Protect } from 'express-x402-gateway'
   *
   * const app = express()
   * app.post('/rpc', express.json(), x402Protect('$0.01'), (req, res) => {
   *   const { id, method } = req.body as { id: number; method: string }
   *   if (method === 'weather') return void res.json({ jsonrpc: '2.0', id, result: 'sunny' })
   *   paidRequest(req).waive('unknown_method')
   *   res.json({ jsonrpc: '2.0', id, error: { code: -32601, message: 'Method not found' } })
   * })
   * ```
   */
  readonly waive: (reason?: string) => void
  /**
   * Charges for what was used, on a route with a maximum: `x402Protect({ upTo: '$0.10' })`. Calls add up, exactly;
   * the sum is rounded up to a unit of the token once. `charge(0)` alone makes the answer cost nothing, and uses the
   * payment up; without any call, the maximum or the route's `defaultCharge` is charged.
   *
   * @param amount - In any form of a price: in the currency of the maximum, or units of the token that is paid.
   * Where a rate was applied to the maximum, it applies to its charges.
   * @throws `ChargeError` for what is no amount or in another currency (`charge_invalid`), if all charges together
   * would be more than the maximum (`charge_exceeds_maximum`), and once the response has ended
   * (`charge_too_late`). `ConfigError` (`conflicting_options`) if the route has a fixed price.
   *
   * @example
   * ```ts
   * import express from 'express'
   * import { paidRequest, x402Protect } from 'express-x402-gateway'
   *
   * const app = express()
   * app.get('/search', x402Protect({ upTo: '$0.10' }), (req, res) => {
   *   const found = ['one', 'two']
   *   paidRequest(req).charge('$0.005')
   *   for (const _result of found) paidRequest(req).charge('$0.001')
   *   res.json(found)
   * })
   * ```
   */
  readonly charge: (amount: Price) => void
}

/**
 * A request that is let in by a sign-in, as its handler sees it in `req.x402`: it pays nothing, because its caller
 * has access, or because it is free for this caller. A price function sees it for each caller who has signed in.
 *
 * @example
 * ```ts
 * import type { PriceFunction } from 'express-x402-gateway'
 *
 * const members = new Set(['0x70997970C51812dc3A010C7d01b50e0d17dc79C8'])
 * const cheapForMembers: PriceFunction = ({ x402 }) =>
 *   x402?.signedIn && members.has(x402.signedIn.address) ? '$0.01' : '$0.10'
 * ```
 */
export interface SignedInRequest<Input = unknown> extends Readonly<
  Partial<Record<Exclude<keyof PaidRequest, 'input' | 'signedIn'>, undefined>>
> {
  /** Who has signed in. */
  readonly signedIn: SignedIn
  /** As of {@link PaidRequest}. */
  readonly input: Input
}

/**
 * What the schemas of an option `input` make of a request.
 *
 * @example
 * ```ts
 * import type { InputOf } from 'express-x402-gateway'
 * import { z } from 'zod'
 *
 * const input = { query: z.object({ city: z.string() }) }
 * const cityOf = ({ query }: InputOf<typeof input>): string => query.city
 * ```
 */
export type InputOf<Input extends RouteInput> = {
  readonly [Part in keyof Input]: Input[Part] extends {
    readonly _zod: { readonly output: infer Output }
  }
    ? Output
    : unknown
}

/** `res.locals` behind a route with an option `input`. */
// oxlint-disable-next-line typescript/consistent-type-definitions -- Express takes no interface for locals
export type X402Locals<Input> = { x402?: PaidRequest<Input> | SignedInRequest<Input> }

/**
 * The payment of a request, with the input that its `res.locals` are typed with.
 *
 * Nothing is inferred or narrowed: where a program sees the types of both ES modules and CommonJS, they must be
 * identical.
 */
type PaidBehind<Req> = KnownPaid<NonNullable<At<At<NonNullable<At<Req, 'res'>>, 'locals'>, 'x402'>>>

type At<T, Key> = T[keyof T & Key]

/** Locals that are not typed have `any`, and other requests none. */
type KnownPaid<Paid> = 0 extends 1 & Paid
  ? AnyPaidRequest
  : [Paid] extends [never]
    ? AnyPaidRequest
    : Paid

// oxlint-disable-next-line typescript/no-explicit-any -- handlers that are typed are handlers of any request
type AnyPaidRequest = PaidRequest<any> | SignedInRequest<any>

declare global {
  // eslint-disable-next-line @typescript-eslint/no-namespace -- the way Express's types are extended
  namespace Express {
    interface Request {
      /**
       * The payment for this request. Present behind `x402Protect`, except for requests that its `skip`
       * or a price of zero let through unpaid. Where a sign-in let the request in, it has no payer.
       * `paidRequest(req)` is for handlers that always have a payment.
       */
      x402?: PaidBehind<this>
    }
  }
}

/**
 * The payment for a request, for handlers that never run without one.
 *
 * @param req - The request, behind `x402Protect`.
 * @returns What `req.x402` is, never `undefined`.
 * @throws {@link ConfigError} (`unpaid_request`) if nothing was paid: the route is not protected, or its
 * `skip`, a sign-in or a price of zero let the request pass. A handler for such routes reads `req.x402?.payer`.
 *
 * @example
 * ```ts
 * import express from 'express'
 * import { paidRequest, x402Protect } from 'express-x402-gateway'
 *
 * const app = express()
 * app.get('/report', x402Protect('$0.25'), (req, res) => {
 *   const { payer, amount } = paidRequest(req)
 *   res.json({ paidBy: payer, units: amount })
 * })
 * ```
 */
export function paidRequest<Input>(req: {
  x402?: PaidRequest<Input> | SignedInRequest<Input>
}): PaidRequest<Input> {
  if (req.x402?.payer !== undefined) return req.x402
  throw new ConfigError(
    'req.x402',
    'nothing was paid for this request: the route is not protected by x402Protect, or skip, a sign-in or a price of zero let the request pass; use req.x402?. where that may be',
    'unpaid_request',
  )
}

/** @throws `ConfigError` for the second of two `x402Protect`: one payment cannot pay for both. */
export function requireOnce(req: Request): void {
  if (req.x402 === undefined) return
  const { method, baseUrl, path } = req
  throw new ConfigError(
    'x402Protect',
    `two of them protect ${method} ${baseUrl}${path}: no request could be paid; remove one, or let it skip`,
    'conflicting_options',
  )
}
