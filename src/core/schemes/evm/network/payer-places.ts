import { EventEmitter, once } from 'node:events'
import { LRUCache } from 'lru-cache'
import {
  amountOf,
  EVERY_PROJECT,
  recordId,
  UNPAID,
  type LedgerEntry,
  type PaymentStore,
} from '../../../../ledger/index.js'
import { growingTo } from '../../../../shared/growing-to.js'
import type { PaymentKey } from '../../../../shared/protocol/payment-key.js'
import type { Address } from '../../../../shared/protocol/payment.js'
import { world } from '../../../../shared/world.js'

/** How many payers, codes and transactions are remembered. */
export const REMEMBERED = 10_000

/** What has to be paid to make up for what failed: payments of a payer for each, and gas of a code for its unit. */
export const PAID_PER_FAILURE = 2

export const HOUR_MS = 3_600_000

/** Payments that a payer may have on their way at once, beside as many as it has paid. */
const FREE_PLACES = 4

/** Earlier payments of a payer that are read, of those that paid and of those that failed. */
const MOST_READ = 100

/** How long a payment counts after its authorization has ended (ms). */
const LAPSE_MARGIN_MS = 60_000

/** How often a payment that waits looks whether one on its way has lapsed (ms). */
const LAPSE_CHECK_MS = 1000

export interface PayerPlacesOptions {
  readonly chainId: number
  /** Tells what a payer has paid before. */
  readonly payments: Pick<PaymentStore, 'list'>
  /** Milliseconds since the epoch. */
  readonly now: () => number
  /** Whether those that never paid go alone and one by one now. */
  readonly isCautious: () => boolean
}

/**
 * Payments on their way: a payer that never paid has few, because one transaction of its own may fail them all; who
 * has paid more may have more. The others wait.
 */
export class PayerPlaces {
  readonly #options: PayerPlacesOptions
  /** How many payments of a payer have paid, less those that its failures cost it. */
  readonly #standings = new LRUCache<Address, number>(growingTo(REMEMBERED))
  /** Standings that are being read. */
  readonly #reads = new Map<Address, Promise<void>>()
  /** By payer, by record: when a payment on its way can no longer be mined (ms since the epoch). */
  readonly #places = new Map<Address, Map<string, number>>()
  /** Emits the address of a payer one of whose payments has ended. */
  readonly #ends = new EventEmitter().setMaxListeners(0)

  constructor(options: PayerPlacesOptions) {
    this.#options = options
  }

  /**
   * Counts a payment that is about to be sent among those of its payer that are on their way, until it has ended or
   * its authorization has lapsed. It waits while they are too many; a refund does not.
   *
   * @param validBefore - Unix seconds.
   * @param isOver - Whether it is not to be sent any more.
   * @returns Whether it had to wait.
   */
  async take(
    key: PaymentKey & Pick<LedgerEntry, 'refundOf'>,
    validBefore: bigint,
    isOver = () => false,
  ): Promise<boolean> {
    if (key.refundOf !== undefined || this.#count(key, validBefore)) return false
    await this.learnStanding(key.from)
    while (!isOver() && !this.#count(key, validBefore)) {
      // Nothing tells that an authorization has lapsed.
      const signal = world.timeoutSignal(LAPSE_CHECK_MS)
      await once(this.#ends, key.from, { signal }).catch(() => undefined)
    }
    return true
  }

  #count(key: PaymentKey, validBefore: bigint): boolean {
    const now = this.#options.now()
    const places = this.#places.get(key.from) ?? new Map<string, number>()
    for (const [id, lapsesAt] of places) if (lapsesAt < now) places.delete(id)
    const free = this.mustGoAlone(key.from) ? 1 : FREE_PLACES
    const most = Math.max(1, free + this.#standingOf(key.from))
    if (places.size >= most && !places.has(recordId(key))) return false
    this.#places.set(key.from, places.set(recordId(key), lapseOf(validBefore, now)))
    return true
  }

  end(key: PaymentKey): void {
    const places = this.#places.get(key.from)
    places?.delete(recordId(key))
    if (places?.size === 0) this.#places.delete(key.from)
    this.#ends.emit(key.from)
  }

  countPaid(payer: Address): void {
    this.#standings.set(payer, this.#standingOf(payer) + 1)
  }

  countFailed(payer: Address): void {
    this.#standings.set(payer, this.#standingOf(payer) - PAID_PER_FAILURE)
  }

  /** Whether a payer without code is kept out of shared transactions now. */
  mustGoAlone(payer: Address): boolean {
    return this.#standingOf(payer) <= 0 && this.#options.isCautious()
  }

  #standingOf(payer: Address): number {
    return this.#standings.get(payer) ?? 0
  }

  /** Reads what a payer has paid before, or at other gateways, once for all that ask. @throws {@link LedgerError} */
  async learnStanding(payer: Address): Promise<number> {
    if (this.#standingOf(payer) <= 0) {
      const read = this.#reads.get(payer) ?? this.#readStanding(payer)
      this.#reads.set(payer, read)
      await read
    }
    return this.#standingOf(payer)
  }

  async #readStanding(payer: Address): Promise<void> {
    const { chainId, payments, now } = this.#options
    const before = this.#standingOf(payer)
    const list = (state: 'settled' | 'failed', from = 0) => {
      const query = { project: EVERY_PROJECT, search: { payer }, limit: MOST_READ } as const
      return payments.list({ ...query, chainId, state, from })
    }
    const lists = Promise.all([list('settled'), list('failed', now() - HOUR_MS)])
    const [settled, failed] = await lists.finally(() => this.#reads.delete(payer))
    const paid = settled.filter((payment) => amountOf(payment) > 0n)
    const lost = failed.filter((one) => one.state === 'failed' && one.reason === UNPAID)
    const noted = this.#standingOf(payer) - before
    this.#standings.set(payer, paid.length - lost.length * PAID_PER_FAILURE + noted)
  }
}

/** When a payment can no longer be mined (ms since the epoch). @param validBefore - Unix seconds. */
export function lapseOf(validBefore: bigint, now: number): number {
  return Math.min(Number(validBefore) * 1000 + LAPSE_MARGIN_MS, now + HOUR_MS)
}
