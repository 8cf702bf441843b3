import { ConfigError, type RateError } from '../../shared/errors.js'
import type { Merchant } from '../../core/merchants/project.js'
import { knownAssets } from '../../shared/money/assets.js'
import type { ParsedPrice } from '../../shared/money/price.js'
import { isBelowOneUnit } from '../../shared/money/token-amount.js'

/**
 * Refuses a price that is less than the smallest unit of every token it could be paid with.
 *
 * @param option - What is wrong then.
 */
export function checkSmallest(price: ParsedPrice, { accepts }: Merchant, option = 'price'): void {
  if (price.kind === 'asset' || isFree(price)) return
  const pegged = accepts.filter(({ currency }) => currency === price.currency)
  if (pegged.length > 0 && pegged.every(({ decimals }) => isBelowOneUnit(price.amount, decimals)))
    throw new ConfigError(
      option,
      `is less than the smallest unit of ${pegged.map(({ symbol }) => symbol).join(', ')}`,
      'invalid_price',
    )
}

/** Refuses a price that only a rate could turn into tokens, while there is no source of rates. */
export function checkConvertible(price: ParsedPrice, { accepts, crossCurrency }: Merchant): void {
  if (price.kind === 'asset' || isFree(price) || !crossCurrency) return
  if (accepts.some(({ currency }) => currency === price.currency)) return
  throw new ConfigError(
    'price',
    `no accepted token is pegged to ${price.currency}, and the gateway has no \`rates\` to convert the price: set them, e.g. rates: { '${price.currency}/USD': '…' }`,
    'invalid_price',
  )
}

/** Says what a developer can do about a declared price that no token can be offered for. */
export function explainUnquotable(
  { code, message }: RateError,
  price: ParsedPrice,
  { accepts, crossCurrency }: Merchant,
): string {
  if (code !== 'unsupported_currency' || price.kind === 'asset' || crossCurrency) return message
  const convert =
    'be paid at a rate: crossCurrency: true of the merchant (or X402_CROSS_CURRENCY=true) and the option rates'
  const known = accepts.flatMap(({ network }) => knownAssets(network))
  const pegged = known.find(({ currency }) => currency === price.currency)
  if (pegged === undefined) return `${message} To price in ${price.currency}, ${convert}.`
  const symbols = [...new Set([...accepts.map(({ symbol }) => symbol), pegged.symbol])]
  return `${message} To price in ${price.currency}, accept ${pegged.symbol} (assets of the network, or X402_ASSET=${symbols.join(',')}), or ${convert}.`
}

export function isFree(price: ParsedPrice): boolean {
  return price.kind === 'asset' ? price.amount === 0n : price.amount.units === 0n
}
