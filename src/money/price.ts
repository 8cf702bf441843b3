import { ConfigError } from '../errors.js'
import { findNetwork } from '../protocol/networks.js'
import { currencyDigits, currencyOfSign, explainCurrency, isCurrency } from './currency.js'
import {
  ceilToUnits,
  decimalFromNumber,
  formatDecimal,
  parseDecimal,
  powerOfTen,
  trimDecimal,
  type Decimal,
} from './decimal.js'

/**
 * What something costs, as a developer writes it.
 *
 * A string with its currency (`'$0.01'`, `'€0.01'`, `'0.01 EUR'`, `'EUR 0.01'`) or without
 * (`'0.01'`, in the merchant's currency), a number in the merchant's currency, both parts apart,
 * or atomic units of one token, which no rate and no rounding touches.
 */
export type Price =
  | string
  | number
  | { readonly amount: string | number; readonly currency: string }
  | { readonly asset: string; readonly network: string; readonly amount: string | bigint }

/** A price that has been understood. */
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
  /** Currency of a price that names none (ISO 4217). */
  readonly defaultCurrency: string
  /** Whether a price of zero is meant. @defaultValue false */
  readonly allowFree?: boolean
  /** What errors call the price. @defaultValue 'price' */
  readonly option?: string
}

/** Amount and currency of a request, or what is wrong with which of the two. */
export type FiatAmount =
  | { readonly ok: true; readonly amount: Decimal; readonly currency: string }
  | { readonly ok: false; readonly path: 'amount' | 'currency'; readonly message: string }

/** An amount of a request, or what is wrong with it. */
export type RequestedAmount =
  { readonly ok: true; readonly amount: Decimal } | { readonly ok: false; readonly message: string }

const MAX_UINT256 = 2n ** 256n - 1n
const MAX_SHOWN_LENGTH = 60
const FORMS = "write '$0.01', '0.01 EUR', 0.01 or { amount: '0.01', currency: 'EUR' }"
const PLAIN = 'it has digits and at most one point, nothing else'

/** Token units on the wire: canonical, and no longer than 2^256 is. */
const ATOMIC_AMOUNT = /^(?:0|[1-9]\d{0,77})$/
const ADDRESS = /^0x[0-9a-fA-F]{40}$/
const LETTERS = /^[A-Za-z]+$/

/** What is wrong with a text that is no amount, the likeliest mistake first. */
const MISTAKES: ReadonlyArray<readonly [RegExp, string]> = [
  [/^$/, "it has no amount; write '0.01'"],
  [/,/, "a comma may mean thousands or decimals; write '1000' or '1.00', with a point"],
  [/^-/, 'it must not be negative'],
  [/^\+/, 'leave out the plus sign'],
  [/^\d[\d.]*e[+-]?\d+$/i, "write out the digits instead of an exponent, e.g. '1000'"],
  [/^\.\d+$/, "write the zero before the point, e.g. '0.5'"],
  [/^\d+\.$/, "leave out the point at the end, or write digits after it, e.g. '5.00'"],
  [/\..*\./, "it has two points; write thousands without separators, e.g. '1000.00'"],
  [/^0\d/, "leave out the leading zeros, e.g. '0.5'"],
  [/^\d+(\.\d+)?$/, 'it is too long'],
]

/**
 * Reads a price.
 *
 * More digits than the currency has are fine: a tenth of a cent is a usual price here. Whether a
 * token can hold them is known only once the token is.
 *
 * @throws {@link ConfigError} for whatever has two meanings or none: thousands separators, decimal
 * commas, exponents, signs, unknown currencies, and zero without `allowFree`.
 */
export function parsePrice(price: unknown, options: ParsePriceOptions): ParsedPrice {
  const { option = 'price', allowFree = false } = options
  const parsed = readPrice(price, { option, defaultCurrency: options.defaultCurrency })
  const units = parsed.kind === 'fiat' ? parsed.amount.units : parsed.amount
  if (units === 0n && !allowFree)
    throw new ConfigError(option, 'the price is zero; if free is meant, set allowFree: true')
  return parsed
}

/**
 * Reads the `amount` and `currency` of a checkout: a decimal string in major units.
 *
 * It may have the currency's own digits (ISO 4217), and zeros after them; the amount comes back
 * with exactly the currency's digits.
 */
