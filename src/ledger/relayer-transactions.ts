/** The transactions of relayer accounts, as the ledger keeps them. */
import type { Address } from '../shared/protocol/payment.js'
import type { KeyedSubmission, Submission } from './record.js'

export interface RelayerAccount {
  readonly chainId: number
  readonly relayer: Address
}

export interface SignedBatch {
  readonly submission: Submission
  readonly members: readonly KeyedSubmission[]
}

/** An account that may have unmined transactions. */
export interface PendingRelayer extends RelayerAccount {
  readonly nextNonce: number
  /** Lower account nonces were mined when the chain was last asked. */
  readonly minedNonce: number
  /** Whether the caller, and no other process, should look after them now. */
  readonly isClaimed: boolean
}

/** The transaction that was last written down for an account nonce. */
export interface RelayerTransaction extends Submission {
  /** Whether a payment that is submitted or settled names it, or one that it replaces. */
  readonly isNeeded: boolean
  /** Id of the payment that it refunds, if it makes a refund. A refund shares its transaction with nothing. */
  readonly refundOf?: string | undefined
  /** Time since it was written down (ms). */
  readonly ageMs: number
}

/** Mined transactions that are kept of each account. */
export const KEPT_MINED = 256

export const LISTED_TRANSACTIONS = 100

/** How old an unmined transaction is when a gateway looks after it, and the pause between two looks (ms). */
export const LOOK_AFTER_MS = { age: 1000, pause: 700 }

/** How long an account must send nothing before the chain's nonce overrules the ledger's (ms). */
export const NONCE_LOWERED_AFTER_MS = 600_000
