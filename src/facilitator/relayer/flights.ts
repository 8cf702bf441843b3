import type { GasOffer } from '../../chain/chain.js'
import type { Submission } from '../../ledger/ledger.js'
import type { Hex } from '../../protocol/payment.js'
import type { Dispatch } from './relayer.js'

/** Mined transactions that are kept: a reorganisation of the chain may drop them. */
const KEPT = 256

/** A transaction on its way: the last one, where it was replaced. */
export interface Flight {
  readonly dispatch: Dispatch
  readonly submission: Submission
  readonly offer: GasOffer
  /** Whether no answer came: the node may not have it. */
  readonly inDoubt: boolean
  /** When it was last priced, by `performance.now()`. */
  readonly pricedAt: number
  /** A block by which it was waiting already. */
  readonly seenWaitingAt?: bigint | undefined
}

/** The transactions of one account that are on their way, by transaction count. */
export interface Flights {
  size(): number
  /** In the order of their counts. */
  all(): readonly Flight[]
  inDoubt(): boolean
  /** The count after the last one's; 0 without any. */
  nextCount(): number
  /** Whether it is still the one under its count. */
  has(flight: Flight): boolean
  add(flight: Flight): void
  /** Changes one, if it is still there. */
  change(flight: Flight, changes: Partial<Flight>): void
  remove(flight: Flight): void
  /** Takes note of how many of the account's transactions are mined. */
  noteMinedCount(count: number): void
  /** Takes note that a transaction, and with it every earlier one, is mined. */
  noteMined(transaction: Hex): void
  /** The mined transaction under a count, if it is still kept. */
  minedUnder(count: number): Flight | undefined
  /** All hashes under the count of a transaction, newest first. */
  transactionsOf(submission: Submission): readonly Hex[]
}

/** Keeps track of transactions on their way. */
export function createFlights(): Flights {
  const flying = new Map<number, Flight>()
  const landed = new Map<number, Flight>()

  const has = ({ submission }: Flight): boolean =>
    flying.get(submission.transactionCount)?.submission.transaction === submission.transaction

  const land = (flight: Flight): void => {
    const { transactionCount } = flight.submission
    flying.delete(transactionCount)
    landed.set(transactionCount, flight)
    const [oldest] = landed.keys()
    if (landed.size > KEPT && oldest !== undefined) landed.delete(oldest)
  }

  const all = (): readonly Flight[] => [...flying.values()]

  const noteMinedCount = (count: number): void => {
    for (const flight of all()) if (flight.submission.transactionCount < count) land(flight)
  }

  return {
    size: () => flying.size,
    all,
    inDoubt: () => all().some((flight) => flight.inDoubt),
    nextCount: () => Math.max(-1, ...flying.keys()) + 1,
    has,
    add: (flight) => void flying.set(flight.submission.transactionCount, flight),
    change(flight, changes) {
      if (has(flight)) flying.set(flight.submission.transactionCount, { ...flight, ...changes })
    },
    remove(flight) {
      if (has(flight)) flying.delete(flight.submission.transactionCount)
    },
    noteMinedCount,
    noteMined(transaction) {
      const flight = all().find(({ submission }) => hashesOf(submission).includes(transaction))
      if (flight !== undefined) noteMinedCount(flight.submission.transactionCount + 1)
    },
    minedUnder: (count) => landed.get(count),
    transactionsOf(submission) {
      const { transaction, transactionCount } = submission
      const known = flying.get(transactionCount) ?? landed.get(transactionCount)
      const hashes = known === undefined ? [] : hashesOf(known.submission)
      return hashes.includes(transaction) ? hashes : hashesOf(submission)
    },
  }
}

function hashesOf({ transaction, replaces = [] }: Submission): readonly Hex[] {
  return [transaction, ...replaces]
}
