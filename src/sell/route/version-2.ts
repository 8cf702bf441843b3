import { decodePayload } from '../../shared/protocol/decoded-payment.js'
import type { DocumentError, Parsed } from '../../shared/protocol/document.js'
import {
  decodeHeader,
  encodeHeader,
  PAYMENT_HEADERS,
  PAYMENT_RESPONSE,
  X_PAYMENT_RESPONSE,
} from '../../shared/protocol/headers.js'
import { isOtherVersion, parsePaymentPayload } from '../../shared/protocol/payment.js'
import type {
  PaymentPayload,
  PaymentRequired,
  SettleResponse,
} from '../../shared/protocol/payment.js'
import type { SchemeFormats } from '../../core/schemes/scheme.js'
import type { Challenge, PaymentDialect, PresentedPayment, Receipt } from './payment-dialect.js'
import type { RequestView } from './request-view.js'

/** x402 version 2. It reads its payments from either header, and recognises those of other versions. */
export class Version2 implements PaymentDialect {
  readonly #formats: SchemeFormats
  readonly receipt = receiptOf

  constructor(formats: SchemeFormats) {
    this.#formats = formats
  }

  async read(view: RequestView): Promise<PresentedPayment | undefined> {
    const header = paymentHeaderOf(view)
    if (header === undefined) return undefined
    const document = decodeHeader(header.text)
    const place = view.placeOf(header.name)
    if (!document.ok) return unreadable(place, document.problem)
    if (isOtherVersion(document.value)) return { kind: 'other_version' }
    return decodePresented(place, parsePaymentPayload(document.value), this.#formats)
  }

  challenge(document: PaymentRequired): Challenge {
    const json = JSON.stringify(document)
    return { header: json, body: json }
  }
}

/** The receipt of either version: `PAYMENT-RESPONSE`, and its older name. */
export function receiptOf(settlement: SettleResponse): Receipt {
  const value = encodeHeader(settlement)
  return { [PAYMENT_RESPONSE]: value, [X_PAYMENT_RESPONSE]: value }
}

/** Whether a request has a payment header, readable or not. */
export function bringsPayment(request: Pick<RequestView, 'header'>): boolean {
  return PAYMENT_HEADERS.some((name) => request.header(name) !== undefined)
}

/** Name and text of a request's payment header: the newer one, if it has both. */
export function paymentHeaderOf(view: RequestView): { name: string; text: string } | undefined {
  const name = PAYMENT_HEADERS.find((one) => view.header(one) !== undefined)
  return name && { name, text: view.header(name) ?? '' }
}

/** @param place - As {@link RequestView.placeOf} names it. */
export function decodePresented(
  place: string,
  payload: Parsed<PaymentPayload>,
  formats: SchemeFormats,
): PresentedPayment {
  if (!payload.ok) return unreadable(place, describe('', payload.errors))
  const decoded = decodePayload(payload.value, formats)
  const { accepted, paymentId, read } = decoded
  if (!accepted.ok) return unreadable(place, describe('accepted', accepted.errors))
  // Of a scheme that is not spoken here, there is nothing to say.
  if (!read.ok && read.errors.length > 0) return unreadable(place, describe('payload', read.errors))
  if (!paymentId.ok) return unreadable(place, describe('', paymentId.errors))
  return { kind: 'payment', decoded, accepted: accepted.value }
}

const unreadable = (place: string, problem: string): PresentedPayment => ({
  kind: 'unreadable',
  problem: `The ${place} cannot be read: ${problem}.`,
})

export function describe(parent: string, errors: readonly DocumentError[]): string {
  return errors
    .map(({ path, message }) => {
      const where = [parent, path].filter(Boolean).join('.') || 'the document'
      return `${where}: ${message}`
    })
    .join('; ')
}
