import { setTimeout as sleep } from 'node:timers/promises'
import type { Chain } from '../chain/chain.js'
import { RELAYER_LEASE_MS, type LedgerStore } from '../ledger/ledger.js'
import type { Logger } from '../logger.js'
import type { Address, Hex } from '../protocol/payment.js'
import { gasPriceTooHigh, withoutFunds, withoutLease } from './errors.js'
import { feesWithin } from './fees.js'
import { RelayerFunds } from './funds.js'
import { RelayerLease } from './lease.js'
import { Relayer } from './relayer.js'

/** Milliseconds after which a transaction that is not mined is replaced. */
const DEFAULT_STUCK_MS = 30_000

/** Milliseconds that a request waits for a lease, and between two attempts to get one. */
const LEASE_WAIT_MS = { patience: 1000, step: 250 }

/** Options of {@link LeasedRelayers}. */
export interface LeasedRelayersOptions {
  readonly chain: Chain
  readonly privateKeys: readonly [Hex, ...Hex[]]
  readonly ledger: Pick<LedgerStore, 'leaseRelayers'>
  readonly logger: Logger
  /** Most wei per gas that a transaction may offer. @defaultValue no limit */
  readonly maxFeePerGas?: bigint | undefined
  /** Milliseconds after which a transaction is replaced that blocks leave out. @defaultValue 30000 */
  readonly stuckMs?: number | undefined
  /** Called when a relayer's balance pays for few more settlements; once until it has risen. */
  readonly onLow?: (low: { readonly relayer: Address; readonly balance: bigint }) => void
  /** Whether settlements wait until the node has the transactions that are being sent. */
  readonly isAwaited: () => boolean
  /** Ends background work. */
  readonly closed: AbortSignal
}

/** A relayer with what is known of its gas money. */
export interface FundedRelayer {
  readonly relayer: Relayer
  readonly funds: RelayerFunds
}

/** The relayers of one network, of which this process may use those that it has leased. */
export class LeasedRelayers {
  /** The relayers' accounts, in the order of their keys. */
  readonly addresses: readonly [Address, ...Address[]]
  readonly #options: LeasedRelayersOptions
  /** In the order of their keys. */
  readonly #all: readonly FundedRelayer[]
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
    this.addresses = [first.relayer.address, ...others.map(({ relayer }) => relayer.address)]
    this.#lease = new RelayerLease({
      ledger,
      chainId: chain.network.chainId,
      addresses: this.addresses,
      busy: () =>
        this.#leased().flatMap(({ relayer }) => (relayer.load > 0 ? [relayer.address] : [])),
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
    return this.#all.find(({ relayer }) => relayer.address.toLowerCase() === key)?.relayer
  }

  /**
   * Finds the least busy relayer that can pay for gas, and uses it at once: no other caller may choose
   * between choosing and using.
   *
   * @returns `undefined` when all were tried.
   */
  async withLeastBusy<T>(
    tried: ReadonlySet<Relayer>,
    use: (one: FundedRelayer) => T,
  ): Promise<Awaited<T> | undefined> {
    const { chain, maxFeePerGas } = this.#options
    if (feesWithin(await chain.getFees(), maxFeePerGas) === undefined) throw gasPriceTooHigh(chain)
    const poor = new Set<FundedRelayer>()
    for (;;) {
      const untried = (await this.#waitForLease()).filter(({ relayer }) => !tried.has(relayer))
      const [best] = untried.filter((one) => !poor.has(one)).toSorted(byPreference)
      if (best === undefined && tried.size > 0) return undefined
      if (best === undefined) throw withoutFunds(chain)
      if (best.funds.suffice === true) return await use(best)
      if (!(await best.funds.check())) poor.add(best)
    }
  }

  #open(privateKey: Hex): FundedRelayer {
    const { chain, onLow, stuckMs = DEFAULT_STUCK_MS } = this.#options
    const relayer: Relayer = new Relayer({
      ...this.#options,
      privateKey,
      stuckMs,
      mayUse: () => this.#lease.has(relayer.address),
    })
    const { address } = relayer
    const low = (balance: bigint): void => onLow?.({ relayer: address, balance })
    return { relayer, funds: new RelayerFunds({ chain, address, onLow: low }) }
  }

  #leased(): readonly FundedRelayer[] {
    return this.#all.filter(({ relayer }) => this.#lease.has(relayer.address))
  }

  /** The relayers that this process may send from; waits a while for the first. */
  async #waitForLease(): Promise<readonly FundedRelayer[]> {
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
function byPreference(one: FundedRelayer, other: FundedRelayer): number {
  return (
    Number(one.funds.suffice === false) - Number(other.funds.suffice === false) ||
    Number(one.relayer.hasUnknown) - Number(other.relayer.hasUnknown) ||
    one.relayer.load - other.relayer.load
  )
}
