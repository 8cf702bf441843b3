import { ConfigError } from '../errors.js'
import type { Merchant } from '../merchants/project.js'
import type { ParsedPrice } from '../money/price.js'
import { isBelowOneUnit } from '../money/token-amount.js'

/** Refuses a price that is less than the smallest unit of every token it could be paid with. */
export function checkSmallest(price: ParsedPrice, { accepts }: Merchant): void {
  if (price.kind === 'asset' || isFree(price)) return
  const pegged = accepts.filter(({ currency }) => currency === price.currency)
  if (pegged.length > 0 && pegged.every(({ decimals }) => isBelowOneUnit(price.amount, decimals)))
    throw new ConfigError(
      'price',
      `the price is less than the smallest unit of ${pegged.map(({ symbol }) => symbol).join(', ')}`,
      'invalid_price',
    )
}

/** Refuses a price that only a rate could turn into tokens, while there is no source of rates. */
export function checkConvertible(price: ParsedPrice, { accepts, crossCurrency }: Merchant): void {
  if (price.kind === 'asset' || isFree(price) || !crossCurrency) return
  if (accepts.some(({ currency }) => currency === price.currency)) return
  throw new ConfigError(
    'price',
    `no accepted token is pegged to ${price.currency}, and the gateway has no \`rates\` to convert the price`,
    'invalid_price',
  )
}

/** Tells whether a price is nothing. */
export function isFree(price: ParsedPrice): boolean {
  return price.kind === 'asset' ? price.amount === 0n : price.amount.units === 0n
}
