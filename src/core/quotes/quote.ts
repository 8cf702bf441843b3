/** Turns prices into quotes: entries of `accepts` with their amounts. */
import { RateError, isRateError } from '../../shared/errors.js'
import type { Asset } from '../../shared/money/assets.js'
import { formatDecimal, multiply } from '../../shared/money/decimal.js'
import type { ParsedPrice } from '../../shared/money/price.js'
import type { AppliedRate, RateSource } from '../../shared/money/rates.js'
import { tokenAmount } from '../../shared/money/token-amount.js'
import { formatNetwork, type NetworkNameStyle } from '../../shared/protocol/networks.js'
import type { PaymentFlow, PaymentRequirements } from '../../shared/protocol/payment.js'
import type { SchemeFormats } from '../schemes/scheme.js'
import { checkLimits, limitedValue } from './amount-limits.js'
import { requirePeg, requireRate } from './asset-rates.js'
import { findAcceptedAsset, type Merchant } from '../merchants/project.js'

/** Settings of entries. */
export interface QuoteStyle {
  readonly networkNames: NetworkNameStyle
  /** How long an authorization should be valid (s). @defaultValue the merchant's own */
  readonly maxTimeoutSeconds?: number | undefined
  /** @defaultValue `'authorization'`, which entries do not mention */
  readonly paymentFlow?: PaymentFlow | undefined
  /** Whether the price is the most that may be charged. @defaultValue false */
  readonly isMaximum?: boolean | undefined
}

/** Longest name of a rate source: each offer contains it. */
const MAX_SOURCE_LENGTH = 200

/** One way to pay. */
export interface Quote {
  readonly entry: PaymentRequirements
  /** The rate behind the amount; absent if none was needed. */
  readonly applied?: AppliedRate | undefined
}

type FiatPrice = Extract<ParsedPrice, { kind: 'fiat' }>

export interface SchemeAmount {
  readonly scheme: string
  readonly asset: Asset
  readonly amount: bigint
}

/** Quotes prices for one merchant. Entries are in the order of the merchant's tokens. */
export class Quoter {
  readonly #merchant: Merchant
  readonly #rates: RateSource
  readonly #formats: SchemeFormats

  constructor(merchant: Merchant, rates: RateSource, formats: SchemeFormats) {
    this.#rates = rates
    this.#formats = formats
    const accepts = merchant.accepts.filter(
      (asset) => this.#isOffered(asset, {}) || this.#isOffered(asset, { isMaximum: true }),
    )
    this.#merchant = { ...merchant, accepts }
  }

  #isOffered(asset: Asset, asked: Pick<QuoteStyle, 'isMaximum'>): boolean {
    return [...this.#formats.values()].some((format) => format.offers(asset, asked).length > 0)
  }

  /**
   * Quotes a price without a rate.
   *
   * @returns `undefined` when a rate is needed.
   * @throws {@link RateError} `unsupported_currency` or `amount_out_of_range`
   */
  quoteFixed(price: ParsedPrice, style: QuoteStyle): readonly PaymentRequirements[] | undefined {
    const value = limitedValue(this.#merchant, price)
    if (value !== undefined && value.currency !== this.#merchant.currency) return undefined
    if (value !== undefined) checkLimits(this.#merchant, value.amount)
    return this.#quoteWithoutRates(price, style)
  }

  /**
   * Quotes any price.
   *
   * @throws {@link RateError} `unsupported_currency`, `amount_out_of_range` or `rate_unavailable`
   */
  async quote(price: ParsedPrice, style: QuoteStyle): Promise<readonly Quote[]> {
    await this.#checkConverted(price)
    const fixed = this.#quoteWithoutRates(price, style)
    if (fixed !== undefined || price.kind === 'asset')
      return fixed?.map((entry) => ({ entry })) ?? []
    let failure: RateError | undefined
    const quotes = await Promise.all(
      this.#merchant.accepts.map((asset) =>
        this.#quoteAsset(asset, price, style).catch((error: unknown) => {
          if (!isRateError(error)) throw error
          // An unreachable source may have a rate later; one that does not know the pair will not.
          if (failure?.code !== 'rate_unavailable') failure = error
          return []
        }),
      ),
    )
    // A missing rate withdraws only the tokens that need it.
    const quoted = quotes.flat()
    if (quoted.length > 0) return quoted
    throw failure ?? this.#unsupported(price.currency)
  }

