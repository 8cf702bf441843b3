import { decodeHeader } from '../../shared/protocol/headers.js'
import { isOtherVersion, parsePaymentPayload } from '../../shared/protocol/payment.js'
import type { PaymentRequired } from '../../shared/protocol/payment.js'
import type { SchemeFormats } from '../../core/schemes/scheme.js'
import { paymentResponseHeaders } from '../respond/respond.js'
import type { Challenge, PaymentDialect, PresentedPayment } from './payment-dialect.js'
import { decodePresented, paymentHeaderOf, unreadable } from './read-payment.js'
import type { RequestView } from './request-view.js'

/** x402 version 2. It reads its payments from either header, and recognises those of other versions. */
export class Version2 implements PaymentDialect {
  readonly #formats: SchemeFormats
  readonly receipt = paymentResponseHeaders

  constructor(formats: SchemeFormats) {
    this.#formats = formats
  }

  async read(view: RequestView): Promise<PresentedPayment | undefined> {
    const header = paymentHeaderOf(view)
    if (header === undefined) return undefined
    const document = decodeHeader(header.text)
    if (!document.ok) return unreadable(header.name, document.problem)
    if (isOtherVersion(document.value)) return { kind: 'other_version' }
    return decodePresented(header.name, parsePaymentPayload(document.value), this.#formats)
  }

  challenge(document: PaymentRequired): Challenge {
    const json = JSON.stringify(document)
    return { header: json, body: json }
  }
}
