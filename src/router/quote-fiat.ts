import { RateError } from '../errors.js'
import { createQuoter } from '../merchants/quote.js'
import type { Merchant } from '../merchants/project.js'
import type { Decimal } from '../money/decimal.js'
import type { RateSource } from '../money/rates.js'
import type { NetworkNameStyle } from '../protocol/networks.js'
import type { PaymentRequirements } from '../protocol/payment.js'
import { invalidBody } from './json-body.js'

/** What quoting takes of the gateway. */
export interface QuoteContext {
  readonly rates: RateSource
  readonly networkNames: NetworkNameStyle
}

/** A price of a request. */
export interface RequestedPrice {
  readonly amount: Decimal
  readonly currency: string
  /** Member of the body that the amount came from. */
  readonly path: string
}

const UINT256_LIMIT = 1n << 256n

/** Turns a requested price into a merchant's entries of `accepts`. */
export async function quoteFiat(
  { rates, networkNames }: QuoteContext,
  merchant: Merchant,
  { amount, currency, path }: RequestedPrice,
): Promise<readonly PaymentRequirements[]> {
  const price = { kind: 'fiat', amount, currency } as const
  const quotes = await createQuoter(merchant, rates)
    .quote(price, { networkNames })
    .catch((error: unknown) => {
      if (!(error instanceof RateError) || error.code !== 'amount_out_of_range') throw error
      throw invalidBody([{ path, message: error.message }])
    })
  const accepts = quotes.map(({ entry }) => entry)
  if (accepts.some((entry) => BigInt(entry.amount) >= UINT256_LIMIT))
    throw invalidBody([{ path, message: 'is more than any token can hold' }])
  return accepts
}
