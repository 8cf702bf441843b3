/** The answer to a paid checkout: a redirect to the shop, or JSON. */
import type { Request, Response } from 'express'
import { recordId } from '../../ledger/index.js'
import type { Checkout } from '../../ledger/checkouts.js'
import { paidRequest } from '../flow/paid-request.js'
import { prefersHtml, varyByAccept } from '../paywall/prefers-html.js'
import { decodePayment, type PayloadFormats } from '../../shared/protocol/decoded-payment.js'

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
 * A person is sent on to the shop, if that has a page for it; the payment page itself says that the link is paid.
 */
export function respondPaid(res: Response, checkout: Checkout): void {
  const { id, amount, currency, description } = checkout
  const successUrl = returnUrlOf(checkout)
  res.set('Cache-Control', 'no-store')
  varyByAccept(res)
  if (successUrl !== undefined && prefersHtml(res.req)) return res.redirect(303, successUrl)
  res.json({ id, status: 'paid', amount, currency, description, successUrl })
}

/** The shop's `successUrl`, with the id of the checkout. */
export function returnUrlOf({ id, successUrl }: Checkout): string | undefined {
  if (successUrl === undefined) return undefined
  const url = new URL(successUrl)
  url.searchParams.set('checkout', id)
  return url.href
}
