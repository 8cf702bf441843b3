import { ConfigError } from '../errors.js'
import { findNetwork } from '../protocol/networks.js'
import { suggestNetwork } from '../protocol/suggest-network.js'
import { isHexAddress, parseUint256 } from '../protocol/primitives.js'
import { isTokenSymbol } from './assets.js'
import { currencyOfSign, explainCurrency, isCurrency } from './currency.js'
import { readDecimal, type Decimal } from './decimal.js'
import { explainAmount, showValue } from './explain-amount.js'

/**
 * A price.
 *
 * A string with a currency (`'$0.01'`, `'€0.01'`, `'0.01 EUR'`, `'EUR 0.01'`) or without one (`'0.01'`,
 * in the merchant's currency); a number in the merchant's currency; an object of amount and currency;
 * or atomic units of one token, which are neither converted nor rounded.
 *
 * @example
 * ```ts
 * import type { Price } from 'express-x402-gateway'
 *
 * const cent: Price = '$0.01'
 * const euro: Price = { amount: '0.01', currency: 'EUR' }
 * const units: Price = { asset: 'USDC', network: 'base', amount: '10000' }
 * ```
 */
export type Price =
  | string
  | number
  | { readonly amount: string | number; readonly currency: string }
  | { readonly asset: string; readonly network: string; readonly amount: string | bigint }

export type ParsedPrice =
  | { readonly kind: 'fiat'; readonly amount: Decimal; readonly currency: string }
  | {
      readonly kind: 'asset'
      /** Symbol or address, as given. */
      readonly asset: string
      /** CAIP-2. */
      readonly network: string
      /** Atomic units. */
      readonly amount: bigint
    }

export interface ParsePriceOptions {
  /** Currency of a price without one (ISO 4217). */
  readonly defaultCurrency: string
  /** Allows a price of zero. @defaultValue false */
  readonly allowFree?: boolean
  /** Path of the price, for errors. @defaultValue `'price'` */
  readonly option?: string
}

const FORMS = "write '$0.01', '0.01 EUR', 0.01 or { amount: '0.01', currency: 'EUR' }"

const LETTERS = /^[A-Za-z]+$/

/**
 * Parses a price.
 *
 * A price may have more digits than its currency: a tenth of a cent is common here. The token's digits
 * are checked later.
 *
 * @throws {@link ConfigError} for ambiguous and meaningless prices: thousands separators, decimal
 * commas, exponents, signs, unknown currencies, and zero without `allowFree`.
 */
export function parsePrice(price: unknown, options: ParsePriceOptions): ParsedPrice {
  const parsed = readPrice(price, options)
  const units = parsed.kind === 'fiat' ? parsed.amount.units : parsed.amount
  if (units === 0n && options.allowFree !== true)
    throw invalid(options, 'the price is zero: set allowFree: true on a route that may be free')
  return parsed
}

function invalid({ option = 'price' }: ParsePriceOptions, message: string): ConfigError {
  return new ConfigError(option, message, 'invalid_price')
}

function readPrice(price: unknown, options: ParsePriceOptions): ParsedPrice {
  const { defaultCurrency } = options
  if (typeof price === 'string') return readText(price, options)
  if (typeof price === 'number')
    return { kind: 'fiat', amount: readAmount(price, options), currency: defaultCurrency }
  if (isRecord(price) && 'asset' in price) return readAssetPrice(price, options)
  if (isRecord(price) && 'currency' in price) {
    const currency = readCurrency(price.currency, options)
    return { kind: 'fiat', amount: readAmount(price.amount, options), currency }
  }
  if (isRecord(price) && 'amount' in price)
    throw invalid(
      options,
      "this object is not a price: its currency is missing; write { amount: '0.01', currency: 'EUR' }",
    )
  throw invalid(options, `${showValue(price)} is not a price: ${FORMS}`)
}

