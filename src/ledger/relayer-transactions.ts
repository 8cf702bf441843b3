/** The transactions of relayer accounts, as the ledger keeps them. */
import type { Address } from '../protocol/payment.js'
import type { KeyedSubmission, Submission } from './record.js'

/** An account that sends transactions. */
export interface RelayerAccount {
  readonly chainId: number
  readonly relayer: Address
}

/** A signed transaction, and what is written down of each payment that it makes. */
export interface SignedBatch {
  readonly submission: Submission
  readonly members: readonly KeyedSubmission[]
}

/** An account whose transactions are not all known to be mined. */
export interface PendingRelayer extends RelayerAccount {
  /** The account nonce that is handed out next. */
  readonly nextNonce: number
  /** Lower account nonces were mined when the chain was last asked. */
  readonly minedNonce: number
  /** Whether the caller, and no other process, should look after them now. */
  readonly isClaimed: boolean
}

/** The transaction that was last written down for an account nonce. */
export interface RelayerTransaction extends Submission {
  /** Whether a payment that is submitted or settled names it. */
  readonly isNeeded: boolean
  /** Id of the payment that it refunds, if it makes a refund. A refund shares its transaction with nothing. */
  readonly refundOf?: string | undefined
  /** Milliseconds since it was written down. */
  readonly ageMs: number
}

/** Mined transactions that are kept of each account. */
export const KEPT_MINED = 256

/** Transactions that `listTransactions` returns at most. */
export const LISTED_TRANSACTIONS = 100

/** Milliseconds after which a transaction that is not mined is looked after, and between two looks. */
export const LOOK_AFTER_MS = { age: 1000, pause: 700 }

/** Milliseconds without a transaction after which the chain's nonce counts more than the ledger's. */
export const NONCE_LOWERED_AFTER_MS = 600_000
