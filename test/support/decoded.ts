import {
  decodePayment,
  isAuthorized,
  type AuthorizedPayment,
} from '../../src/protocol/decoded-payment.js'
import type { PaymentPayload, PaymentRequirements } from '../../src/protocol/payment.js'

/** A good payment, decoded as a facilitator takes it. */
export function decoded(
  payload: PaymentPayload,
  requirements: PaymentRequirements,
): AuthorizedPayment {
  const payment = decodePayment(payload, requirements)
  if (!isAuthorized(payment)) throw new Error('unreadable')
  return payment
}
