import { fingerprintOf } from '../../ledger/once/fingerprint.js'
import type { Payment } from '../../shared/protocol/decoded-payment.js'
import type { ReservingFacilitator } from './facilitator.js'

/** Who claims a payment's id (`payment-identifier`). */
export interface Claimants {
  /** Before the payment is verified. */
  readonly presented: string
  /** As well, once it is. */
  readonly verified?: string | undefined
}

/**
 * Names who claims a payment's id: its payer. Where the payer's own key has not signed it, a stranger may have
 * written it: it claims the id for itself alone until it is verified.
 */
export async function claimantsOf(
  { formats }: Pick<ReservingFacilitator, 'formats'>,
  payment: Payment,
): Promise<Claimants> {
  const { extensions: _extensions, ...signed } = payment.payload
  const isSigned = await formats.get(payment.requirements.scheme)?.isSignedByPayer(payment)
  const payer = payment.key?.from
  return isSigned && payer !== undefined
    ? { presented: payer }
    : { presented: fingerprintOf(signed), verified: payer }
}
