import type { Merchant } from '../../core/merchants/project.js'
import type { Asset } from '../../shared/money/assets.js'
import { decodePayment } from '../../shared/protocol/decoded-payment.js'
import type { Parsed } from '../../shared/protocol/document.js'
import { decodeHeader, X_PAYMENT } from '../../shared/protocol/headers.js'
import { sameNetwork } from '../../shared/protocol/networks.js'
import { EXACT, versionOf, X402_VERSION } from '../../shared/protocol/payment.js'
import type {
  PaymentPayload,
  PaymentRequired,
  PaymentRequirements,
} from '../../shared/protocol/payment.js'
import { parsePaymentV1, paymentRequiredV1, VERSION_1 } from '../../shared/protocol/version-1.js'
import { isPermit2 } from '../../shared/protocol/same-offer.js'
import type { SchemeFormats } from '../../core/schemes/scheme.js'
import type { Challenge, PaymentDialect, PresentedPayment } from './payment-dialect.js'
import { decodePresented, paymentHeaderOf, receiptOf } from './version-2.js'
import type { RequestView } from './request-view.js'

/** Address of no token: what the merchant does not take has none. */
const NO_TOKEN = `0x${'0'.repeat(40)}`

/** The seller of a route that is open to version 1. */
type Seller = Pick<Merchant, 'accepts' | 'maxTimeoutSeconds'>

/** x402 version 1: a 402 in its body, and a payment that becomes one of version 2. */
export class Version1 implements PaymentDialect {
  readonly #seller: Seller
  readonly #formats: SchemeFormats
  readonly receipt = receiptOf

  constructor(seller: Seller, formats: SchemeFormats) {
    this.#seller = seller
    this.#formats = formats
  }

  async read(view: RequestView): Promise<PresentedPayment | undefined> {
    const header = paymentHeaderOf(view)
    if (header?.name !== X_PAYMENT) return undefined
    const document = decodeHeader(header.text)
    if (!document.ok || versionOf(document.value) !== VERSION_1) return undefined
    const payload = await this.toVersion2(document.value)
    const presented = decodePresented(view.placeOf(header.name), payload, this.#formats)
    if (presented.kind !== 'payment') return presented
    return { ...presented, network: presented.accepted.network }
  }

  /** Its body, beside the header of version 2. */
  challenge(document: PaymentRequired): Partial<Challenge> {
    const required = paymentRequiredV1(document)
    return required ? { body: JSON.stringify(required) } : {}
  }

  /**
   * Reads a payment of version 1 as one of version 2.
   *
   * It does not say which offer it accepts: that is what was signed, payee and amount of the authorization, in
   * the token whose signature it bears. The offer of the route is compared with it afterwards.
   */
  async toVersion2(document: unknown): Promise<Parsed<PaymentPayload>> {
    const payment = parsePaymentV1(document)
    if (!payment.ok) return payment
    const { scheme, network, payload, extensions } = payment.value
    // Another scheme is read as far as possible: it is refused by its name.
    const format = this.#formats.get(scheme) ?? this.#formats.get(EXACT)
    const read = format?.decode(payload) ?? ({ ok: false, errors: [] } as const)
    if (!read.ok)
      return {
        ok: false,
        errors: read.errors.map((error) => ({ ...error, path: `payload.${error.path}` })),
      }
    const { amount, payTo } = read.value
    const { accepts, maxTimeoutSeconds } = this.#seller
    const paidIn = (asset?: Asset): AcceptingPayload => {
      const offers = asset && this.#formats.get(scheme)?.offers(asset, {})
      const terms = { scheme, network, amount: String(amount), payTo, maxTimeoutSeconds }
      // Version 1 does not know Permit2.
      const extra = offers?.find((one) => !isPermit2({ extra: one }))
      const accepted = { ...terms, asset: asset?.address ?? NO_TOKEN, extra }
      return { x402Version: X402_VERSION, accepted, payload, extensions }
    }
    const candidates = accepts
      .filter((asset) => sameNetwork(asset.network.caip2, network))
      .map(paidIn)
    const [first = paidIn(), ...others] = candidates
    const value = others.length === 0 ? first : ((await this.#findSigned(candidates)) ?? first)
    return { ok: true, value }
  }

  /** The signature of a contract's account fits none: such a payment is taken for the first token. */
  async #findSigned(candidates: readonly AcceptingPayload[]): Promise<PaymentPayload | undefined> {
    for (const payload of candidates) {
      const payment = decodePayment(payload, payload.accepted, this.#formats)
      if (await this.#formats.get(payload.accepted.scheme)?.isSignedByPayer(payment)) return payload
    }
    return undefined
  }
}

type AcceptingPayload = PaymentPayload & { readonly accepted: PaymentRequirements }
