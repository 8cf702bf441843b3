import type { Request } from 'express'
import { z } from 'zod'
import { ConfigError, isRateError, type ConfigIssue } from '../errors.js'
import type { RedeemWithoutProof } from '../ledger/purchase.js'
import type { Logger } from '../logger.js'
import { findAcceptedAsset, type Merchant } from '../merchants/project.js'
import { createQuoter, type Quote, type QuoteStyle } from '../merchants/quote.js'
import { signQuote } from '../merchants/signed-quote.js'
import { parsePrice, type ParsedPrice, type Price } from '../money/price.js'
import type { RateSource } from '../money/rates.js'
import { isBelowOneUnit } from '../money/token-amount.js'
import { PAYMENT_SIGNATURE, X_PAYMENT } from '../protocol/headers.js'
import type { NetworkNameStyle } from '../protocol/networks.js'
import type { PaymentFlow, PaymentRequirements, ResourceInfo } from '../protocol/payment.js'
import { publicRootOf } from '../http/public-url.js'
import { clientLimitWarning } from './client-limits.js'
import { offerOf, quotedRequest, type Offer, type SigningContext } from './offer.js'
import { prepareUnpaidAnswer, type UnpaidAnswer } from './prepared-offer.js'

/** A price that depends on the request. */
export type PriceFunction = (req: Request) => Price | Promise<Price>

/** Options of `x402Protect`. */
export interface ProtectOptions {
  /** What is for sale, for people and agents. */
  readonly description?: string
  /** Media type of the answer. */
  readonly mimeType?: string
  /** Id of the project that is paid. @defaultValue the only one with a merchant */
  readonly merchant?: string
  /**
   * When the money moves. `authorization`: after the handler has answered, which costs nothing when
   * it fails. `upfront`: before it runs, so that it may stream. @defaultValue `'authorization'`
   */
  readonly paymentFlow?: PaymentFlow
  /** Seconds a payer should let an authorization live. @defaultValue the merchant's */
  readonly maxTimeoutSeconds?: number
  /**
   * Seconds that an authorization must still live when it is presented: as long as the handler and
   * the settlement take. One that lapses sooner is refused before the handler runs.
   * @defaultValue `min(30, maxTimeoutSeconds / 2)`; with `upfront`, what the settlement takes
   */
  readonly minValiditySeconds?: number
  /** Lets a request through unpaid: for members, for health checks. */
  readonly skip?: (req: Request) => boolean | Promise<boolean>
  /** The URL that is paid for. @defaultValue `publicUrl`, or the request's own host, and its path */
  readonly resourceUrl?: (req: Request) => string
  /**
   * Bytes of an answer that are held until it is paid. All answers together: `maxHeldBytesTotal` of
   * the gateway. @defaultValue 10 MiB
   */
  readonly maxHeldBytes?: number
  /** Whether a price of zero is meant: it lets the request through. @defaultValue false */
  readonly allowFree?: boolean
  /**
   * Whether a price that a function gives, or a rate has a part in, is signed, and honoured for
   * `maxTimeoutSeconds` though it has moved since: for the same method, URL and parsed body. Nothing
   * is signed for a body that was not parsed. A price function that depends on anything else, such as
   * who asks, needs `quoteFor` besides.
   * @defaultValue false for a price function without `quoteFor`, else true
   */
  readonly signQuotes?: boolean
  /**
   * Names what a price depends on beside method, URL and body: the user's id, his tariff. A quote is
   * honoured only where it gives the same again. With it, prices of a function are signed.
   */
  readonly quoteFor?: (req: Request) => string
  /**
   * Who may redeem a payment that is open (paid, but not answered yet) where the client dropped the
   * `extra.offerId` of its offer and named no `payment-identifier`: nobody, or the address that
   * presented it first, by `req.ip`. @defaultValue the merchant's, or `'same-address'`
   */
  readonly redeemWithoutProof?: RedeemWithoutProof
}

/** A route that charges, with everything checked and prepared that no request has a part in. */
export interface PaidRoute {
  readonly merchant: Merchant
  readonly paymentFlow: PaymentFlow
  readonly maxHeldBytes: number
  readonly minValiditySeconds: number | undefined
  readonly redeemWithoutProof: RedeemWithoutProof
  /** What a quote is bound to beside its request; `undefined` where there is nothing else. */
  readonly quoteFor: (req: Request) => string | undefined
  readonly skip: (req: Request) => boolean | Promise<boolean>
  /** Answers a request without a payment, where no request has a part in what that says. */
  readonly answerUnpaid: UnpaidAnswer | undefined
  /**
   * What this request costs; `undefined` when it is free.
   *
   * @throws Whatever a price function throws; {@link RateError} when there is no rate, and no payment
   * whose quote may still hold.
   */
  offer(req: Request): Promise<Offer | undefined>
  /** The entry of `accepts` for an amount that was offered before, of a token that is taken. */
  entryFor(accepted: PaymentRequirements): PaymentRequirements
}

