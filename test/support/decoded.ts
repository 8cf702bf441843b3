import {
  decodePayment,
  isReadable,
  type ReadablePayment,
} from '../../src/shared/protocol/decoded-payment.js'
import {
  EXACT,
  type PaymentPayload,
  type PaymentRequirements,
} from '../../src/shared/protocol/payment.js'
import { exactFormat } from './exact-format.js'

/** The formats of a gateway. */
export const FORMATS = new Map([[EXACT, exactFormat]])

/** A good payment, decoded as a facilitator takes it. */
export function decoded(
  payload: PaymentPayload,
  requirements: PaymentRequirements,
): ReadablePayment {
  const payment = decodePayment(payload, requirements, FORMATS)
  if (!isReadable(payment)) throw new Error('unreadable')
  return payment
}
