/** The quote: a price turned into the entries of `accepts`. */
import { RateError } from '../errors.js'
import type { Asset } from '../money/assets.js'
import type { ParsedPrice } from '../money/price.js'
import type { RateSource } from '../money/rates.js'
import { tokenAmount } from '../money/token-amount.js'
import { formatNetwork, type NetworkNameStyle } from '../protocol/networks.js'
import { EXACT, type PaymentFlow, type PaymentRequirements } from '../protocol/payment.js'
import { findAcceptedAsset, type Merchant } from './project.js'

/** How entries are written, beside their amounts. */
export interface QuoteStyle {
  readonly networkNames: NetworkNameStyle
  /** Seconds a payer should let an authorization live; the merchant's own where left out. */
  readonly maxTimeoutSeconds?: number | undefined
  /** @defaultValue `authorization`, which needs no mention */
  readonly paymentFlow?: PaymentFlow | undefined
}

/** Turns prices into entries of `accepts`, for one merchant. */
export interface Quoter {
  /**
   * Quotes a price that no rate has a part in.
   *
   * @returns `undefined` when it takes a rate to answer.
   * @throws {@link RateError} `unsupported_currency`
   */
  quoteFixed(price: ParsedPrice, style: QuoteStyle): readonly PaymentRequirements[] | undefined
  /**
   * Quotes any price.
   *
   * @throws {@link RateError} `unsupported_currency` or `rate_unavailable`
   */
  quote(price: ParsedPrice, style: QuoteStyle): Promise<readonly PaymentRequirements[]>
}

/** Makes a merchant's quoter. Entries come in the order in which the merchant accepts tokens. */
export function createQuoter(merchant: Merchant, rates: RateSource): Quoter {
  const quoteFixed: Quoter['quoteFixed'] = (price, style) => {
    if (price.kind === 'asset') {
      const asset = findAcceptedAsset(merchant, price)
      if (asset === undefined) throw unsupported(`${price.asset} on ${price.network}`)
      return [entry(asset, price.amount, style)]
    }
    const { amount, currency } = price
    const pegged = merchant.accepts.filter((asset) => asset.currency === currency)
    if (merchant.crossCurrency && pegged.length < merchant.accepts.length) return undefined
    if (pegged.length === 0) throw unsupported(currency)
    return pegged.map((asset) => entry(asset, tokenAmount(amount, asset.decimals), style))
  }

  const quoteAsset = async (
    asset: Asset,
    price: Extract<ParsedPrice, { kind: 'fiat' }>,
    style: QuoteStyle,
  ): Promise<PaymentRequirements | undefined> => {
    const { amount, currency } = price
    if (asset.currency === currency) return entry(asset, tokenAmount(amount, asset.decimals), style)
    if (asset.currency === undefined) return undefined
    const rate = await rates.getRate(currency, asset.currency)
    // A source's mistake must not give anything away.
    if (rate === undefined || rate.rate.units <= 0n) return undefined
    const units = tokenAmount(amount, asset.decimals, {
      rate: rate.rate,
      bufferBps: merchant.fxBufferBps,
    })
    return entry(asset, units, style)
  }

  const quote: Quoter['quote'] = async (price, style) => {
    const fixed = quoteFixed(price, style)
    if (fixed !== undefined || price.kind === 'asset') return fixed ?? []
    let failure: RateError | undefined
    const entries = await Promise.all(
      merchant.accepts.map((asset) =>
        quoteAsset(asset, price, style).catch((error: unknown) => {
          if (!(error instanceof RateError)) throw error
          failure = error
          return undefined
        }),
      ),
    )
    // A rate that is away takes its own tokens off the offer, not those that need none.
    const quoted = entries.filter((one) => one !== undefined)
    if (quoted.length > 0) return quoted
    throw failure ?? noRate(price.currency)
  }

  const entry = (asset: Asset, amount: bigint, style: QuoteStyle): PaymentRequirements => ({
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

  const noRate = (currency: string): RateError =>
    new RateError(
      'rate_unavailable',
      `There is no rate from ${currency} to any token of this merchant.`,
    )

  const unsupported = (what: string): RateError =>
    new RateError(
      'unsupported_currency',
      `This merchant takes no token for ${what}; it takes ${describe(merchant.accepts)}.`,
    )

  return { quoteFixed, quote }
}

function describe(assets: readonly Asset[]): string {
  const names = assets.map(({ symbol, currency, network }) => {
    const peg = currency === undefined ? '' : ` (${currency})`
    return `${symbol}${peg} on ${network.name}`
  })
  return names.join(', ') || 'none'
}
