/** Prices that are a maximum: the handler says what is charged. */
import { ConfigError, type ConfigIssue } from '../../shared/errors.js'
import { findAcceptedAsset, type Merchant } from '../../core/merchants/project.js'
import { compare } from '../../shared/money/decimal.js'
import type { ParsedPrice, Price } from '../../shared/money/price.js'
import { isObject } from '../../shared/protocol/document.js'
import { ELSEWHERE } from '../../shared/protocol/option-issues.js'
import { isFree } from './checked-price.js'
import { speaksMpp, type PriceFunction, type ProtectOptions } from './options.js'

/**
 * The most that a request may cost. Its handler says what was used, with `charge` of {@link PaidRequest}.
 *
 * The payer signs for the maximum (scheme `upto`), and what is charged is taken after the response has ended.
 *
 * @example
 * ```ts
 * import express from 'express'
 * import { paidRequest, x402Protect } from 'express-x402-gateway'
 *
 * const app = express()
 * app.post('/translate', express.text(), x402Protect({ upTo: '$0.10' }), (req, res) => {
 *   const text = String(req.body)
 *   paidRequest(req).charge((text.length * 0.00001).toFixed(6))
 *   res.send(text.toUpperCase())
 * })
 * ```
 */
export interface UpToPrice {
  /** The maximum, or a function of the request. It is what the payer must have. */
  readonly upTo: Price | PriceFunction
  /**
   * What is charged if the handler does not call `charge`: in the currency of `upTo`, or units of the same token.
   * @defaultValue the maximum
   */
  readonly defaultCharge?: Price | undefined
}

/** A price as it is declared: fixed, or the most that may be charged. */
export type DeclaredPrice = Price | PriceFunction | UpToPrice

/** A declared price, taken apart. */
export interface ReadPrice {
  readonly price: Price | PriceFunction
  /** Absent where the price is fixed. */
  readonly maximum?: Pick<UpToPrice, 'defaultCharge'> | undefined
}

/** @throws `ConfigError` if options are mixed with a price. */
export function readDeclaredPrice(declared: DeclaredPrice): ReadPrice {
  if (isObject(declared) && 'upto' in declared)
    throw new ConfigError('upto', "there is no such price; did you mean 'upTo'?", 'unknown_option')
  if (!isUpTo(declared) && !isOfficial(declared)) return { price: declared }
  const { upTo: price, defaultCharge, ...others } = declared
  const issues = Object.keys(others).map((option): ConfigIssue => ({
    option,
    code: 'conflicting_options',
    message: ELSEWHERE.get(option) ?? BESIDE,
  }))
  if (issues.length > 0) throw new ConfigError(issues)
  return { price, maximum: { defaultCharge } }
}

const CONFLICTS = {
  protocols:
    "has 'mpp', which charges what was signed, but with upTo less may be charged: remove one of the two",
  access:
    'lets requests in that pay nothing, but with upTo each is charged for what it used: remove one of the two',
  upTo: "what was used is known once the handler has answered, but with paymentFlow: 'upfront' the payment is settled before: remove one of the two",
}

/** @throws `ConfigError` for options that no maximum can have. */
export function checkFlow(
  options: Pick<ProtectOptions, 'paymentFlow' | 'access' | 'protocols'>,
): void {
  const refuse = (option: keyof typeof CONFLICTS): never => {
    throw new ConfigError(option, CONFLICTS[option], 'conflicting_options')
  }
  if (speaksMpp(options)) refuse('protocols')
  if (options.access !== undefined) refuse('access')
  if (options.paymentFlow === 'upfront') refuse('upTo')
}

const BESIDE =
  "does not belong beside the price: options follow it, x402Protect('$0.01', { … }) or x402Protect({ upTo: '$0.10' }, { … })"

/** Whether a price is in an object with all the rest, as other x402 middleware takes it. */
function isOfficial(declared: DeclaredPrice | UpToPrice): declared is UpToPrice {
  return isObject(declared) && ('price' in declared || 'accepts' in declared)
}

export function isUpTo<T>(declared: T): declared is Extract<T, { readonly upTo: unknown }> {
  return isObject(declared) && 'upTo' in declared
}

/** @throws `ConfigError` for a default that cannot be charged of a maximum. */
export function checkDefaultCharge(
  charge: ParsedPrice | undefined,
  maximum: ParsedPrice,
  merchant: Merchant,
): void {
  if (charge === undefined || isFree(maximum)) return
  const amounts = comparable(charge, maximum, merchant)
  if (amounts === undefined)
    throw new ConfigError(
      'defaultCharge',
      'must be in the currency of `upTo`, or units of the same token',
      'invalid_price',
    )
  if (compare(...amounts) > 0)
    throw new ConfigError('defaultCharge', 'is more than `upTo`, the maximum', 'out_of_range')
}

function comparable(one: ParsedPrice, other: ParsedPrice, merchant: Merchant) {
  if (one.kind === 'fiat')
    return other.kind === 'fiat' && one.currency === other.currency
      ? ([one.amount, other.amount] as const)
      : undefined
  if (other.kind === 'fiat') return undefined
  const [asset, same] = [one, other].map((price) => findAcceptedAsset(merchant, price))
  if (asset === undefined || asset !== same) return undefined
  return [
    { units: one.amount, scale: 0 },
    { units: other.amount, scale: 0 },
  ] as const
}
