import type { Payment } from '../../shared/protocol/decoded-payment.js'
import type { Reservation, SchemeFormats } from '../schemes/scheme.js'

/** What is taken of a payment, where its amount is a maximum. */
export type Charge = NonNullable<Parameters<Reservation['settle']>[0]>

/** A payment with the amount that its payer accepted, and what is to be taken of it. */
export interface ChargedPayment {
  readonly payment: Payment
  readonly charge?: Charge | undefined
}

/**
 * Reads a request to settle: for schemes that charge up to a maximum, and for these alone, the amount of the
 * requirements is the charge, and the maximum is in what the payer accepted (x402 `upto`).
 *
 * More than that is left as it is: then payer and merchant do not mean the same offer.
 */
export function chargedPayment(payment: Payment, formats: SchemeFormats): ChargedPayment {
  const { requirements, accepted } = payment
  if (formats.get(requirements.scheme)?.isMetered !== true || !accepted.ok) return { payment }
  const [charged, maximum] = [BigInt(requirements.amount), BigInt(accepted.value.amount)]
  if (charged > maximum) return { payment }
  const offered = { ...requirements, amount: accepted.value.amount }
  return { payment: { ...payment, requirements: offered }, charge: { amount: charged } }
}
