import { isRateError } from '../errors.js'
import { createQuoter } from '../merchants/quote.js'
import {
  signQuote,
  type OfferNamer,
  type QuoteSigner,
  type QuoteSubject,
} from '../merchants/signed-quote.js'
import type { Merchant } from '../merchants/project.js'
import type { Decimal } from '../money/decimal.js'
import type { AppliedRate, RateSource } from '../money/rates.js'
import type { NetworkNameStyle } from '../protocol/networks.js'
import type { PaymentRequirements } from '../protocol/payment.js'
import { UINT256_LIMIT } from '../protocol/primitives.js'
import { invalidBody } from './json-body.js'

/** What quoting takes of the gateway. */
export interface QuoteContext {
  readonly rates: RateSource
  readonly networkNames: NetworkNameStyle
  readonly quotes: QuoteSigner & OfferNamer
  /** Milliseconds since the epoch. */
  readonly now: () => number
}

/** A price of a request. */
export interface RequestedPrice {
  readonly amount: Decimal
  readonly currency: string
  /** Member of the body that the amount came from. */
  readonly path: string
}

/** Turns a requested price into a merchant's entries of `accepts`. */
export async function quoteFiat(
  { rates, networkNames, quotes: signer, now }: QuoteContext,
  merchant: Merchant,
  { amount, currency, path }: RequestedPrice,
): Promise<readonly PaymentRequirements[]> {
  const price = { kind: 'fiat', amount, currency } as const
  const quotes = await createQuoter(merchant, rates)
    .quote(price, { networkNames })
    .catch((error: unknown) => {
      if (!isRateError(error) || error.code !== 'amount_out_of_range') throw error
      throw invalidBody([{ path, message: error.message }])
    })
  const request = requestOf(merchant)
  const signed = await Promise.all(
    quotes.map(async (quote) =>
      quote.applied ? signQuote(signer, quote, { request, now: now() }) : quote,
    ),
  )
  const accepts = signed.map(({ entry }) => entry)
  if (accepts.some((entry) => BigInt(entry.amount) >= UINT256_LIMIT))
    throw invalidBody([{ path, message: 'is more than any token can hold' }])
  return accepts
}

/**
 * The rate that the amount of a payment comes from, as its entry of `accepts` has it.
 *
 * What a shop asks to be settled is for the shop to price: this is for its books alone.
 */
export async function appliedRateOf(
  { quotes }: Pick<QuoteContext, 'quotes'>,
  merchant: Merchant,
  entry: PaymentRequirements,
): Promise<AppliedRate | undefined> {
  const signed = entry.extra?.['quote']
  if (typeof signed !== 'string') return undefined
  return (await quotes.read(signed, { request: requestOf(merchant), entry }))?.applied
}

/** Quotes of the API are for any resource of their project. */
function requestOf({ project }: Merchant): QuoteSubject['request'] {
  return ['project', project]
}
