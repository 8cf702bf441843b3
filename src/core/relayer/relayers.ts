import type { Address, Hex } from '../../shared/protocol/payment.js'
import { gasPriceTooHigh, withoutFunds } from './errors.js'
import { feesWithin } from './fees.js'
import { Relayer, type RelayerOptions } from './relayer.js'

/** How long a transaction may wait to be mined before it is replaced (ms). */
const DEFAULT_STUCK_MS = 30_000

/** The slowest networks have a block in this time (ms), and their nodes take a transaction again. */
export const DEFAULT_REFUSED_MS = 12_000

export interface RelayersOptions extends Omit<
  RelayerOptions,
  'privateKey' | 'stuckMs' | 'refusedMs'
> {
  readonly privateKeys: readonly [Hex, ...Hex[]]
  /** How long a transaction may wait to be mined before it is replaced (ms). @defaultValue 30000 */
  readonly stuckMs?: number | undefined
  /** See {@link RelayerOptions}. @defaultValue 12000 */
  readonly refusedMs?: number | undefined
}

interface RelayerChoice {
  /** Relayers that are not tried again. @defaultValue none */
  readonly tried?: ReadonlySet<Relayer>
  /** The only ones that may. @defaultValue all */
  readonly senders?: readonly Address[] | undefined
}

export class Relayers {
  readonly addresses: readonly [Address, ...Address[]]
  readonly all: readonly Relayer[]
  readonly #options: RelayersOptions

  constructor(options: RelayersOptions) {
    const { privateKeys, stuckMs = DEFAULT_STUCK_MS, refusedMs = DEFAULT_REFUSED_MS } = options
    const [firstKey, ...otherKeys] = privateKeys
    const open = (privateKey: Hex): Relayer =>
      new Relayer({ ...options, privateKey, stuckMs, refusedMs })
    const first = open(firstKey)
    const others = otherKeys.map(open)
    this.#options = options
    this.all = [first, ...others]
    this.addresses = [first.address, ...others.map(({ address }) => address)]
  }

  find(address: Address): Relayer | undefined {
    const key = address.toLowerCase()
    return this.all.find((relayer) => relayer.address.toLowerCase() === key)
  }

  /** Looks after the transactions of all relayers, whichever process sent them. */
  async lookAfter(): Promise<void> {
    const { chain, ledger } = this.#options
    const pending = await ledger.relayers.claimPending(chain.network.chainId)
    await Promise.all(
      this.all.map(async (relayer) => {
        const key = relayer.address.toLowerCase()
        await relayer.lookAfter(pending.find((one) => one.relayer.toLowerCase() === key))
      }),
    )
  }

  /**
   * Finds the least busy relayer that can pay for gas, and uses it at once: no other caller may choose
   * between choosing and using.
   *
   * @returns `undefined` when all were tried.
   */
  async withLeastBusy<T>(
    { tried = NONE, senders = this.addresses }: RelayerChoice,
    use: (relayer: Relayer) => T,
  ): Promise<Awaited<T> | undefined> {
    const { chain, maxFeePerGas } = this.#options
    if (feesWithin(await chain.getFees(), maxFeePerGas) === undefined) throw gasPriceTooHigh(chain)
    const poor = new Set<Relayer>()
    for (;;) {
      const [best] = this.all
        .filter((relayer) => !tried.has(relayer) && !poor.has(relayer))
        .filter(({ address }) => senders.includes(address))
        .toSorted(byPreference)
      if (best === undefined && tried.size > 0) return undefined
      if (best === undefined) throw withoutFunds(chain, senders)
      if (best.funds.suffice === true) return await use(best)
      if (!(await best.funds.check())) poor.add(best)
    }
  }
}

const NONE: ReadonlySet<Relayer> = new Set()

/** Relayers that can send at once come first, the least busy one before all. */
function byPreference(one: Relayer, other: Relayer): number {
  return (
    Number(one.funds.suffice === false) - Number(other.funds.suffice === false) ||
    Number(one.hasUnknown) - Number(other.hasUnknown) ||
    one.load - other.load
  )
}
