/** The transactions of relayer accounts, as the ledger keeps them. */
import type { Address, Hex } from '../protocol/payment.js'
import type { AuthorizationKey, KeyedSubmission, Submission } from './record.js'

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

/**
 * Account nonces, and the transaction of each: one for all processes that send from the same account.
 *
 * A nonce is handed out together with its transaction, so that any process can send the bytes. The
 * last {@link KEPT_MINED} mined transactions of an account are kept: a reorganisation may drop them.
 */
export interface RelayerTransactions {
  /**
   * Takes the next account nonce, and writes down the transaction that `sign` makes with it, for all
   * of its payments or for none. Nothing is written down if `sign` throws.
   *
   * @param leastNonce - The chain's next nonce; a higher one is taken if it was handed out before.
   * @param sign - Called again with another nonce when the first write failed.
   * @returns The keys that the caller has not locked. If there are any, nothing was written down.
   */
  submitNext(
    account: RelayerAccount,
    leastNonce: number,
    sign: (accountNonce: number) => Promise<SignedBatch>,
  ): Promise<readonly AuthorizationKey[]>
  /**
   * Writes down a transaction in place of another with its account nonce, also in the records of the
   * payments that are submitted in it.
   *
   * @returns `false` if the other one was replaced before. Nothing is changed then.
   */
  replaceTransaction(chainId: number, earlier: Hex, next: Submission): Promise<boolean>
  /**
   * Writes down a transaction that makes no payment. Records go on naming the earlier one. A refund that
   * was settled in it has failed: a reorganisation has dropped it, and its bytes are gone.
   *
   * @param earlier - The transaction with its account nonce so far, if there is one.
   * @returns As for {@link RelayerTransactions.replaceTransaction}.
   */
  fillNonce(chainId: number, empty: Submission, earlier?: Hex): Promise<boolean>
  /** Lists accounts of a chain that have transactions which are not known to be mined. */
  claimPending(chainId: number): Promise<readonly PendingRelayer[]>
  /** Lists transactions from an account nonce on, lowest first, at most {@link LISTED_TRANSACTIONS}. */
  listTransactions(
    account: RelayerAccount,
    fromNonce: number,
  ): Promise<readonly RelayerTransaction[]>
  /** Records that all lower account nonces are mined. */
  noteMinedNonce(account: RelayerAccount, minedNonce: number): Promise<void>
  /**
   * Lowers the next account nonce to the chain's, which has forgotten the rest. Nothing is changed if
   * a transaction from there on was written down lately, or is not known to be mined.
   */
  lowerNonce(account: RelayerAccount, nonce: number): Promise<void>
}

/** Mined transactions that are kept of each account. */
export const KEPT_MINED = 256

/** Transactions that {@link RelayerTransactions.listTransactions} returns at most. */
export const LISTED_TRANSACTIONS = 100

/** Milliseconds after which a transaction that is not mined is looked after, and between two looks. */
export const LOOK_AFTER_MS = { age: 1000, pause: 700 }

/** Milliseconds without a transaction after which the chain's nonce counts more than the ledger's. */
export const NONCE_LOWERED_AFTER_MS = 600_000
