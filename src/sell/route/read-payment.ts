/** The headers that present a payment of x402, in either version. */
import { PAYMENT_HEADERS } from '../../shared/protocol/headers.js'
import { decodePayload } from '../../shared/protocol/decoded-payment.js'
import type { DocumentError, Parsed } from '../../shared/protocol/document.js'
import type { PaymentPayload } from '../../shared/protocol/payment.js'
import type { SchemeFormats } from '../../core/schemes/scheme.js'
import type { PresentedPayment } from './payment-dialect.js'
import type { RequestView } from './request-view.js'

/** Whether a request has a payment header, readable or not. */
export function bringsPayment(request: Pick<RequestView, 'header'>): boolean {
  return PAYMENT_HEADERS.some((name) => request.header(name) !== undefined)
}

/** Name and text of a request's payment header: the newer one, if it has both. */
export function paymentHeaderOf(view: RequestView): { name: string; text: string } | undefined {
  const name = PAYMENT_HEADERS.find((one) => view.header(one) !== undefined)
  return name && { name, text: view.header(name) ?? '' }
}

/** Decodes the payment of a header. */
export function decodePresented(
  name: string,
  payload: Parsed<PaymentPayload>,
  formats: SchemeFormats,
): PresentedPayment {
  if (!payload.ok) return unreadable(name, describe('', payload.errors))
  const decoded = decodePayload(payload.value, formats)
  const { accepted, paymentId, read } = decoded
  if (!accepted.ok) return unreadable(name, describe('accepted', accepted.errors))
  // Of a scheme that is not spoken here, there is nothing to say.
  if (!read.ok && read.errors.length > 0) return unreadable(name, describe('payload', read.errors))
  if (!paymentId.ok) return unreadable(name, describe('', paymentId.errors))
  return { kind: 'payment', decoded, accepted: accepted.value }
}

export const unreadable = (name: string, problem: string): PresentedPayment => ({
  kind: 'unreadable',
  problem: `The ${name} header cannot be read: ${problem}.`,
})

function describe(parent: string, errors: readonly DocumentError[]): string {
  return errors
    .map(({ path, message }) => {
      const where = [parent, path].filter(Boolean).join('.') || 'the document'
      return `${where}: ${message}`
    })
    .join('; ')
}