function readText(price: string, options: ParsePriceOptions): ParsedPrice {
  const { amount, currency = options.defaultCurrency } = splitText(price)
  if (currency === '¥') {
    const message = `the sign of ${showValue(price)} may mean yen or yuan; write '100 JPY' or '100 CNY'`
    throw invalid(options, message)
  }
  const [, second] = /^[\d.]+ ([A-Za-z]+)$/.exec(amount) ?? []
  if (second !== undefined) {
    const message = `${showValue(price)} names its currency twice; write '0.01 USD', or { asset: 'USDC', network: 'base', amount: '10000' }`
    throw invalid(options, message)
  }
  return {
    kind: 'fiat',
    amount: readAmount(amount, options, price),
    currency: readCurrency(currency, options),
  }
}

function splitText(price: string): { amount: string; currency?: string } {
  const sign = price.slice(0, 1)
  const unsigned = price.slice(1)
  if (sign === '¥' || sign === '\uffe5') return { amount: unsigned, currency: '¥' }
  const currency = currencyOfSign(sign)
  if (currency !== undefined) return { amount: unsigned, currency }

  const [first = '', second = '', ...others] = price.split(' ')
  if (others.length === 0 && LETTERS.test(first)) return { amount: second, currency: first }
  if (others.length === 0 && LETTERS.test(second)) return { amount: first, currency: second }
  return { amount: price }
}

/** @param text - The whole text, for errors. */
function readAmount(amount: unknown, options: ParsePriceOptions, text = amount): Decimal {
  const value = readDecimal(amount)
  if (value !== undefined) return value
  if (typeof amount === 'number')
    throw invalid(options, `${amount} is not a price: it must be finite and not negative`)
  if (typeof amount !== 'string')
    throw invalid(options, `${describeWrong(amount, 'amount')}; write a string, e.g. '0.01'`)
  throw invalid(options, `${showValue(text)} is not a price: ${explainAmount(amount, FORMS)}`)
}

function readCurrency(currency: unknown, { option = 'price' }: ParsePriceOptions): string {
  if (isCurrency(currency)) return currency
  const symbol = typeof currency === 'string' ? currency.toUpperCase() : undefined
  const token = isTokenSymbol(symbol) ? symbol : 'USDC'
  const tokens = isCurrency(symbol)
    ? ''
    : `; for the token ${token}, write the currency of its peg, e.g. '0.01 USD', or { asset: '${token}', network: 'base', amount: '10000' }`
  throw new ConfigError(option, explainCurrency(currency) + tokens, 'unknown_currency')
}

function readAssetPrice(price: Record<string, unknown>, options: ParsePriceOptions): ParsedPrice {
  const { option = 'price' } = options
  const { asset, amount } = price
  if ('currency' in price) {
    const message = 'a price is in a currency or in an asset; leave out one of them'
    throw new ConfigError(option, message, 'conflicting_options')
  }
  if (typeof asset !== 'string' || asset === '' || (/^0x/i.test(asset) && !isHexAddress(asset)))
    throw invalid(options, `${describeWrong(asset, 'asset')}; write its symbol or address`)
  const network = typeof price.network === 'string' ? findNetwork(price.network) : undefined
  if (network === undefined) {
    const meant = typeof price.network === 'string' ? suggestNetwork(price.network) : undefined
    const instead =
      meant === undefined ? "write 'base' or 'eip155:8453'" : `did you mean '${meant}'?`
    const message = `${describeWrong(price.network, 'network')}; ${instead}`
    throw new ConfigError(option, message, 'unknown_network')
  }
  const text = typeof amount === 'bigint' ? amount.toString() : amount
  const units = typeof text === 'string' ? parseUint256(text) : undefined
  if (units !== undefined) return { kind: 'asset', asset, network: network.caip2, amount: units }
  const forms = "write a string of digits or a bigint, e.g. '10000'"
  throw invalid(options, `${describeWrong(amount, 'number of atomic units')}; ${forms}`)
}

function describeWrong(value: unknown, noun: string): string {
  if (value === undefined) return `the ${noun} is missing`
  return `${showValue(value)} is not ${/^[aeiou]/.test(noun) ? 'an' : 'a'} ${noun}`
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}
