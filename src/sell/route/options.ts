import type { Request, Response } from 'express'
import { z } from 'zod'
import { MAX_HELD_BYTES_TOTAL } from '../hold/held-budget.js'
import type { RouteExamples, RouteInput, RouteSchema } from '../../core/catalogue/declaration.js'
import { describingFields } from '../../core/catalogue/declaration.js'
import { durationSchema } from '../../shared/duration.js'
import { ConfigError } from '../../shared/errors.js'
import { isReference, NOT_A_REFERENCE } from '../../ledger/payment-details.js'
import type { RedeemWithoutProof } from '../../ledger/purchase.js'
import type { Merchant } from '../../core/merchants/project.js'
import type { Price } from '../../shared/money/price.js'
import { isObject } from '../../shared/protocol/document.js'
import { readOptions } from '../../shared/protocol/option-issues.js'
import type { PaymentFlow } from '../../shared/protocol/payment.js'
import { paywallSchema, type PaywallOptions, type RoutePaywall } from '../paywall/options.js'

/**
 * A function of the request. As with Express's own handlers, its parameter may be typed by the route:
 * `(req: Request<{ id: string }>) => …`.
 *
 * @example
 * ```ts
 * import type { Request } from 'express'
 * import { x402Protect } from 'express-x402-gateway'
 *
 * const byPages = (req: Request<{ pages: string }>) => `$${(Number(req.params.pages) * 0.02).toFixed(2)}`
 * export const sellPages = x402Protect(byPages)
 * ```
 */
export type RequestFunction<Result> = {
  // Parameters of a method, unlike those of a function, are compared in both directions.
  of(req: Request): Result
}['of']

/**
 * A price that depends on the request.
 *
 * It runs for each request, paid or not, and should have no side effects. What it throws goes to the
 * app's error handlers, and nothing is charged.
 *
 * @param req - The request. Its body is there only if the app parsed it before the route.
 * @returns The price, in any form that a fixed price may have.
 *
 * @example
 * ```ts
 * import type { PriceFunction } from 'express-x402-gateway'
 *
 * const perPage: PriceFunction = (req) => `$${(Number(req.query['pages'] ?? 1) * 0.02).toFixed(2)}`
 * ```
 */
export type PriceFunction = RequestFunction<Price | Promise<Price>>

/**
 * Chooses who is paid for a request, for example the seller of a marketplace.
 *
 * It runs once for each request, paid or not, and must choose the same project when a request comes
 * again with its payment: a payment for another merchant is refused with a fresh 402. What it throws,
 * and the id of a project that does not exist, goes to the app's error handlers, and nothing is charged.
 *
 * @param req - The request. Its parameters are those of the route.
 * @returns Id of the project that is paid.
 *
 * @example
 * ```ts
 * import type { MerchantFunction } from 'express-x402-gateway'
 *
 * const sellers = new Map([['maps', 'acme']])
 * const seller: MerchantFunction = (req) => sellers.get(String(req.params['shop'])) ?? 'house'
 * ```
 */
export type MerchantFunction = RequestFunction<string | Promise<string>>

/**
 * Options of `x402Protect`, for one route.
 *
 * @example
 * ```ts
 * import type { ProtectOptions } from 'express-x402-gateway'
 *
 * const options: ProtectOptions = {
 *   description: 'The weather of the next ten days',
 *   mimeType: 'application/json',
 *   skip: (req) => req.get('x-api-key') === process.env['MEMBER_KEY'],
 * }
 * ```
 */
