/** The answer to a paid checkout: a redirect to the shop, thanks, or JSON. */
import type { Request, Response } from 'express'
import { recordId } from '../../ledger/index.js'
import type { Checkout } from '../../ledger/checkouts.js'
import type { Merchant } from '../../core/merchants/project.js'
import { parseDecimal } from '../../shared/money/decimal.js'
import { paidRequest } from '../flow/paid-request.js'
import { formatFiat } from '../paywall/format-price.js'
import { resolvePaywall, type CheckedPaywall } from '../paywall/options.js'
import { prefersHtml, varyByAccept } from '../paywall/prefers-html.js'
import { fill, localeOf, textsOf } from '../paywall/texts/languages.js'
import { decodePayment, type PayloadFormats } from '../../shared/protocol/decoded-payment.js'

/** The merchant, and the look of its pages. */
export interface PaidSeller {
  readonly merchant: Merchant
  readonly paywall: CheckedPaywall
}

/** The id of the payment that is reserved for a request. */
export function reservedPayment(req: Request, formats: PayloadFormats): string {
  const { payload, requirements } = paidRequest(req)
  const { key } = decodePayment(payload, requirements, formats)
  if (key === undefined) throw new Error('A payment was reserved that has no key.')
  return recordId(key)
}

/**
 * Writes the answer to a payment. It is sent once that is settled.
 *
 * A person is sent on to the shop, and a program gets JSON.
 */
export function respondPaid(res: Response, checkout: Checkout, seller: PaidSeller): void {
  const { id, amount, currency, description } = checkout
  const returnUrl = returnUrlOf(checkout)
  res.set('Cache-Control', 'no-store')
  varyByAccept(res)
  if (!prefersHtml(res.req)) {
    const paid = { id, status: 'paid', amount, currency, description, successUrl: returnUrl }
    return void res.json(paid)
  }
  if (returnUrl !== undefined) return res.redirect(303, returnUrl)
  res.type('text/plain').send(thanks(res.req, checkout, seller))
}

/** The shop's `successUrl`, with the id of the checkout. */
export function returnUrlOf({
  id,
  successUrl,
}: Pick<Checkout, 'id' | 'successUrl'>): string | undefined {
  if (successUrl === undefined) return undefined
  const url = new URL(successUrl)
  url.searchParams.set('checkout', id)
  return url.href
}

function thanks(
  req: Request,
  { amount, currency, url }: Checkout,
  { merchant, paywall }: PaidSeller,
): string {
  const options = resolvePaywall(undefined, paywall, merchant.branding)
  const locale = options?.locale ?? localeOf(req)
  const { checkoutThanks } = { ...textsOf(locale), ...options?.texts }
  const price = { kind: 'fiat', amount: parseDecimal(amount)!, currency } as const
  const paid = formatFiat(price, merchant, locale) ?? `${amount} ${currency}`
  const seller = options?.name ?? merchant.name ?? new URL(url).host
  return fill(checkoutThanks, { amount: paid, seller })
}