  /** Writes the entries of a scheme for an amount: none if it is not offered for the token. */
  entries(
    { scheme, asset, amount }: SchemeAmount,
    style: QuoteStyle,
  ): readonly PaymentRequirements[] {
    const extras = this.#formats.get(scheme)?.offers(asset, style) ?? []
    return extras.map((extra) => ({
      scheme,
      network: formatNetwork(asset.network, style.networkNames),
      amount: amount.toString(),
      payTo: this.#merchant.payTo,
      maxTimeoutSeconds: style.maxTimeoutSeconds ?? this.#merchant.maxTimeoutSeconds,
      asset: asset.address,
      extra: {
        ...extra,
        ...(style.paymentFlow === 'upfront' && { paymentFlow: style.paymentFlow }),
      },
    }))
  }

  #entries(asset: Asset, amount: bigint, style: QuoteStyle): readonly PaymentRequirements[] {
    const schemes = [...this.#formats.keys()]
    return schemes.flatMap((scheme) => this.entries({ scheme, asset, amount }, style))
  }

  #quoteWithoutRates(
    price: ParsedPrice,
    style: QuoteStyle,
  ): readonly PaymentRequirements[] | undefined {
    const { accepts, crossCurrency } = this.#merchant
    if (price.kind === 'asset') {
      const asset = findAcceptedAsset(this.#merchant, price)
      if (asset === undefined) throw this.#unsupported(`${price.asset} on ${price.network}`)
      return this.#entries(asset, price.amount, style)
    }
    const { amount, currency } = price
    const pegged = accepts.filter((asset) => asset.currency === currency)
    if (crossCurrency && pegged.length < accepts.length) return undefined
    if (pegged.length === 0) throw this.#unsupported(currency)
    if (pegged.some(({ depegGuardBps }) => depegGuardBps !== undefined)) return undefined
    return pegged.flatMap((asset) =>
      this.#entries(asset, tokenAmount(amount, asset.decimals), style),
    )
  }

  /** Quotes one token, if the merchant takes it for this currency. */
  async #quoteAsset(
    asset: Asset,
    { amount, currency }: FiatPrice,
    style: QuoteStyle,
  ): Promise<readonly Quote[]> {
    const { crossCurrency, fxBufferBps: bufferBps } = this.#merchant
    const counted = asset.currency ?? asset.rateSymbol
    if (counted === undefined) return []
    if (counted !== currency && !crossCurrency) return []
    await requirePeg(asset, this.#rates)
    if (counted === currency)
      return this.#entries(asset, tokenAmount(amount, asset.decimals), style).map((entry) => ({
        entry,
      }))
    const { rate, asOf, source } = await requireRate(this.#rates, currency, counted)
    const units = tokenAmount(amount, asset.decimals, { rate, bufferBps })
    const applied = {
      price: formatDecimal(amount),
      currency,
      rate: formatDecimal(rate),
      asOf,
      source: source.slice(0, MAX_SOURCE_LENGTH),
    }
    return this.#entries(asset, units, style).map((entry) => ({ entry, applied }))
  }

  /** Checks the limits of a price in any currency, converting it if needed. */
  async #checkConverted(price: ParsedPrice): Promise<void> {
    const merchant = this.#merchant
    const value = limitedValue(merchant, price)
    if (value === undefined) return
    const { amount, currency } = value
    if (currency === merchant.currency) return checkLimits(merchant, amount)
    const { rate } = await requireRate(this.#rates, currency, merchant.currency)
    checkLimits(merchant, multiply(amount, rate))
  }

  #unsupported(what: string): RateError {
    return new RateError(
      'unsupported_currency',
      `This merchant takes no token for ${what}; it takes ${describe(this.#merchant.accepts)}.`,
    )
  }
}

function describe(assets: readonly Asset[]): string {
  const names = assets.map(({ symbol, currency, network }) => {
    const peg = currency === undefined ? '' : ` (${currency})`
    return `${symbol}${peg} on ${network.name}`
  })
  return names.join(', ') || 'none'
}
