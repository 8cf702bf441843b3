/** The responses of settle for a verified payment (x402 v2 §5.3). */
import { amountOf, type LedgerEntry } from '../../../../ledger/index.js'
import { UPTO, type SettleResponse } from '../../../../shared/protocol/payment.js'
import { unsettledResponse } from '../../../../shared/protocol/reason-words.js'
import type { Reason } from '../../../../shared/protocol/reasons.js'
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

/** What is told beside the reason. */
interface FailureDetails {
  readonly transaction?: string | undefined
  /** More precise words than those of the reason. */
  readonly message?: string | undefined
}

/** The merchant was not paid, or is not known to have been. */
export function failedResponse(
  payment: VerifiedPayment,
  reason: Reason,
  { transaction, message }: FailureDetails = {},
): SettleResponse {
  const { network } = payment.payment.requirements
  return unsettledResponse({ reason, message, transaction, network, payer: payment.payer })
}