/** What declaring a route takes of its gateway. */
export interface RouteContext extends SigningContext {
  readonly merchants: ReadonlyMap<string, Merchant>
  readonly rates: RateSource
  readonly networkNames: NetworkNameStyle
  readonly publicUrl: string | undefined
  /** Bytes of all answers that are held at once. */
  readonly maxHeldBytesTotal: number
  readonly logger: Logger
}

const DEFAULT_MAX_HELD_BYTES = 10 * 1024 * 1024

const fn = z.custom<() => unknown>((value) => typeof value === 'function', 'must be a function')
const optionsSchema = z.strictObject({
  description: z.string().optional(),
  mimeType: z.string().optional(),
  merchant: z.string().optional(),
  paymentFlow: z.enum(['authorization', 'upfront']).optional(),
  maxTimeoutSeconds: z.int().min(10).max(86_400).optional(),
  minValiditySeconds: z.number().min(0).max(86_400).optional(),
  skip: fn.optional(),
  resourceUrl: fn.optional(),
  maxHeldBytes: z.int().positive().optional(),
  allowFree: z.boolean().optional(),
  signQuotes: z.boolean().optional(),
  quoteFor: fn.optional(),
  redeemWithoutProof: z.enum(['never', 'same-address']).optional(),
})

/**
 * Declares a route that charges.
 *
 * @throws {@link ConfigError} for options or a price that cannot work.
 */
export function declareRoute(
  context: RouteContext,
  price: Price | PriceFunction,
  options: ProtectOptions = {},
): PaidRoute {
  checkOptions(options)
  const merchant = chooseMerchant(context.merchants, options.merchant)
  checkValidity(options, merchant)
  const quoter = createQuoter(merchant, context.rates)
  const style: QuoteStyle = {
    networkNames: context.networkNames,
    maxTimeoutSeconds: options.maxTimeoutSeconds,
    paymentFlow: options.paymentFlow,
  }
  const warnOnce = clientLimitWarning(merchant, context.logger)

  const isFunction = typeof price === 'function'
  const signs = options.signQuotes ?? (!isFunction || options.quoteFor !== undefined)
  const isSigned = ({ applied }: Quote): boolean => signs && (isFunction || applied !== undefined)
  const quoteFor = (req: Request): string | undefined => {
    const quotedFor: unknown = options.quoteFor?.(req)
    if (quotedFor === undefined && options.quoteFor === undefined) return undefined
    if (typeof quotedFor === 'string') return quotedFor
    throw new ConfigError('quoteFor', 'must return a string')
  }
  const quote = async (req: Request, parsed: ParsedPrice): Promise<Offer> => {
    const resource = resourceAt(urlOf(req))
    try {
      const quotes = await quoter.quote(parsed, style)
      warnOnce(quotes.map(({ entry }) => entry))
      const sign = async (one: Quote): Promise<Quote> => {
        if (!isSigned(one)) return one
        const request = quotedRequest(req, resource, quoteFor(req))
        if (request === undefined) return one
        return signQuote(context.quotes, one, { request, now: context.now() })
      }
      return offerOf(resource, await Promise.all(quotes.map(sign)))
    } catch (error) {
      if (!isRateError(error)) throw error
      if (error.code === 'amount_out_of_range') throw new ConfigError('price', error.message)
      if (error.code !== 'rate_unavailable' || !hasPayment(req)) throw error
      return offerOf(resource, [], error)
    }
  }
  const urlOf = (req: Request): string =>
    options.resourceUrl?.(req) ?? requestUrl(req, context.publicUrl)
  const resourceAt = (url: string): ResourceInfo => ({
    url,
    description: options.description ?? '',
    ...(options.mimeType !== undefined && { mimeType: options.mimeType }),
  })
  const parse = (value: unknown): ParsedPrice => {
    const parsed = parsePrice(value, {
      defaultCurrency: merchant.currency,
      allowFree: options.allowFree ?? false,
    })
    checkSmallest(parsed, merchant)
    return parsed
  }

  const fixed = typeof price === 'function' ? undefined : parse(price)
  const prepared = fixed && prepare(() => quoter.quoteFixed(fixed, style))
  if (prepared !== undefined) warnOnce(prepared)

  const answerUnpaid =
    fixed && prepared && !isFree(fixed)
      ? prepareUnpaidAnswer((url) => ({ resource: resourceAt(url), accepts: prepared }), urlOf)
      : undefined

  return {
    merchant,
    paymentFlow: options.paymentFlow ?? 'authorization',
    maxHeldBytes: heldBytes(options, context),
    // Where the money moves first, no handler has to be waited for.
    minValiditySeconds:
      options.minValiditySeconds ?? (options.paymentFlow === 'upfront' ? 0 : undefined),
    redeemWithoutProof: options.redeemWithoutProof ?? merchant.redeemWithoutProof,
    quoteFor,
    skip: options.skip ?? (() => false),
    answerUnpaid,
    async offer(req) {
      const parsed = typeof price === 'function' ? parse(await price(req)) : fixed
      if (parsed === undefined || isFree(parsed)) return undefined
      if (prepared === undefined) return quote(req, parsed)
      return offerOf(
        resourceAt(urlOf(req)),
        prepared.map((entry) => ({ entry })),
      )
    },
    entryFor(accepted) {
      const asset = findAcceptedAsset(merchant, accepted)
      if (asset === undefined) throw new TypeError('This token is not taken.')
      return quoter.entry(asset, BigInt(accepted.amount), style)
    },
  }
}

