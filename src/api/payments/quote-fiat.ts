import { isRateError } from '../../shared/errors.js'
import { RequestProblem } from '../../shared/http/respond-problem.js'
import { Quoter } from '../../core/quotes/quote.js'
import { signQuote, type QuoteSubject } from '../../core/quotes/signed-quote.js'
import type { Merchant } from '../../core/merchants/project.js'
import type { Decimal } from '../../shared/money/decimal.js'
import type { AppliedRate } from '../../shared/money/rates.js'
import type { PaymentRequirements } from '../../shared/protocol/payment.js'
import { UINT256_LIMIT } from '../../shared/protocol/primitives.js'
import type { RouterContext } from '../context.js'
import { invalidBody } from '../serve/json-body.js'

export interface RequestedPrice {
  readonly amount: Decimal
  readonly currency: string
  /** The member of the body that the amount came from, for errors. */
  readonly path: string
}

/**
 * Turns a requested price into a merchant's entries of `accepts`.
 *
 * @throws {@link RequestProblem} 400 for an amount that is out of range, 409 while the merchant is paused;
 * `RateError` without a rate.
 */
export async function quoteFiat(
  { facilitator, rates, networkNames, quotes: signer, now }: RouterContext,
  merchant: Merchant,
  { amount, currency, path }: RequestedPrice,
): Promise<readonly PaymentRequirements[]> {
  if (merchant.paused)
    throw new RequestProblem(
      'merchant_paused',
      'The merchant is paused: no payments are taken until it is resumed, in the console or by PATCH.',
    )
  const price = { kind: 'fiat', amount, currency } as const
  const quotes = await new Quoter(merchant, rates, facilitator.formats)
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
 * Reads the rate that was applied to the amount of a payment from its entry of `accepts`.
 *
 * It is for the shop's books only: the shop decides which amounts it submits for settlement.
 */
export async function appliedRateOf(
  { quotes }: Pick<RouterContext, 'quotes'>,
  merchant: Merchant,
  entry: PaymentRequirements,
): Promise<AppliedRate | undefined> {
  const signed = entry.extra?.['quote']
  if (typeof signed !== 'string') return undefined
  return (await quotes.read(signed, { request: requestOf(merchant), entry }))?.applied
}

/** A quote of the API is valid for every resource of its project. */
function requestOf({ project }: Merchant): QuoteSubject['request'] {
  return ['project', project]
}