export interface ProtectOptions<Input extends RouteInput | undefined = RouteInput | undefined> {
  /** What is for sale, for people and agents: `'The weather today'`. @defaultValue empty */
  readonly description?: string | undefined
  /** Media type of the response: `'application/json'`. @defaultValue not mentioned */
  readonly mimeType?: string | undefined
  /**
   * Schemas for the request's `params`, `query`, `headers` and `body`, written with zod 4 or as JSON Schema. A
   * request is checked before it is asked to pay: one that does not fit gets a 400 with every mistake, and
   * nothing is charged. The handler has what the schemas make of it in `req.x402.input`. Catalogues and
   * the OpenAPI document show the schemas. @defaultValue nothing is checked
   */
  readonly input?: Input
  /** Schema of the response, for catalogues and the OpenAPI document. @defaultValue not mentioned */
  readonly output?: RouteSchema
  /** Examples for catalogues and the OpenAPI document. @defaultValue none */
  readonly examples?: RouteExamples
  /** Words under which catalogues list the route: at most 5, of at most 32 characters. @defaultValue none */
  readonly tags?: readonly string[]
  /** The route in a few words, for the OpenAPI document. @defaultValue `description` */
  readonly summary?: string
  /** Name of the route in generated clients, unique in the app. @defaultValue made of method and path */
  readonly operationId?: string
  /**
   * Id of the project that is paid, or a function that chooses it for each request. With the gateway's
   * option `admin`, it may be one that is made later: until it has a merchant, requests get a 503.
   * @defaultValue the only project with a merchant
   */
  readonly merchant?: string | MerchantFunction | undefined
  /**
   * When the payment is settled. `authorization`: after the handler has responded; if the handler
   * fails, nothing is charged. `upfront`: before the handler runs, so that it may stream.
   * @defaultValue `'authorization'`
   */
  readonly paymentFlow?: PaymentFlow | undefined
  /**
   * Whether an answer is charged for: `(_res, body) => !JSON.parse(body.toString()).error`. It is asked
   * once the handler has ended a response that would be charged for, not one of 400 or above, and before
   * anything of it is sent. An answer that is not charged for is sent as it is, without
   * `PAYMENT-RESPONSE`, and the payment is good for another request. If the function throws or returns
   * anything but a boolean, the error goes to the app's error handlers, and nothing is charged.
   *
   * `body` is what the handler wrote, empty for `HEAD`. It needs `paymentFlow: 'authorization'`. A handler
   * that knows by itself calls `paidRequest(req).waive()`.
   * @defaultValue every complete response below 400, and no 304
   */
  readonly chargeIf?: ((res: Response, body: Buffer) => boolean) | undefined
  /**
   * How long an authorization should be valid, in seconds from 10 to 86400. Payers are asked to sign
   * for that long. @defaultValue the merchant's
   */
  readonly maxTimeoutSeconds?: number | undefined
  /**
   * How long an authorization must still be valid when it is presented, in seconds: the time that the
   * handler and the settlement take. One that lapses sooner is refused before the handler runs.
   * @defaultValue `min(30, maxTimeoutSeconds / 2)`; with `upfront`, what the settlement takes
   */
  readonly minValiditySeconds?: number | undefined
  /** Whether a request is free, for example a member's or a health check. @defaultValue never */
  readonly skip?: RequestFunction<boolean | Promise<boolean>> | undefined
  /**
   * The URL that is paid for.
   * @defaultValue `publicUrl` of the gateway or the request's own host, with the request's path
   */
  readonly resourceUrl?: RequestFunction<string> | undefined
  /**
   * Bytes of a response that are held until it is paid for, 256 MiB at most: that is the limit of all
   * responses together. @defaultValue 10 MiB
   */
  readonly maxHeldBytes?: number | undefined
  /** Whether a price of zero is intended: such a request is let through. @defaultValue false */
  readonly allowFree?: boolean | undefined
  /**
   * The least and the most that a price function asks, in one currency: `['$0.01', '$2.00']`. OpenAPI and llms.txt show
   * them, and another price is an error. @defaultValue none: a price from a function shows no range
   */
  readonly priceRange?: readonly [Price, Price] | undefined
  /**
   * Names what a price from a function depends on beside method, URL and parsed body: the user's id, the
   * user's plan; `''` if nothing else. With it, the price is signed, and honoured for `maxTimeoutSeconds`
   * even if it has changed since, as prices with a rate are: for the same method, URL and body, where this
   * returns the same string again. A price for a body that was not parsed is never signed.
   * @defaultValue none: prices from a function are not signed
   */
  readonly quoteFor?: RequestFunction<string> | undefined
  /**
   * Fixed prices that the route had before, for the days after a change. Payments that were taken, and quotes that
   * were signed, at one of them buy the route nevertheless; without it they are refused (`price_changed`).
   * @defaultValue none
   */
  readonly earlierPrices?: readonly Price[] | undefined
  /**
   * Who may redeem an open payment (paid, but not responded to yet) if the client dropped the
   * `extra.offerId` of its offer and sent no `payment-identifier`: nobody (`'never'`), or the address
   * that presented it first, by `req.ip` (`'same-address'`).
   * @defaultValue the merchant's, or `'same-address'`
   */
  readonly redeemWithoutProof?: RedeemWithoutProof | undefined
  /**
   * Whether buyers of x402 version 1 (`x402-fetch`, `x402-axios`) are served beside those of version 2: the
   * body of the 402 is of version 1 then, and its header of version 2. They send no `extra.offerId`, so an
   * open payment of theirs is redeemed as `redeemWithoutProof` says. @defaultValue the merchant's
   */
  readonly v1?: boolean
  /**
   * Protocols that buyers may pay in. `'mpp'` takes ERC-3009 tokens (MPP, method `evm`), in `Authorization: Payment` or
   * in `org.paymentauth/credential` of a tool call's `_meta`. @defaultValue `['x402']`
   */
  readonly protocols?: readonly ('x402' | 'mpp')[] | undefined
  /**
   * Your own name for what is bought, for example an order number: 1 to 200 visible characters. It is
   * kept with the payment, and settlements are found by it. A function runs for each request that
   * presents a payment, before anything is charged. @defaultValue none
   */
  readonly reference?: string | RequestFunction<string> | undefined
  /**
   * How long who has paid may come back without paying again, by Sign-In-With-X: `'30m'`, `'24h'`, `'7d'`. It
   * begins when what was paid for is delivered, holds at every gateway of the ledger, and ends with a refund. It is
   * for the URL that was paid for, with any query and body, at the price that was paid or has followed it: see
   * `earlierPrices`. Where the price is a function, it is for what costs the same.
   * @defaultValue none: every request is paid for
   */
  readonly access?: string | undefined
  /**
   * Names routes of one merchant that are opened together: who has paid for one of them has access to all.
   * @defaultValue each URL is opened by itself
   */
  readonly accessGroup?: string | undefined
  /**
   * Whether callers may sign in before they pay: a price function knows them by `req.x402.signedIn`. A price of
   * zero then lets in only who has signed in. @defaultValue false
   */
  readonly signIn?: boolean | undefined
  /**
   * The page that browsers get instead of a 402 in JSON; `false` for JSON to all. Options that are left
   * out are the gateway's. @defaultValue the gateway's
   */
  readonly paywall?: PaywallOptions | false | undefined
}

