/** Reservations that are made while the chain is still asked about their payments. */
import { setTimeout as sleep } from 'node:timers/promises'
import { LRUCache } from 'lru-cache'
import type {
  AuthorizationKey,
  LedgerEntry,
  LedgerRecord,
  LedgerStore,
} from '../../../ledger/index.js'
import { lowerHex } from '../../../protocol/hex.js'
import type { Address } from '../../../protocol/payment.js'

/** Payers that are remembered. */
const MOST_PAYERS = 10_000

/** Milliseconds that early reservations wait for one another: less than the simulations beside them take. */
const GATHER_MS = 2

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

/** Gathers the early reservations on one network, so that the ledger writes several in one statement. */
export class ReservationPause {
  #pause: Promise<void> | undefined

  /** Ends at the same time for all who wait. Never rejects. */
  next(): Promise<void> {
    this.#pause ??= sleep(GATHER_MS).finally(() => (this.#pause = undefined))
    return this.#pause
  }
}

/** What {@link EarlyReservation} takes of a network. */
interface EarlyReservationOptions {
  readonly provenPayers: ProvenPayers
  readonly reservationPause: ReservationPause
  /** While a transaction is being sent, a payment has to wait for the next one. */
  readonly relayers: { readonly isSending: boolean }
}

/** The reservation of one payment, which may start before the payment is known to be good. */
export class EarlyReservation {
  readonly #ledger: Pick<LedgerStore, 'payments'>
  readonly #options: EarlyReservationOptions
  #started: Promise<LedgerRecord | undefined> | undefined

  constructor(ledger: Pick<LedgerStore, 'payments'>, options: EarlyReservationOptions) {
    this.#ledger = ledger
    this.#options = options
  }

  /** Starts to reserve a payment that its payer has signed, if that payer has paid before. */
  start(entry: LedgerEntry): void {
    const { provenPayers, reservationPause, relayers } = this.#options
    if (!provenPayers.take(entry.from)) return
    const reserve = () => this.#ledger.payments.reserve(entry)
    this.#started = relayers.isSending ? reservationPause.next().then(reserve) : reserve()
    // Its failure is reported by `reserve` or `undo`.
    this.#started.catch(() => undefined)
  }

  /** Reserves the payment, or finishes what was started. As `reserve` of the ledger. */
  reserve(entry: LedgerEntry): Promise<LedgerRecord | undefined> {
    return this.#started ?? this.#ledger.payments.reserve(entry)
  }

  /** Releases what was reserved for a payment that is not taken. Without a start, it is a no-op. */
  async undo(key: AuthorizationKey): Promise<void> {
    const started = this.#started
    this.#started = undefined
    if (started !== undefined && (await started) === undefined)
      await this.#ledger.payments.release(key)
  }
}
