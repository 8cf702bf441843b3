/** Decisions of the chain about payments. */
import { UNPAID, type LedgerEntry, type Submission } from '../../../../ledger/index.js'
import type { Hex } from '../../../../shared/protocol/payment.js'
import type { Reason } from '../../../../shared/protocol/reasons.js'

/** A payment whose transaction is in the ledger: all that finding its outcome takes. */
export type SubmittedPayment = LedgerEntry & { readonly submission: Submission }

interface DecidingTransaction {
  readonly transaction: Hex
  /** One of ours that was mined in vain before. */
  readonly lost?: Hex | undefined
}

export interface PaidDecision extends DecidingTransaction {
  readonly kind: 'paid'
  /** Names the transfer log that paid: the ledger gives it to one record. */
  readonly transfer: string
  /** Others that it may be as well, where equal payments share a transaction: the ledger decides. */
  readonly others?: readonly string[]
}

/** No transaction of the payment will pay the merchant. */
export interface FailedDecision extends DecidingTransaction {
  readonly kind: 'failed'
  readonly reason: Reason
}

/**
 * Why a payment failed whose permit a stranger's transaction may have used that moved the same amount, by calls that
 * nobody can read: it buys nothing here, but the merchant may have been paid by it.
 */
export const MAY_HAVE_PAID = 'permit2_invalid_nonce' satisfies Reason

/** A decision of the chain: the transaction that paid, or why none will. */
export type Decision = PaidDecision | FailedDecision

export type Outcome =
  | Decision
  | {
      readonly kind: 'open'
      /** Number of a block whose state would tell, and which the node has forgotten. */
      readonly forgottenBlock?: bigint | undefined
    }

/** Nothing is decided yet. */
export const OPEN = { kind: 'open' } as const satisfies Outcome

/** Whether a transaction was mined, but left the authorization unused. */
export function isUnpaid(outcome: Outcome): outcome is FailedDecision {
  return outcome.kind === 'failed' && outcome.reason === UNPAID
}
