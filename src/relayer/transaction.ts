/** What the relayer sends, and what became of it. */
import type { Call, FeeValues, RejectionCause } from '../chain/chain.js'
import type { AuthorizationKey, Submission } from '../ledger/ledger.js'
import type { GasShare } from './batch-gas.js'

/** A call to be sent as a transaction. */
export interface TransactionRequest {
  readonly call: Call
  readonly gas: bigint
  /**
   * Records the signed transaction in the ledger. Nothing is sent when it throws. Called again with
   * every replacement of the transaction.
   */
  readonly writeAhead: (submission: Submission) => Promise<void>
}

/** Signs a call with an account nonce and fees. */
export type Sign = (
  request: Pick<TransactionRequest, 'call' | 'gas'>,
  accountNonce: number,
  fees: FeeValues,
) => Promise<Submission>

/** What became of a transaction. */
export type SendResult = SentTransaction | RejectedTransaction

/** A node was given the transaction; `unknown` when its answer was lost. */
type SentTransaction =
  | { readonly kind: 'accepted'; readonly submission: Submission }
  | { readonly kind: 'unknown'; readonly submission: Submission }

/** No node has the transaction, and none will get it. */
export interface RejectedTransaction {
  readonly kind: 'rejected'
  readonly cause: RejectionCause | 'lease'
  readonly submission: Submission
}

/** Nothing was recorded in the ledger, and nothing sent. */
export interface UnsentTransaction {
  readonly kind: 'unsent'
  /** The lease has ended, or the node does not say whether it has an earlier transaction. */
  readonly cause: 'lease' | 'unknown'
}

/** A settlement that may share its transaction with others. */
export interface BatchMember extends Pick<TransactionRequest, 'call' | 'gas'> {
  readonly key: AuthorizationKey
  /** Whether it needs a transaction of its own. @defaultValue false */
  readonly isAlone?: boolean | undefined
  /** Its part of the gas of a shared transaction, where that was measured. */
  readonly gasShare?: GasShare | undefined
  /** Called right before the transaction is sent; throws when the call must not be sent any more. */
  readonly recheck?: (() => Promise<void>) | undefined
  /**
   * Makes what the ledger record says of a transaction; called again with every replacement. Throws
   * when the call must not be sent any more.
   */
  readonly toSubmission: (submission: Submission) => Submission
  /** Called when the first transaction is being recorded, or another in place of a rejected one. */
  readonly onWriteAhead: (submission: Submission, stored: Promise<void>) => void
  /** Whether the record may be withdrawn when nothing was sent: no caller has seen its transaction. */
  readonly canForget: () => boolean
}

/** A settlement that waits for a transaction, and its caller. */
export interface QueuedMember {
  readonly member: BatchMember
  readonly resolve: (sent: SendResult) => void
  readonly reject: (error: unknown) => void
}
