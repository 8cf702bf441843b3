/** Rates that offers depend on. */
import { RateError } from '../../shared/errors.js'
import type { Asset } from '../../shared/money/assets.js'
import { compare } from '../../shared/money/decimal.js'
import type { Rate, RateSource } from '../../shared/money/rates.js'

/**
 * Finds a rate.
 *
 * @throws {@link RateError} `unsupported_currency` if no source knows the pair, `rate_unavailable` if there
 * is no rate now.
 */
export async function requireRate(rates: RateSource, base: string, quote: string): Promise<Rate> {
  const rate = await rates.getRate(base, quote)
  if (rate === undefined)
    throw new RateError('unsupported_currency', `No source has a rate from ${base} to ${quote}.`)
  // A rate of zero, a mistake of a source, would make everything free.
  if (rate.rate.units > 0n) return rate
  throw new RateError('rate_unavailable', `The rate from ${base} to ${quote} is zero.`)
}

/**
 * Checks that a pegged token with `depegGuardBps` is worth its currency.
 *
 * @throws {@link RateError} `rate_unavailable` if it is off by more; see {@link requireRate}.
 */
export async function requirePeg(
  { symbol, currency, rateSymbol = symbol, depegGuardBps }: Asset,
  rates: RateSource,
): Promise<void> {
  if (currency === undefined || depegGuardBps === undefined) return
  const { rate } = await requireRate(rates, rateSymbol, currency)
  const limit = BigInt(depegGuardBps)
  const isOff =
    compare(rate, { units: 10_000n - limit, scale: 4 }) < 0 ||
    compare(rate, { units: 10_000n + limit, scale: 4 }) > 0
  if (isOff)
    throw new RateError('rate_unavailable', `${symbol} is not worth one ${currency} at present.`)
}
