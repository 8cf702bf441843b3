import { SingleFlight } from '../chain/single-flight.js'
import { RELAYER_LEASE_MS, type LedgerStore } from '../ledger/ledger.js'
import type { Address } from '../protocol/payment.js'

/** Milliseconds between two renewals: two may fail before a lease is no longer used. */
const RENEWAL_MS = RELAYER_LEASE_MS * 0.3

/** Milliseconds before its end from which a lease is not used: what is being sent must arrive. */
const MARGIN_MS = RELAYER_LEASE_MS * 0.35

/** Options of {@link RelayerLease}. */
export interface RelayerLeaseOptions {
  readonly ledger: Pick<LedgerStore, 'leaseRelayers'>
  readonly chainId: number
  readonly addresses: readonly Address[]
  /** Accounts that have transactions queued or pending. */
  readonly busy: () => readonly Address[]
  /** Ends the renewals. */
  readonly closed: AbortSignal
}

/**
 * Which accounts this process may send from. Leases them from the first use on, and renews in time.
 *
 * A renewal may give idle accounts to another process: senders wait for it with
 * {@link RelayerLease.refresh}.
 */
export class RelayerLease {
  readonly #options: RelayerLeaseOptions
  readonly #renewal = new SingleFlight(() => this.#ask())
  #leased: ReadonlySet<Address> = new Set()
  /** While a renewal runs: the accounts that it cannot give up. */
  #kept: ReadonlySet<Address> | undefined
  /** When the last successful renewal began, by `performance.now()`. */
  #askedAt = -Infinity
  #timer: NodeJS.Timeout | undefined

  constructor(options: RelayerLeaseOptions) {
    this.#options = options
  }

  /** Whether this process may send from an account now. */
  has(address: Address): boolean {
    return this.#isUsable() && this.#leased.has(address) && this.#kept?.has(address) !== false
  }

  /**
   * Makes sure that {@link has} is up to date.
   *
   * @throws {@link LedgerError} when the ledger could not be asked, and no lease is left.
   */
  async refresh(): Promise<void> {
    this.#start()
    if (!this.#renewal.isRunning && this.#age() < RENEWAL_MS) return
    await this.renew().catch((error: unknown) => {
      if (!this.#isUsable()) throw error
    })
  }

  /** Renews the leases now. @throws {@link LedgerError} */
  renew(): Promise<void> {
    return this.#renewal.run()
  }

  async #ask(): Promise<void> {
    const { ledger, chainId, addresses, busy } = this.#options
    const now = performance.now()
    const kept = new Set(busy())
    this.#kept = kept
    try {
      this.#leased = new Set(await ledger.leaseRelayers(chainId, addresses, [...kept]))
      this.#askedAt = now
    } catch (error) {
      // Idle accounts may have been given up although the answer was lost.
      this.#leased = new Set([...this.#leased].filter((address) => kept.has(address)))
      throw error
    } finally {
      this.#kept = undefined
    }
  }

  #start(): void {
    const { closed } = this.#options
    if (this.#timer !== undefined || closed.aborted) return
    this.#timer = setInterval(() => void this.renew().catch(() => undefined), RENEWAL_MS)
    this.#timer.unref()
    closed.addEventListener('abort', () => clearInterval(this.#timer), { once: true })
  }

  #age(): number {
    return performance.now() - this.#askedAt
  }

  #isUsable(): boolean {
    return this.#age() < RELAYER_LEASE_MS - MARGIN_MS
  }
}
