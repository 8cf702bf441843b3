/** The responses of settle for a verified payment (x402 v2 §5.3). */
import { amountOf, type LedgerEntry } from '../../../ledger/index.js'
import { UPTO, type SettleResponse } from '../../../protocol/payment.js'
import { unsettledResponse } from '../../../protocol/reason-words.js'
import type { Reason } from '../../../protocol/reasons.js'
import type { VerifiedPayment } from '../verify/verify.js'

/**
 * The merchant was paid, or nothing was charged.
 *
 * @param entry - What its record says was charged.
 */
export function settledResponse(
  payment: VerifiedPayment,
  transaction: string,
  entry: LedgerEntry,
): SettleResponse {
  const { network, scheme } = payment.payment.requirements
  const amount = scheme === UPTO ? { amount: amountOf(entry).toString() } : {}
  return { success: true, transaction, network, payer: payment.payer, ...amount }
}

/** The merchant was not paid, or is not known to have been. */
export function failedResponse(
  payment: VerifiedPayment,
  reason: Reason,
  transaction = '',
): SettleResponse {
  const { network } = payment.payment.requirements
  return unsettledResponse({ reason, transaction, network, payer: payment.payer })
}
