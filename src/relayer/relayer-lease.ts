import { RELAYER_LEASE_MS, type LedgerStore } from '../ledger/ledger.js'
import type { Address } from '../protocol/payment.js'

/** Milliseconds between two renewals: two may fail before a lease is no longer used. */
const RENEWAL_MS = RELAYER_LEASE_MS * 0.3

/** Milliseconds before its end at which a lease is no longer used: what is being sent must arrive. */
const MARGIN_MS = RELAYER_LEASE_MS * 0.35

/** Which accounts this process may send from. */
export interface RelayerLease {
  /** Whether this process may send from an account, now. */
  has(address: Address): boolean
  /**
   * Makes sure that what {@link has} says is up to date.
   *
   * @throws {@link LedgerError} when the ledger could not be asked, and no lease is left.
   */
  refresh(): Promise<void>
  /** Asks the ledger now. @throws {@link LedgerError} */
  renew(): Promise<void>
}

/** Options of {@link keepLease}. */
export interface RelayerLeaseOptions {
  readonly ledger: LedgerStore
  readonly chainId: number
  readonly addresses: readonly Address[]
  /** Accounts that have something under way. */
  readonly busy: () => readonly Address[]
  /** Ends the renewals. */
  readonly closed: AbortSignal
}

/**
 * Leases accounts from the first use on, and renews the lease in time.
 *
 * While a renewal is under way idle accounts may just be given to another process: senders wait for
 * it with {@link RelayerLease.refresh}.
 */
export function keepLease(options: RelayerLeaseOptions): RelayerLease {
  const { ledger, chainId, addresses, busy, closed } = options
  let leased: ReadonlySet<Address> = new Set()
  /** Those that no renewal under way takes away. */
  let kept: ReadonlySet<Address> | undefined
  let askedAt = -Infinity
  let renewal: Promise<void> | undefined
  let timer: NodeJS.Timeout | undefined

  const age = (): number => performance.now() - askedAt
  const isUsable = (): boolean => age() < RELAYER_LEASE_MS - MARGIN_MS

  const ask = async (): Promise<void> => {
    const now = performance.now()
    kept = new Set(busy())
    try {
      leased = new Set(await ledger.leaseRelayers(chainId, addresses, [...kept]))
      askedAt = now
    } catch (error) {
      // Idle ones may have been given up, though the answer did not come.
      leased = new Set([...leased].filter((address) => kept?.has(address)))
      throw error
    } finally {
      kept = undefined
    }
  }

  const renew = (): Promise<void> => {
    renewal ??= ask().finally(() => {
      renewal = undefined
    })
    return renewal
  }

  const start = (): void => {
    if (timer !== undefined || closed.aborted) return
    timer = setInterval(() => void renew().catch(() => undefined), RENEWAL_MS)
    timer.unref()
    closed.addEventListener('abort', () => clearInterval(timer), { once: true })
  }

  return {
    has: (address) => isUsable() && leased.has(address) && kept?.has(address) !== false,
    renew,
    async refresh() {
      start()
      if (renewal === undefined && age() < RENEWAL_MS) return
      await renew().catch((error: unknown) => {
        if (!isUsable()) throw error
      })
    },
  }
}
