import { randomBytes } from 'node:crypto'
import { isObject } from '../../../shared/protocol/document.js'
import { PAYMENT_IDENTIFIER } from '../../../shared/protocol/payment-identifier.js'
import {
  X402_VERSION,
  type Address,
  type PaymentPayload,
} from '../../../shared/protocol/payment.js'
import { signablePayment } from '../../../shared/protocol/signable-payment.js'
import type { PayableOffer } from './choose-offer.js'

/** Makes the authorization that pays an offer. */
export function prepare({ requirements, asset }: PayableOffer, from: Address) {
  const signedAt = Math.floor(Date.now() / 1000)
  const validBefore = signedAt + requirements.maxTimeoutSeconds
  const { chainId } = asset.network
  // viem signs no address with a wrong checksum, and the seller may have written one.
  const offer = { ...requirements, asset: asset.address }
  const payment = signablePayment(offer, { from, chainId, signedAt, validBefore })
  return { ...payment, from, validBefore }
}

/** The members of a 402 that a payment repeats. */
export interface Offered {
  readonly resource?: unknown
  readonly extensions?: unknown
}

/** Makes the payment. */
export function paymentOf(
  { requirements }: PayableOffer,
  payload: object,
  { resource, extensions }: Offered,
): PaymentPayload {
  return {
    x402Version: X402_VERSION,
    ...(isObject(resource) && { resource }),
    accepted: { ...requirements },
    payload: { ...payload },
    ...(isObject(extensions) && { extensions: withPaymentId(extensions) }),
  }
}

/** Adds a payment id if the server takes one: then a repeated payment gets the same answer. */
function withPaymentId(extensions: Readonly<Record<string, unknown>>) {
  const offered = extensions[PAYMENT_IDENTIFIER]
  if (!isObject(offered)) return extensions
  const info = isObject(offered['info']) ? offered['info'] : {}
  const id = randomBytes(24).toString('base64url')
  return { ...extensions, [PAYMENT_IDENTIFIER]: { ...offered, info: { ...info, id } } }
}
