/** Requests to a remote facilitator. */
import { isDeepStrictEqual } from 'node:util'
import type { ReadablePayment } from '../../shared/protocol/decoded-payment.js'
import { withoutPaymentId } from '../../shared/protocol/payment-identifier.js'
import {
  X402_VERSION,
  type PaymentPayload,
  type PaymentRequirements,
} from '../../shared/protocol/payment.js'
import type { MerchantTerms } from '../schemes/scheme.js'

export interface RemoteRequest {
  readonly payload: PaymentPayload
  readonly requirements: PaymentRequirements
}

/**
 * Makes the request for a payment.
 *
 * The payload names the resource that it is presented for, not the one that its client wrote: the facilitator
 * binds the payment to it. The payment's id stays here, where repeats are answered: it is the buyer's secret.
 */
export function requestOf({
  payment,
  terms,
}: {
  readonly payment: ReadablePayment
  readonly terms: MerchantTerms | undefined
}): RemoteRequest {
  const payload = withoutPaymentId(payment.payload)
  const url = terms?.purchase?.url
  const requirements = offeredEntry(payment)
  if (url === undefined) return { payload, requirements }
  return { payload: { ...payload, resource: { ...payload.resource, url } }, requirements }
}

/**
 * The entry as it was offered: the payer's copy, byte for byte, unless the payer has changed it. Some
 * facilitators refuse any difference.
 */
function offeredEntry({ payload, requirements }: ReadablePayment): PaymentRequirements {
  const { accepted } = payload
  const { offerId } = Object(accepted['extra']) as { readonly offerId?: unknown }
  const offered = {
    ...requirements,
    ...(typeof offerId === 'string' && { extra: { ...requirements.extra, offerId } }),
    ...('protocolVersion' in accepted && { protocolVersion: X402_VERSION }),
  }
  return isDeepStrictEqual(offered, accepted)
    ? (accepted as unknown as PaymentRequirements)
    : requirements
}
