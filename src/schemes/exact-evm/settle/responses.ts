/** The responses of settle for a verified payment (x402 v2 §5.3). */
import type { SettleResponse } from '../../../protocol/payment.js'
import { unsettledResponse } from '../../../protocol/reason-words.js'
import type { Reason } from '../../../protocol/reasons.js'
import type { VerifiedPayment } from '../verify/verify.js'

/** The merchant was paid. */
export function settledResponse(payment: VerifiedPayment, transaction: string): SettleResponse {
  const { network } = payment.payment.requirements
  return { success: true, transaction, network, payer: payment.payer }
}

/** The merchant was not paid, or is not known to have been. */
export function failedResponse(
  payment: VerifiedPayment,
  reason: Reason,
  transaction = '',
): SettleResponse {
  const { network } = payment.payment.requirements
  // Known here, where the chain was asked; a remote facilitator may be wrong about it.
  const isKnown = reason === 'invalid_transaction_state' && transaction !== ''
  const message = isKnown
    ? 'The transaction failed on chain; the merchant was not paid.'
    : undefined
  return unsettledResponse({ reason, message, transaction, network, payer: payment.payer })
}
