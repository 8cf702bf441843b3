import type { FeeValues } from '../chain/chain.js'
import type { Submission } from '../ledger/ledger.js'
import type { Hex } from '../protocol/payment.js'
import type { TransactionRequest } from './relayer.js'

/** Mined transactions that are kept: a reorganisation of the chain may drop them. */
const MAX_MINED = 256

/** A transaction on its way: the last one, where it was replaced. */
export interface PendingTransaction {
  readonly request: TransactionRequest
  readonly submission: Submission
  readonly fees: FeeValues
  /** Whether no answer came: the node may not have it. */
  readonly isUnknown: boolean
  /** When it was last priced, by `performance.now()`. */
  readonly pricedAt: number
  /** A block by which it was waiting already. */
  readonly seenWaitingAt?: bigint | undefined
}

/** The transactions of one account that are on their way, by transaction count. */
export interface PendingTransactions {
  size(): number
  /** In the order of their counts. */
  all(): readonly PendingTransaction[]
  hasUnknown(): boolean
  /** The count after the last one's; 0 without any. */
  nextNonce(): number
  /** Whether it is still the one under its count. */
  has(flight: PendingTransaction): boolean
  add(flight: PendingTransaction): void
  /** Changes one, if it is still there. */
  update(flight: PendingTransaction, changes: Partial<PendingTransaction>): void
  remove(flight: PendingTransaction): void
  /** Takes note of how many of the account's transactions are mined. */
  noteMinedNonce(count: number): void
  /** Takes note that a transaction, and with it every earlier one, is mined. */
  noteMined(transaction: Hex): void
  /** The mined transaction under a count, if it is still kept. */
  minedAt(count: number): PendingTransaction | undefined
  /** All hashes under the count of a transaction, newest first. */
  transactionsOf(submission: Submission): readonly Hex[]
}

/** Keeps track of transactions on their way. */
export function createPendingTransactions(): PendingTransactions {
  const pending = new Map<number, PendingTransaction>()
  const mined = new Map<number, PendingTransaction>()

  const has = ({ submission }: PendingTransaction): boolean =>
    pending.get(submission.accountNonce)?.submission.transaction === submission.transaction

  const moveToMined = (flight: PendingTransaction): void => {
    const { accountNonce } = flight.submission
    pending.delete(accountNonce)
    mined.set(accountNonce, flight)
    const [oldest] = mined.keys()
    if (mined.size > MAX_MINED && oldest !== undefined) mined.delete(oldest)
  }

  const all = (): readonly PendingTransaction[] => [...pending.values()]

  const noteMinedNonce = (count: number): void => {
    for (const flight of all()) if (flight.submission.accountNonce < count) moveToMined(flight)
  }

  return {
    size: () => pending.size,
    all,
    hasUnknown: () => all().some((flight) => flight.isUnknown),
    nextNonce: () => Math.max(-1, ...pending.keys()) + 1,
    has,
    add: (flight) => void pending.set(flight.submission.accountNonce, flight),
    update(flight, changes) {
      if (has(flight)) pending.set(flight.submission.accountNonce, { ...flight, ...changes })
    },
    remove(flight) {
      if (has(flight)) pending.delete(flight.submission.accountNonce)
    },
    noteMinedNonce,
    noteMined(transaction) {
      const flight = all().find(({ submission }) => hashesOf(submission).includes(transaction))
      if (flight !== undefined) noteMinedNonce(flight.submission.accountNonce + 1)
    },
    minedAt: (count) => mined.get(count),
    transactionsOf(submission) {
      const { transaction, accountNonce } = submission
      const known = pending.get(accountNonce) ?? mined.get(accountNonce)
      const hashes = known === undefined ? [] : hashesOf(known.submission)
      return hashes.includes(transaction) ? hashes : hashesOf(submission)
    },
  }
}

function hashesOf({ transaction, replaces = [] }: Submission): readonly Hex[] {
  return [transaction, ...replaces]
}
