/** Amounts of money in API requests. */
import { currencyDigits, explainCurrency, isCurrency } from './currency.js'
import {
  ceilToUnits,
  decimalFromNumber,
  formatDecimal,
  parseDecimal,
  powerOfTen,
  trimDecimal,
  type Decimal,
} from './decimal.js'
import { explainAmount, showValue } from './explain-amount.js'

export type FiatAmount =
  | { readonly ok: true; readonly amount: Decimal; readonly currency: string }
  | { readonly ok: false; readonly path: 'amount' | 'currency'; readonly message: string }

export type RequestedAmount =
  { readonly ok: true; readonly amount: Decimal } | { readonly ok: false; readonly message: string }

const PLAIN = 'it has digits and at most one point, nothing else'

/**
 * Reads the `amount` and `currency` of a checkout: a decimal string in major units.
 *
 * It may have as many digits as the currency (ISO 4217), and trailing zeros; the result has exactly the
 * currency's digits.
 */
export function parseFiatAmount(amount: unknown, currency: unknown): FiatAmount {
  const digits = isCurrency(currency) ? currencyDigits(currency) : undefined
  if (!isCurrency(currency) || digits === undefined)
    return { ok: false, path: 'currency', message: explainCurrency(currency) }
  const refuse = (message: string): FiatAmount => ({ ok: false, path: 'amount', message })
  const example = formatDecimal({ units: 15n * powerOfTen(digits), scale: digits })
  const majorUnits = `amounts are strings in major units, not in cents, e.g. '${example}'`

  if (amount === undefined) return refuse(`is missing; ${majorUnits}`)
  if (typeof amount !== 'string')
    return refuse(`${showValue(amount)} is not a string; ${majorUnits}`)
  const written = parseDecimal(amount)
  if (written === undefined)
    return refuse(
      `${showValue(amount)} is not an amount: ${explainAmount(amount, PLAIN)}; ${majorUnits}`,
    )
  const value = withoutFloatNoise(written, currency)
  if (value.units === 0n) return refuse(`the amount must be greater than zero; ${majorUnits}`)
  if (trimDecimal(value).scale > digits)
    return refuse(
      `${showValue(amount)} has more than the ${digits} decimals of ${currency}; ${majorUnits}`,
    )
  return { ok: true, amount: { units: ceilToUnits(value, digits), scale: digits }, currency }
}

/** Digits below the currency's smallest unit from which on a difference is noise: a millionth. */
const NOISE_DIGITS = 6

/** A price that rounding would change by more than this part of it means its digits. */
const MEANT = 1_000_000_000n

/**
 * Rounds away what arithmetic with floats adds to a price: `0.30000000000000004`, `17.499999999999996`.
 *
 * Everything below a millionth of the currency's smallest unit goes. A price that consists of little else
 * stays as it is.
 */
export function withoutFloatNoise(value: Decimal, currency: string): Decimal {
  const scale = (currencyDigits(currency) ?? 0) + NOISE_DIGITS
  if (value.scale <= scale) return value
  const step = powerOfTen(value.scale - scale)
  const units = (value.units + step / 2n) / step
  const noise = value.units - units * step
  if ((noise < 0n ? -noise : noise) * MEANT > value.units) return value
  return trimDecimal({ units, scale })
}

/** Reads the `requestedAmount` of payment requirements: a JSON number in major units. */
export function requestedAmountToDecimal(amount: unknown): RequestedAmount {
  if (amount === undefined)
    return { ok: false, message: 'is missing; write major units, e.g. 0.25' }
  if (typeof amount !== 'number')
    return {
      ok: false,
      message: `${showValue(amount)} is not a number; write major units, e.g. 0.25`,
    }
  const value = decimalFromNumber(amount)
  if (value === undefined || value.units === 0n)
    return { ok: false, message: `the amount must be finite and greater than zero, not ${amount}` }
  return { ok: true, amount: value }
}
