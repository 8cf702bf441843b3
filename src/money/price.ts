import { ConfigError } from '../errors.js'
import { findNetwork } from '../protocol/networks.js'
import { isHexAddress, parseUint256 } from '../protocol/primitives.js'
import { currencyOfSign, explainCurrency, isCurrency } from './currency.js'
import { decimalFromNumber, parseDecimal, type Decimal } from './decimal.js'
import { explainAmount, showValue } from './explain-amount.js'

/**
 * What something costs, as a developer writes it.
 *
 * A string with its currency (`'$0.01'`, `'€0.01'`, `'0.01 EUR'`, `'EUR 0.01'`) or without one
 * (`'0.01'`, in the merchant's currency); a number in the merchant's currency; amount and currency
 * apart; or atomic units of one token, which are neither converted nor rounded.
 */
export type Price =
  | string
  | number
  | { readonly amount: string | number; readonly currency: string }
  | { readonly asset: string; readonly network: string; readonly amount: string | bigint }

/** A price after parsing. */
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

/** Options of {@link parsePrice}. */
export interface ParsePriceOptions {
  /** Currency of a price that names none (ISO 4217). */
  readonly defaultCurrency: string
  /** Whether a price of zero is allowed. @defaultValue false */
  readonly allowFree?: boolean
  /** Path of the price, for errors. @defaultValue `'price'` */
  readonly option?: string
}

const FORMS = "write '$0.01', '0.01 EUR', 0.01 or { amount: '0.01', currency: 'EUR' }"

const LETTERS = /^[A-Za-z]+$/

/**
 * Reads a price.
 *
 * More digits than the currency has are allowed: a tenth of a cent is a usual price here. Whether a
 * token can hold them is checked when the token is known.
 *
 * @throws {@link ConfigError} for anything ambiguous or meaningless: thousands separators, decimal
 * commas, exponents, signs, unknown currencies, and zero without `allowFree`.
 */
export function parsePrice(price: unknown, options: ParsePriceOptions): ParsedPrice {
  const { option = 'price', allowFree = false } = options
  const parsed = readPrice(price, { option, defaultCurrency: options.defaultCurrency })
  const units = parsed.kind === 'fiat' ? parsed.amount.units : parsed.amount
  if (units === 0n && !allowFree)
    throw new ConfigError(
      option,
      'the price is zero; if free is meant, set allowFree: true',
      'invalid_price',
    )
  return parsed
}

/** What is known beside the price. */
interface Context {
  /** Path of the price, for errors. */
  readonly option: string
  readonly defaultCurrency: string
  /** The whole text that the amount is a part of, for errors. */
  readonly text?: string
}

function readPrice(price: unknown, context: Context): ParsedPrice {
  if (typeof price === 'string') return readText(price, context)
  if (typeof price === 'number')
    return { kind: 'fiat', amount: readAmount(price, context), currency: context.defaultCurrency }
  if (isRecord(price) && 'asset' in price) return readAssetPrice(price, context)
  if (isRecord(price) && 'currency' in price) {
    const currency = readCurrency(price.currency, context)
    return { kind: 'fiat', amount: readAmount(price.amount, context), currency }
  }
  throw new ConfigError(
    context.option,
    `${showValue(price)} is not a price: ${FORMS}`,
    'invalid_price',
  )
}

function readText(price: string, context: Context): ParsedPrice {
  const { amount, currency } = splitText(price)
  if (currency === '¥')
    throw new ConfigError(
      context.option,
      `the sign of ${showValue(price)} may mean yen or yuan; write '100 JPY' or '100 CNY'`,
      'invalid_price',
    )
  return {
    kind: 'fiat',
    amount: readAmount(amount, { ...context, text: price }),
    currency: currency === undefined ? context.defaultCurrency : readCurrency(currency, context),
  }
}

/** Separates the currency from the amount, which is not parsed yet. */
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

function readAmount(amount: unknown, { option, text }: Context): Decimal {
  if (typeof amount === 'number') {
    const value = decimalFromNumber(amount)
    if (value !== undefined) return value
    throw new ConfigError(
      option,
      `${amount} is not a price: it must be finite and not negative`,
      'invalid_price',
    )
  }
  if (typeof amount !== 'string')
    throw new ConfigError(
      option,
      `${showValue(amount)} is no amount; write a string, e.g. '0.01'`,
      'invalid_price',
    )
  const value = parseDecimal(amount)
  if (value !== undefined) return value
  throw new ConfigError(
    option,
    `${showValue(text ?? amount)} is not a price: ${explainAmount(amount, FORMS)}`,
    'invalid_price',
  )
}

function readCurrency(currency: unknown, { option }: Context): string {
  if (isCurrency(currency)) return currency
  throw new ConfigError(option, explainCurrency(currency), 'unknown_currency')
}

function readAssetPrice(price: Record<string, unknown>, { option }: Context): ParsedPrice {
  const { asset, amount } = price
  if ('currency' in price)
    throw new ConfigError(
      option,
      'a price is in a currency or in an asset; leave out one of them',
      'conflicting_options',
    )
  if (typeof asset !== 'string' || asset === '' || (/^0x/i.test(asset) && !isHexAddress(asset)))
    throw new ConfigError(
      option,
      `${showValue(asset)} is no asset; write its symbol or address`,
      'invalid_price',
    )
  const network = typeof price.network === 'string' ? findNetwork(price.network) : undefined
  if (network === undefined)
    throw new ConfigError(
      option,
      `${showValue(price.network)} is no network we know; write 'base' or 'eip155:8453'`,
      'unknown_network',
    )
  const units = readAtomicAmount(amount)
  if (units === undefined)
    throw new ConfigError(
      option,
      `${showValue(amount)} is no number of atomic units; write a string of digits or a bigint, e.g. '10000'`,
      'invalid_price',
    )
  return { kind: 'asset', asset, network: network.caip2, amount: units }
}

function readAtomicAmount(amount: unknown): bigint | undefined {
  const text = typeof amount === 'bigint' ? amount.toString() : amount
  return typeof text === 'string' ? parseUint256(text) : undefined
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}
