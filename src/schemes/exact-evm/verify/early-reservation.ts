/** Reservations that are made while the chain is still asked about their payments. */
import { LRUCache } from 'lru-cache'
import type {
  AuthorizationKey,
  LedgerEntry,
  LedgerRecord,
  LedgerStore,
} from '../../../ledger/ledger.js'
import { lowerHex } from '../../../protocol/hex.js'
import type { Address } from '../../../protocol/payment.js'

/** Payers that are remembered. */
const MOST_PAYERS = 10_000

/**
 * Payers on one network that have paid, each good for one early reservation.
 *
 * An early reservation is a write that is undone if the chain refuses the payment. A stranger could cause any
 * number of them with signatures alone. Here, each one has cost its payer a payment.
 */
export class ProvenPayers {
  readonly #payers = new LRUCache<Address, true>({ max: MOST_PAYERS })

  /** Adds the payer of a payment that was delivered. */
  add(payer: Address): void {
    this.#payers.set(lowerHex(payer), true)
  }

  /** Takes a payer off. @returns Whether it was there. */
  take(payer: Address): boolean {
    return this.#payers.delete(lowerHex(payer))
  }
}

/** The reservation of one payment, which may start before the payment is known to be good. */
export class EarlyReservation {
  readonly #ledger: Pick<LedgerStore, 'reserve' | 'release'>
  readonly #payers: ProvenPayers
  #started: Promise<LedgerRecord | undefined> | undefined

  constructor(ledger: Pick<LedgerStore, 'reserve' | 'release'>, payers: ProvenPayers) {
    this.#ledger = ledger
    this.#payers = payers
  }

  /** Starts to reserve a payment that its payer has signed, if that payer has paid before. */
  start(entry: LedgerEntry): void {
    if (!this.#payers.take(entry.from)) return
    this.#started = this.#ledger.reserve(entry)
    // Its failure is reported by `reserve` or `undo`.
    this.#started.catch(() => undefined)
  }

  /** Reserves the payment, or finishes what was started. As `reserve` of the ledger. */
  reserve(entry: LedgerEntry): Promise<LedgerRecord | undefined> {
    return this.#started ?? this.#ledger.reserve(entry)
  }

  /** Releases what was reserved for a payment that is not taken. Without a start, it is a no-op. */
  async undo(key: AuthorizationKey): Promise<void> {
    const started = this.#started
    this.#started = undefined
    if (started !== undefined && (await started) === undefined) await this.#ledger.release(key)
  }
}
