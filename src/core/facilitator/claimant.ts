import { fingerprintOf } from '../../ledger/once/fingerprint.js'
import type { Payment } from '../../shared/protocol/decoded-payment.js'
import type { ReservingFacilitator } from './facilitator.js'

/**
 * Names who claims a payment's id (`payment-identifier`) before the payment is verified: its payer, where the payer's
 * own key has signed it. Else a stranger may have written it, and it claims the id for itself alone.
 */
export async function claimantOf(
  { formats }: Pick<ReservingFacilitator, 'formats'>,
  payment: Payment,
): Promise<string> {
  const { extensions: _extensions, ...signed } = payment.payload
  const isSigned = await formats.get(payment.requirements.scheme)?.isSignedByPayer(payment)
  return (isSigned && payment.key?.from) || fingerprintOf(signed)
}
