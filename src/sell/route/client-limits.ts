import { findAcceptedAsset, type Merchant } from '../../core/merchants/project.js'
import { isDefaultAsset } from '../../shared/money/assets.js'
import { formatDecimal, powerOfTen, trimDecimal } from '../../shared/money/decimal.js'
import type { Quote } from '../../core/quotes/quote.js'
import type { PaymentRequirements } from '../../shared/protocol/payment.js'

/** Dollars that official clients pay at once by default. */
const CLIENT_LIMIT_DOLLARS = 1n

/**
 * Says why official clients do not pay any of the quotes by default: they pay the well-known stablecoin of
 * each network only, and at most $1.00 at once.
 *
 * @returns Words after the name of the route; `undefined` if they pay one.
 */
export function clientLimitWords(merchant: Merchant, quotes: readonly Quote[]): string | undefined {
  const accepts = quotes.map(({ entry }) => entry)
  const prices = accepts.flatMap((entry) => defaultPrice(merchant, entry) ?? [])
  if (prices.some(({ isWithin }) => isWithin)) return undefined
  const [price] = prices
  if (price !== undefined)
    return `costs ${price.text}: official clients refuse more than $1.00 unless their owner raises the limit.`
  const tokens = accepts.map((entry) => {
    const asset = findAcceptedAsset(merchant, entry)
    return asset === undefined ? entry.asset : `${asset.symbol} on ${asset.network.name}`
  })
  return `takes only ${tokens.join(', ')}: official clients refuse every token but the well-known stablecoin of each network unless their owner allows it.`
}

/** The price of an entry in dollars; `undefined` if official clients do not pay with its token. */
function defaultPrice(merchant: Merchant, entry: PaymentRequirements) {
  const asset = findAcceptedAsset(merchant, entry)
  if (asset === undefined || !isDefaultAsset(asset)) return undefined
  const units = BigInt(entry.amount)
  const { decimals } = asset
  const [whole = '0', cents = ''] = formatDecimal(trimDecimal({ units, scale: decimals })).split(
    '.',
  )
  return {
    text: `$${whole}.${cents.padEnd(2, '0')}`,
    isWithin: units <= CLIENT_LIMIT_DOLLARS * powerOfTen(decimals),
  }
}