export function parseFiatAmount(amount: unknown, currency: unknown): FiatAmount {
  const digits = isCurrency(currency) ? currencyDigits(currency) : undefined
  if (!isCurrency(currency) || digits === undefined)
    return { ok: false, path: 'currency', message: explainCurrency(currency) }
  const refuse = (message: string): FiatAmount => ({ ok: false, path: 'amount', message })
  const majorUnits = `amounts are strings in major units, not in cents, e.g. '${exampleAmount(digits)}'`

  if (typeof amount !== 'string') return refuse(`${show(amount)} is no string; ${majorUnits}`)
  const value = parseDecimal(amount)
  if (value === undefined)
    return refuse(
      `${show(amount)} is not an amount: ${explainAmount(amount, PLAIN)}; ${majorUnits}`,
    )
  if (value.units === 0n) return refuse(`the amount must be greater than zero; ${majorUnits}`)
  if (trimDecimal(value).scale > digits)
    return refuse(
      `${show(amount)} has more than the ${digits} decimals of ${currency}; ${majorUnits}`,
    )
  return { ok: true, amount: { units: ceilToUnits(value, digits), scale: digits }, currency }
}

/** Reads the `requestedAmount` of the payment requirements: a JSON number in major units. */
export function requestedAmountToDecimal(amount: unknown): RequestedAmount {
  if (typeof amount !== 'number')
    return { ok: false, message: `${show(amount)} is no number; write major units, e.g. 0.25` }
  const value = decimalFromNumber(amount)
  if (value === undefined || value.units === 0n)
    return { ok: false, message: `the amount must be finite and greater than zero, not ${amount}` }
  return { ok: true, amount: value }
}

/** What the readers below need besides the price. */
interface Context {
  /** What errors call the price. */
  readonly option: string
  readonly defaultCurrency: string
  /** The text that an amount was taken from, for errors. */
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
  throw new ConfigError(context.option, `${show(price)} is not a price: ${FORMS}`)
}

function readText(price: string, context: Context): ParsedPrice {
  const { amount, currency } = splitText(price)
  if (currency === '¥')
    throw new ConfigError(
      context.option,
      `the sign of ${show(price)} may mean yen or yuan; write '100 JPY' or '100 CNY'`,
    )
  return {
    kind: 'fiat',
    amount: readAmount(amount, { ...context, text: price }),
    currency: currency === undefined ? context.defaultCurrency : readCurrency(currency, context),
  }
}

/** Separates the currency from an amount that is still to be read. */
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
    throw new ConfigError(option, `${amount} is not a price: it must be finite and not negative`)
  }
  if (typeof amount !== 'string')
    throw new ConfigError(option, `${show(amount)} is no amount; write a string, e.g. '0.01'`)
  const value = parseDecimal(amount)
  if (value !== undefined) return value
  throw new ConfigError(
    option,
    `${show(text ?? amount)} is not a price: ${explainAmount(amount, FORMS)}`,
  )
}

function readCurrency(currency: unknown, { option }: Context): string {
  if (isCurrency(currency)) return currency
  throw new ConfigError(option, explainCurrency(currency))
}

function readAssetPrice(price: Record<string, unknown>, { option }: Context): ParsedPrice {
  const { asset, amount } = price
  if ('currency' in price)
    throw new ConfigError(option, 'a price is in a currency or in an asset; leave out one of them')
  if (typeof asset !== 'string' || asset === '' || (/^0x/i.test(asset) && !ADDRESS.test(asset)))
    throw new ConfigError(option, `${show(asset)} is no asset; write its symbol or address`)
  const network = typeof price.network === 'string' ? findNetwork(price.network) : undefined
  if (network === undefined)
    throw new ConfigError(
      option,
      `${show(price.network)} is no network we know; write 'base' or 'eip155:8453'`,
    )
  const units = readAtomicAmount(amount)
  if (units === undefined)
    throw new ConfigError(
      option,
      `${show(amount)} is no number of atomic units; write a string of digits or a bigint, e.g. '10000'`,
    )
  return { kind: 'asset', asset, network: network.caip2, amount: units }
}

function readAtomicAmount(amount: unknown): bigint | undefined {
  const text = typeof amount === 'bigint' ? amount.toString() : amount
  if (typeof text !== 'string' || !ATOMIC_AMOUNT.test(text)) return undefined
  const units = BigInt(text)
  return units <= MAX_UINT256 ? units : undefined
}

function explainAmount(text: string, otherwise: string): string {
  const mistake = MISTAKES.find(([pattern]) => pattern.test(text))
  return mistake?.[1] ?? otherwise
}

/** Fifteen of a currency, with its own digits. */
function exampleAmount(digits: number): string {
  return formatDecimal({ units: 15n * powerOfTen(digits), scale: digits })
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}

/** What was given, short enough for a message. */
function show(value: unknown): string {
  if (typeof value === 'bigint') return `${value}n`.slice(0, MAX_SHOWN_LENGTH)
  if (typeof value !== 'string') return typeof value === 'number' ? `${value}` : typeOf(value)
  return value.length > MAX_SHOWN_LENGTH ? `'${value.slice(0, MAX_SHOWN_LENGTH)}…'` : `'${value}'`
}

function typeOf(value: unknown): string {
  if (value === null || value === undefined) return `${value}`
  return Array.isArray(value) ? 'an array' : `this ${typeof value}`
}