/** Options of a route whose merchant is known. */
export type RouteOptions = Omit<ProtectOptions, 'merchant' | 'paywall'> & {
  readonly merchant?: string
  readonly paywall?: RoutePaywall | undefined
}

/** Whether a route takes credentials of MPP, too. */
export const speaksMpp = ({ protocols }: Pick<ProtectOptions, 'protocols'>): boolean =>
  protocols?.includes('mpp') === true

export const DEFAULT_MAX_HELD_BYTES = 10 * 1024 * 1024

const fn = z.custom<() => unknown>((value) => typeof value === 'function', 'must be a function')
const optionsSchema = z.strictObject({
  description: z.string().optional(),
  mimeType: z.string().optional(),
  ...describingFields,
  merchant: z.union([z.string(), fn]).optional(),
  paymentFlow: z.enum(['authorization', 'upfront']).optional(),
  chargeIf: fn.optional(),
  maxTimeoutSeconds: z.int().min(10).max(86_400).optional(),
  minValiditySeconds: z.number().min(0).max(86_400).optional(),
  skip: fn.optional(),
  resourceUrl: fn.optional(),
  maxHeldBytes: z.int().positive().max(MAX_HELD_BYTES_TOTAL).optional(),
  allowFree: z.boolean().optional(),
  priceRange: z
    .array(z.custom<Price>())
    .length(2, "must be the least and the most, like ['$0.01', '$2.00']")
    .optional(),
  quoteFor: fn.optional(),
  earlierPrices: z.array(z.custom<Price>()).optional(),
  redeemWithoutProof: z.enum(['never', 'same-address']).optional(),
  protocols: z
    .array(z.enum(['x402', 'mpp']))
    .refine((given) => given.includes('x402'), "must have 'x402': every paid route takes it")
    .optional(),
  reference: z
    .custom<string | (() => unknown)>(
      (value) => typeof value === 'function' || isReference(value),
      `${NOT_A_REFERENCE}, or a function that returns them`,
    )
    .optional(),
  access: durationSchema.optional(),
  accessGroup: z.string().min(1).max(200).optional(),
  signIn: z.boolean().optional(),
  paywall: paywallSchema.optional(),
  v1: z.boolean().optional(),
})

/** Names of all options of routes. */
export const ROUTE_OPTION_NAMES: readonly string[] = Object.keys(optionsSchema.shape)

const NO_OPTIONS = "must be an object: x402Protect('$0.01', { description: 'The weather today' })"

/**
 * Checks the form of a route's options.
 *
 * @throws `ConfigError` with everything that is wrong.
 */
export function checkOptions(options: ProtectOptions): void {
  if (!isObject(options)) throw new ConfigError('options', NO_OPTIONS, 'invalid_type')
  const read = readOptions(optionsSchema, options)
  if (!read.ok) throw new ConfigError(read.issues)
  if (options.accessGroup !== undefined && options.access === undefined)
    throw new ConfigError(
      'accessGroup',
      "says what is opened, but not for how long: set access as well, e.g. access: '24h'",
      'conflicting_options',
    )
  if (options.chargeIf !== undefined && options.paymentFlow === 'upfront')
    throw new ConfigError(
      'chargeIf',
      "is asked once the handler has answered, but with paymentFlow: 'upfront' the payment is settled before: remove one of the two",
      'conflicting_options',
    )
}

/** Refuses a `minValiditySeconds` that a payer who signs as the 402 asks cannot meet. @internal */
export function checkValidity(
  {
    minValiditySeconds = 0,
    maxTimeoutSeconds,
  }: Pick<ProtectOptions, 'minValiditySeconds' | 'maxTimeoutSeconds'>,
  merchant: Merchant,
): void {
  const signed = maxTimeoutSeconds ?? merchant.maxTimeoutSeconds
  if (minValiditySeconds > signed)
    throw new ConfigError(
      'minValiditySeconds',
      `is more than the ${signed} seconds that payers are asked to sign for (maxTimeoutSeconds)`,
      'conflicting_options',
    )
}
