/** Prices for people, computed with integers and text: only Intl rounds. */
import type { Merchant } from '../../core/merchants/project.js'
import { findAcceptedAsset } from '../../core/merchants/project.js'
import type { Asset } from '../../shared/money/assets.js'
import { formatDecimal } from '../../shared/money/decimal.js'
import type { ParsedPrice } from '../../shared/money/price.js'
import type { AppliedRate } from '../../shared/money/rates.js'

/** Most digits of an amount. */
const MAX_DIGITS = 18

/** Writes a price in its currency: `$0.01`. @returns `undefined` for a token without a currency. */
export function formatFiat(
  price: ParsedPrice,
  merchant: Merchant,
  locale: string,
): string | undefined {
  if (price.kind === 'fiat') return inCurrency(formatDecimal(price.amount), price.currency, locale)
  const asset = findAcceptedAsset(merchant, price)
  if (asset?.currency === undefined) return undefined
  const decimal = formatDecimal({ units: price.amount, scale: asset.decimals })
  return inCurrency(decimal, asset.currency, locale)
}

/** Writes an amount of a token: `0.01 USDC`. */
export function formatToken(
  units: string,
  { decimals, symbol }: Pick<Asset, 'decimals' | 'symbol'>,
  locale: string,
): string {
  const decimal = formatDecimal({ units: BigInt(units), scale: decimals })
  const format = new Intl.NumberFormat(locale, {
    minimumFractionDigits: 2,
    maximumFractionDigits: MAX_DIGITS,
  })
  return `${format.format(decimal as Intl.StringNumericLiteral)} ${symbol}`
}

/** Writes a rate that was applied, with the seller's surcharge: `1 EUR = 1.08 USD + 0.5%`. */
export function formatRate(
  { currency, rate }: AppliedRate,
  { asset, merchant, locale }: { asset: Asset; merchant: Merchant; locale: string },
): string {
  const digits = new Intl.NumberFormat(locale, { maximumFractionDigits: MAX_DIGITS })
  const counted = asset.currency ?? asset.rateSymbol ?? asset.symbol
  const shown = `1 ${currency} = ${digits.format(rate as Intl.StringNumericLiteral)} ${counted}`
  if (merchant.fxBufferBps === 0) return shown
  const percent = new Intl.NumberFormat(locale, { style: 'percent', maximumFractionDigits: 2 })
  return `${shown} + ${percent.format(merchant.fxBufferBps / 10_000)}`
}

function inCurrency(decimal: string, currency: string, locale: string): string {
  const style = { style: 'currency', currency } as const
  const usual = new Intl.NumberFormat(locale, style).resolvedOptions().maximumFractionDigits ?? 2
  // A price may be a tenth of a cent.
  const digits = Math.min(decimal.split('.', 2)[1]?.length ?? 0, MAX_DIGITS)
  const format = new Intl.NumberFormat(locale, {
    ...style,
    maximumFractionDigits: Math.max(usual, digits),
  })
  return format.format(decimal as Intl.StringNumericLiteral)
}
