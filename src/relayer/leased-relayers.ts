import { setTimeout as sleep } from 'node:timers/promises'
import { RELAYER_LEASE_MS, type LedgerStore } from '../ledger/ledger.js'
import type { Address, Hex } from '../protocol/payment.js'
import { gasPriceTooHigh, withoutFunds, withoutLease } from './errors.js'
import { feesWithin } from './fees.js'
import { RelayerLease } from './lease.js'
import { Relayer, type RelayerOptions } from './relayer.js'

/** Milliseconds after which a transaction that is not mined is replaced. */
const DEFAULT_STUCK_MS = 30_000

/** Milliseconds that a request waits for a lease, and between two attempts to get one. */
const LEASE_WAIT_MS = { patience: 1000, step: 250 }

/** Options of {@link LeasedRelayers}. */
export interface LeasedRelayersOptions extends Omit<
  RelayerOptions,
  'privateKey' | 'stuckMs' | 'mayUse'
> {
  readonly privateKeys: readonly [Hex, ...Hex[]]
  readonly ledger: Pick<LedgerStore, 'leaseRelayers'>
  /** Milliseconds after which a transaction that is not mined is replaced. @defaultValue 30000 */
  readonly stuckMs?: number | undefined
}

/** The relayers of one network, of which this process may use those that it has leased. */
export class LeasedRelayers {
  /** The relayers' accounts, in the order of their keys. */
  readonly addresses: readonly [Address, ...Address[]]
  readonly #options: LeasedRelayersOptions
  /** In the order of their keys. */
  readonly #all: readonly Relayer[]
  readonly #lease: RelayerLease
  /** By `performance.now()`. */
  readonly #startedAt = performance.now()

  constructor(options: LeasedRelayersOptions) {
    const { chain, ledger, privateKeys, closed } = options
    const [firstKey, ...otherKeys] = privateKeys
    this.#options = options
    const first = this.#open(firstKey)
    const others = otherKeys.map((key) => this.#open(key))
    this.#all = [first, ...others]
    this.addresses = [first.address, ...others.map(({ address }) => address)]
    this.#lease = new RelayerLease({
      ledger,
      chainId: chain.network.chainId,
      addresses: this.addresses,
      busy: () => this.#leased().flatMap(({ load, address }) => (load > 0 ? [address] : [])),
      closed,
    })
  }

  /** How many of them are leased now. */
  get leasedCount(): number {
    return this.#leased().length
  }

  /** The relayer of an account of ours. */
  find(address: Address): Relayer | undefined {
    const key = address.toLowerCase()
    return this.#all.find((relayer) => relayer.address.toLowerCase() === key)
  }

  /**
   * Finds the least busy relayer that can pay for gas, and uses it at once: no other caller may choose
   * between choosing and using.
   *
   * @returns `undefined` when all were tried.
   */
  async withLeastBusy<T>(
    tried: ReadonlySet<Relayer>,
    use: (relayer: Relayer) => T,
  ): Promise<Awaited<T> | undefined> {
    const { chain, maxFeePerGas } = this.#options
    if (feesWithin(await chain.getFees(), maxFeePerGas) === undefined) throw gasPriceTooHigh(chain)
    const poor = new Set<Relayer>()
    for (;;) {
      const untried = (await this.#waitForLease()).filter((relayer) => !tried.has(relayer))
      const [best] = untried.filter((relayer) => !poor.has(relayer)).toSorted(byPreference)
      if (best === undefined && tried.size > 0) return undefined
      if (best === undefined) throw withoutFunds(chain)
      if (best.funds.suffice === true) return await use(best)
      if (!(await best.funds.check())) poor.add(best)
    }
  }

  #open(privateKey: Hex): Relayer {
    const { stuckMs = DEFAULT_STUCK_MS } = this.#options
    const relayer: Relayer = new Relayer({
      ...this.#options,
      privateKey,
      stuckMs,
      mayUse: () => this.#lease.has(relayer.address),
    })
    return relayer
  }

  #leased(): readonly Relayer[] {
    return this.#all.filter(({ address }) => this.#lease.has(address))
  }

  /** The relayers that this process may send from; waits a while for the first. */
  async #waitForLease(): Promise<readonly Relayer[]> {
    const { chain, closed } = this.#options
    await this.#lease.refresh()
    // After a start, the leases of a predecessor that was killed must lapse first.
    const deadline = Math.max(
      this.#startedAt + RELAYER_LEASE_MS + LEASE_WAIT_MS.patience,
      performance.now() + LEASE_WAIT_MS.patience,
    )
    for (;;) {
      const leased = this.#leased()
      if (leased.length > 0) return leased
      if (performance.now() > deadline || closed.aborted) throw withoutLease(chain)
      await sleep(LEASE_WAIT_MS.step)
      await this.#lease.renew()
    }
  }
}

/** Relayers that can send at once come first, the least busy one before all. */
function byPreference(one: Relayer, other: Relayer): number {
  return (
    Number(one.funds.suffice === false) - Number(other.funds.suffice === false) ||
    Number(one.hasUnknown) - Number(other.hasUnknown) ||
    one.load - other.load
  )
}
