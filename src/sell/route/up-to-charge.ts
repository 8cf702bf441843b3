import type { Response } from 'express'
import { ChargeError, ConfigError, isConfigError } from '../../shared/errors.js'
import { findAcceptedAsset, type Merchant } from '../../core/merchants/project.js'
import type { Asset } from '../../shared/money/assets.js'
import {
  add,
  divideUp,
  formatDecimal,
  parseDecimal,
  powerOfTen,
} from '../../shared/money/decimal.js'
import type { Decimal } from '../../shared/money/decimal.js'
import { showValue } from '../../shared/money/explain-amount.js'
import { parsePrice, type ParsedPrice, type Price } from '../../shared/money/price.js'
import type { AppliedRate } from '../../shared/money/rates.js'
import type { Payment } from '../../shared/protocol/decoded-payment.js'
import type { PaymentRequirements } from '../../shared/protocol/payment.js'

export interface MeteredPayment extends Pick<Payment, 'format'> {
  /** Their amount is the maximum. */
  readonly requirements: PaymentRequirements
  readonly appliedRate: AppliedRate | undefined
}

/** Ends once nothing can be charged any more. */
export type MeteredResponse = Pick<Response, 'writableEnded'>

interface MeterOptions {
  readonly res: MeteredResponse
  readonly merchant: Merchant
  /** What is charged if nothing is said. @defaultValue the maximum */
  readonly defaultCharge: ParsedPrice | undefined
}

/** Charges so far. They add up exactly, and are rounded up to a unit of the token once, at the end. */
interface Charges {
  readonly units: bigint
  readonly money: Decimal
}

const NOTHING: Charges = { units: 0n, money: { units: 0n, scale: 0 } }

/** A part of a unit of the token, or many. */
interface Fraction {
  readonly over: bigint
  readonly under: bigint
}

/**
 * Adds up what a handler charges, up to the maximum that the payer has signed. `sell/README.md` tells what the charge
 * changes after that.
 */
export class Meter {
  readonly #res: MeteredResponse
  readonly #currency: string
  readonly #asset: Asset | undefined
  readonly #payment: MeteredPayment
  readonly #maximum: bigint
  readonly #default: bigint
  #charges: Charges | undefined
  #isClosed = false

  /** @throws {@link ChargeError} if the default is in another currency than this payment. */
  constructor(payment: MeteredPayment, { res, merchant, defaultCharge }: MeterOptions) {
    this.#res = res
    this.#currency = merchant.currency
    this.#asset = findAcceptedAsset(merchant, payment.requirements)
    this.#payment = payment
    this.#maximum = BigInt(payment.requirements.amount)
    const units = defaultCharge && this.#unitsOf(this.#add(NOTHING, defaultCharge))
    // The maximum may have been a lower one when the payer's quote was signed.
    this.#default = units !== undefined && units < this.#maximum ? units : this.#maximum
  }

  readonly charge = (amount: Price): void => {
    if (this.#isClosed || this.#res.writableEnded)
      throw new ChargeError(
        'charge_too_late',
        'The response has ended, and with it the time to charge: call charge() before res.json(), res.send() or res.end().',
      )
    const charges = this.#add(this.#charges ?? NOTHING, this.#read(amount))
    const units = this.#unitsOf(charges)
    if (units > this.#maximum)
      throw new ChargeError(
        'charge_exceeds_maximum',
        `${showPrice(amount)} more would make ${this.#shown(units)}, and the payer has signed for at most ${this.#shown(this.#maximum)}. This charge was not added.`,
      )
    this.#charges = charges
  }

  /**
   * Ends the charging.
   *
   * @returns The charge, in units of the token; `undefined` for a payment of a fixed price.
   */
  close(): bigint | undefined {
    this.#isClosed = true
    if (this.#payment.format?.isMetered !== true) return undefined
    return this.#charges === undefined ? this.#default : this.#unitsOf(this.#charges)
  }

  #read(amount: Price): ParsedPrice {
    const isNegative = [amount, (amount as { amount?: unknown } | undefined)?.amount].some((one) =>
      Object.is(one, -0),
    )
    if (isNegative) throw invalid('-0 is not an amount: it must not be negative')
    try {
      return parsePrice(amount, { defaultCurrency: this.#currency, allowFree: true })
    } catch (error) {
      if (!isConfigError(error)) throw error
      throw invalid(error.issues.map(({ message }) => message).join('; '))
    }
  }

  #add({ units, money }: Charges, price: ParsedPrice): Charges {
    if (price.kind === 'asset') {
      const accepts = this.#asset ? [this.#asset] : []
      if (findAcceptedAsset({ accepts }, price) === undefined)
        throw invalid(
          `units of ${price.asset} on ${price.network} cannot be charged of a payment in ${this.#token}`,
        )
      return { units: units + price.amount, money }
    }
    const { over, under } = this.#fraction(price)
    if (over > 0n && over < under)
      throw invalid(
        `${formatDecimal(price.amount)} ${price.currency} is less than the smallest unit of ${this.#token}: add such amounts up, and charge them together`,
      )
    return { units, money: add(money, price.amount) }
  }

  #unitsOf({ units, money }: Charges): bigint {
    if (money.units === 0n) return units
    const { over, under } = this.#fraction({ amount: money, currency: this.#priced })
    return units + divideUp(over, under)
  }

  /** The currency of the price, which is that of its charges; empty if only units can be charged. */
  get #priced(): string {
    const { appliedRate } = this.#payment
    return appliedRate?.currency ?? this.#asset?.currency ?? this.#asset?.rateSymbol ?? ''
  }

  /** What an amount is in units of the token: at a rate, the same part of the maximum as of the price. */
  #fraction({ amount, currency }: { amount: Decimal; currency: string }): Fraction {
    if (currency !== this.#priced)
      throw invalid(
        `${formatDecimal(amount)} ${currency} cannot be charged: this payment is counted in ${this.#priced || `units of ${this.#token}`}`,
      )
    const { appliedRate } = this.#payment
    const price = appliedRate && parseDecimal(appliedRate.price)
    if (price !== undefined)
      return {
        over: this.#maximum * amount.units * powerOfTen(price.scale),
        under: price.units * powerOfTen(amount.scale),
      }
    const decimals = this.#asset?.decimals ?? 0
    return { over: amount.units * powerOfTen(decimals), under: powerOfTen(amount.scale) }
  }

  get #token(): string {
    const { asset, network } = this.#payment.requirements
    return `${this.#asset?.symbol ?? asset} on ${this.#asset?.network.name ?? network}`
  }

  #shown(units: bigint): string {
    const amount = formatDecimal({ units, scale: this.#asset?.decimals ?? 0 })
    return `${amount} ${this.#asset?.symbol ?? 'units'}`
  }
}

/** The `charge` of a route whose price is fixed. @throws `ConfigError` */
export function refuseCharge(): never {
  throw new ConfigError(
    'charge',
    "the route has a fixed price; declare a maximum to charge for what was used: x402Protect({ upTo: '$0.10' })",
    'conflicting_options',
  )
}

function invalid(what: string): ChargeError {
  return new ChargeError('charge_invalid', `Nothing was charged: ${what}.`)
}

function showPrice(price: Price): string {
  if (typeof price !== 'object') return showValue(price)
  const unit = 'asset' in price ? `units of ${price.asset}` : price.currency
  return `${price.amount} ${unit}`
}
