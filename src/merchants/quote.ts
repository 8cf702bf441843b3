/** The quote: a price turned into the entries of `accepts`. */
import { RateError, isRateError } from '../errors.js'
import type { Asset } from '../money/assets.js'
import { formatDecimal, multiply } from '../money/decimal.js'
import type { ParsedPrice } from '../money/price.js'
import type { AppliedRate, RateSource } from '../money/rates.js'
import { tokenAmount } from '../money/token-amount.js'
import { formatNetwork, type NetworkNameStyle } from '../protocol/networks.js'
import { EXACT, type PaymentFlow, type PaymentRequirements } from '../protocol/payment.js'
import { checkLimits, limitedValue } from './amount-limits.js'
import { requirePeg, requireRate } from './asset-rates.js'
import { findAcceptedAsset, type Merchant } from './project.js'

/** How entries are written, beside their amounts. */
export interface QuoteStyle {
  readonly networkNames: NetworkNameStyle
  /** Seconds a payer should let an authorization live; the merchant's own where left out. */
  readonly maxTimeoutSeconds?: number | undefined
  /** @defaultValue `authorization`, which needs no mention */
  readonly paymentFlow?: PaymentFlow | undefined
}

/** Characters of a source's name that are kept: they travel with each offer. */
const MAX_SOURCE_LENGTH = 200

/** One way to pay. */
export interface Quote {
  /** As an entry of `accepts`. */
  readonly entry: PaymentRequirements
  /** How its amount came about; absent where no rate had a part in it. */
  readonly applied?: AppliedRate | undefined
}

/** Turns prices into entries of `accepts`, for one merchant. */
export interface Quoter {
  /**
   * Quotes a price that no rate has a part in.
   *
   * @returns `undefined` when it takes a rate to answer.
   * @throws {@link RateError} `unsupported_currency` or `amount_out_of_range`
   */
  quoteFixed(price: ParsedPrice, style: QuoteStyle): readonly PaymentRequirements[] | undefined
  /**
   * Quotes any price.
   *
   * @throws {@link RateError} `unsupported_currency`, `amount_out_of_range` or `rate_unavailable`
   */
  quote(price: ParsedPrice, style: QuoteStyle): Promise<readonly Quote[]>
  /** Writes the entry for an amount that was quoted before. */
  entry(asset: Asset, amount: bigint, style: QuoteStyle): PaymentRequirements
}

/** Makes a merchant's quoter. Entries come in the order in which the merchant accepts tokens. */
export function createQuoter(merchant: Merchant, rates: RateSource): Quoter {
  const quoteFixed: Quoter['quoteFixed'] = (price, style) => {
    const value = limitedValue(merchant, price)
    if (value !== undefined && value.currency !== merchant.currency) return undefined
    if (value !== undefined) checkLimits(merchant, value.amount)
    return quoteUnlimited(price, style)
  }

  const quoteUnlimited: Quoter['quoteFixed'] = (price, style) => {
    if (price.kind === 'asset') {
      const asset = findAcceptedAsset(merchant, price)
      if (asset === undefined) throw unsupported(`${price.asset} on ${price.network}`)
      return [entry(asset, price.amount, style)]
    }
    const { amount, currency } = price
    const pegged = merchant.accepts.filter((asset) => asset.currency === currency)
    if (merchant.crossCurrency && pegged.length < merchant.accepts.length) return undefined
    if (pegged.length === 0) throw unsupported(currency)
    if (pegged.some(({ depegGuardBps }) => depegGuardBps !== undefined)) return undefined
    return pegged.map((asset) => entry(asset, tokenAmount(amount, asset.decimals), style))
  }

  const quoteAsset = async (
    asset: Asset,
    price: Extract<ParsedPrice, { kind: 'fiat' }>,
    style: QuoteStyle,
  ): Promise<Quote | undefined> => {
    const { amount, currency } = price
    const counted = asset.currency ?? asset.rateSymbol
    if (counted === undefined) return undefined
    if (counted !== currency && !merchant.crossCurrency) return undefined
    await requirePeg(asset, rates)
    if (counted === currency)
      return { entry: entry(asset, tokenAmount(amount, asset.decimals), style) }
    const { rate, asOf, source } = await requireRate(rates, currency, counted)
    const units = tokenAmount(amount, asset.decimals, { rate, bufferBps: merchant.fxBufferBps })
    return {
      entry: entry(asset, units, style),
      applied: {
        price: formatDecimal(amount),
        currency,
        rate: formatDecimal(rate),
        asOf,
        source: source.slice(0, MAX_SOURCE_LENGTH),
      },
    }
  }

  const checkConverted = async (price: ParsedPrice): Promise<void> => {
    const value = limitedValue(merchant, price)
    if (value === undefined) return
    const { amount, currency } = value
    if (currency === merchant.currency) return checkLimits(merchant, amount)
    const { rate } = await requireRate(rates, currency, merchant.currency)
    checkLimits(merchant, multiply(amount, rate))
  }

  const quote: Quoter['quote'] = async (price, style) => {
    await checkConverted(price)
    const fixed = quoteUnlimited(price, style)
    if (fixed !== undefined || price.kind === 'asset')
      return fixed?.map((one) => ({ entry: one })) ?? []
    let failure: RateError | undefined
    const quotes = await Promise.all(
      merchant.accepts.map((asset) =>
        quoteAsset(asset, price, style).catch((error: unknown) => {
          if (!isRateError(error)) throw error
          failure ??= error
          return undefined
        }),
      ),
    )
    // A rate that is away takes its own tokens off the offer, not those that need none.
    const quoted = quotes.filter((one) => one !== undefined)
    if (quoted.length > 0) return quoted
    throw failure ?? unsupported(price.currency)
  }

  const entry: Quoter['entry'] = (asset, amount, style) => ({
    scheme: EXACT,
    network: formatNetwork(asset.network, style.networkNames),
    amount: amount.toString(),
    payTo: merchant.payTo,
    maxTimeoutSeconds: style.maxTimeoutSeconds ?? merchant.maxTimeoutSeconds,
    asset: asset.address,
    extra: {
      ...asset.eip712,
      ...(style.paymentFlow === 'upfront' && { paymentFlow: style.paymentFlow }),
    },
  })

  const unsupported = (what: string): RateError =>
    new RateError(
      'unsupported_currency',
      `This merchant takes no token for ${what}; it takes ${describe(merchant.accepts)}.`,
    )

  return { quoteFixed, quote, entry }
}

function describe(assets: readonly Asset[]): string {
  const names = assets.map(({ symbol, currency, network }) => {
    const peg = currency === undefined ? '' : ` (${currency})`
    return `${symbol}${peg} on ${network.name}`
  })
  return names.join(', ') || 'none'
}