function checkOptions(options: ProtectOptions): void {
  const result = optionsSchema.safeParse(options)
  if (result.success) return
  throw new ConfigError(
    result.error.issues.flatMap((issue): readonly ConfigIssue[] => {
      if (issue.code === 'unrecognized_keys')
        return issue.keys.map((option) => ({
          option,
          code: 'unknown_option',
          message: 'x402Protect has no such option',
        }))
      const option = issue.path.join('.') || 'options'
      return [{ option, code: 'invalid_value', message: issue.message }]
    }),
  )
}

/** @throws {@link ConfigError} for an answer that all others together would leave no room for. */
function heldBytes({ maxHeldBytes }: ProtectOptions, { maxHeldBytesTotal }: RouteContext): number {
  if (maxHeldBytes === undefined) return Math.min(DEFAULT_MAX_HELD_BYTES, maxHeldBytesTotal)
  if (maxHeldBytes <= maxHeldBytesTotal) return maxHeldBytes
  throw new ConfigError(
    'maxHeldBytes',
    `is more than all answers of the gateway may take together: raise its maxHeldBytesTotal (${maxHeldBytesTotal})`,
  )
}

/** Refuses a route that no payer could pay for who signs as its 402 tells him. */
function checkValidity(
  { minValiditySeconds = 0, maxTimeoutSeconds }: ProtectOptions,
  merchant: Merchant,
): void {
  const signed = maxTimeoutSeconds ?? merchant.maxTimeoutSeconds
  if (minValiditySeconds > signed)
    throw new ConfigError(
      'minValiditySeconds',
      `is more than the ${signed} seconds that payers are asked to sign for (maxTimeoutSeconds)`,
    )
}

function chooseMerchant(
  merchants: ReadonlyMap<string, Merchant>,
  wanted: string | undefined,
): Merchant {
  const ids = [...merchants.keys()]
  if (wanted !== undefined) {
    const merchant = merchants.get(wanted)
    if (merchant !== undefined) return merchant
    throw new ConfigError(
      'merchant',
      `no project '${wanted}' has a merchant; there is ${ids.join(', ') || 'none'}`,
    )
  }
  const [only, ...others] = merchants.values()
  if (only === undefined)
    throw new ConfigError('projects', 'no project has a merchant: nobody could be paid')
  if (others.length > 0)
    throw new ConfigError('merchant', `name the project that is paid: ${ids.join(', ')}`)
  return only
}

/** Refuses prices that no token of the merchant can express but by rounding up from nothing. */
function checkSmallest(price: ParsedPrice, { accepts }: Merchant): void {
  if (price.kind === 'asset' || isFree(price)) return
  const pegged = accepts.filter(({ currency }) => currency === price.currency)
  if (pegged.length > 0 && pegged.every(({ decimals }) => isBelowOneUnit(price.amount, decimals)))
    throw new ConfigError(
      'price',
      `is less than the smallest unit of ${pegged.map(({ symbol }) => symbol).join(', ')}`,
    )
}

/** Runs a quote at declaration, where the currency is the developer's to mend. */
function prepare<T>(quote: () => T): T {
  try {
    return quote()
  } catch (error) {
    if (isRateError(error)) throw new ConfigError('price', error.message)
    throw error
  }
}

function hasPayment(req: Request): boolean {
  return [PAYMENT_SIGNATURE, X_PAYMENT].some((name) => req.get(name) !== undefined)
}

function isFree(price: ParsedPrice): boolean {
  return price.kind === 'asset' ? price.amount === 0n : price.amount.units === 0n
}

/** The URL of a request as its client sees it. */
function requestUrl(req: Request, publicUrl: string | undefined): string {
  // A request line may carry a whole URL (RFC 9112 §3.2.2).
  const path = req.originalUrl.replace(/^https?:\/\/[^/]*/i, '')
  return publicRootOf(req, publicUrl) + path
}
