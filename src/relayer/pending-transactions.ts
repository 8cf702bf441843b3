import type { FeeValues } from '../chain/chain.js'
import type { Submission } from '../ledger/ledger.js'
import type { Hex } from '../protocol/payment.js'
import type { TransactionRequest } from './transaction.js'

/** Mined transactions that are kept: a reorganisation may drop them from the chain. */
const MAX_MINED = 256

/** A transaction that was sent and is not mined: the latest one, if it was replaced. */
export interface PendingTransaction {
  readonly request: TransactionRequest
  readonly submission: Submission
  readonly fees: FeeValues
  /** Whether the node's answer was lost: the node may not have the transaction. */
  readonly isUnknown: boolean
  /** When its fees were last set, by `performance.now()`. */
  readonly pricedAt: number
  /** A block at which it was pending already. */
  readonly seenWaitingAt?: bigint | undefined
}

/** The pending transactions of one account, by account nonce. */
export class PendingTransactions {
  /** By account nonce, in the order in which they were added. */
  readonly #pending = new Map<number, PendingTransaction>()
  /** By account nonce, oldest first, at most {@link MAX_MINED}. */
  readonly #mined = new Map<number, PendingTransaction>()

  /** How many are pending. */
  get size(): number {
    return this.#pending.size
  }

  /** Whether the node's answer to one of them was lost. */
  get hasUnknown(): boolean {
    return this.all().some(({ isUnknown }) => isUnknown)
  }

  /** The account nonce after the highest pending one; 0 when nothing is pending. */
  get nextNonce(): number {
    return Math.max(-1, ...this.#pending.keys()) + 1
  }

  /** All pending transactions, in the order of their nonces. */
  all(): readonly PendingTransaction[] {
    return [...this.#pending.values()]
  }

  /** Whether a transaction is still the one that is pending under its nonce. */
  has({ submission }: PendingTransaction): boolean {
    const current = this.#pending.get(submission.accountNonce)
    return current?.submission.transaction === submission.transaction
  }

  /** Adds a transaction that was sent. */
  add(sent: PendingTransaction): void {
    this.#pending.set(sent.submission.accountNonce, sent)
  }

  /** Changes a transaction, if it is still pending. */
  update(known: PendingTransaction, changes: Partial<PendingTransaction>): void {
    if (this.has(known)) this.#pending.set(known.submission.accountNonce, { ...known, ...changes })
  }

  /** Removes a transaction that will not be mined. */
  remove(known: PendingTransaction): void {
    if (this.has(known)) this.#pending.delete(known.submission.accountNonce)
  }

  /** Marks every transaction below the account's mined nonce as mined. */
  noteMinedNonce(minedNonce: number): void {
    for (const one of this.all())
      if (one.submission.accountNonce < minedNonce) this.#moveToMined(one)
  }

  /** Marks a transaction as mined, and with it every earlier one. */
  noteMined(transaction: Hex): void {
    const mined = this.all().find(({ submission }) => hashesOf(submission).includes(transaction))
    if (mined !== undefined) this.noteMinedNonce(mined.submission.accountNonce + 1)
  }

  /** The mined transaction with an account nonce, if it is still kept. */
  minedAt(accountNonce: number): PendingTransaction | undefined {
    return this.#mined.get(accountNonce)
  }

  /** All hashes that were sent with the nonce of a transaction, newest first. */
  transactionsOf(submission: Submission): readonly Hex[] {
    const { transaction, accountNonce } = submission
    const known = this.#pending.get(accountNonce) ?? this.#mined.get(accountNonce)
    const hashes = known === undefined ? [] : hashesOf(known.submission)
    return hashes.includes(transaction) ? hashes : hashesOf(submission)
  }

  #moveToMined(one: PendingTransaction): void {
    const { accountNonce } = one.submission
    this.#pending.delete(accountNonce)
    this.#mined.set(accountNonce, one)
    const [oldest] = this.#mined.keys()
    if (this.#mined.size > MAX_MINED && oldest !== undefined) this.#mined.delete(oldest)
  }
}

/** A transaction's own hash, and those it replaced, newest first. */
export function hashesOf({ transaction, replaces = [] }: Submission): readonly Hex[] {
  return [transaction, ...replaces]
}
