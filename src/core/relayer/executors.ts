import type { Chain } from '../chain/chain.js'
import { executorOf, relayersIn } from '../chain/executor.js'
import { lowerHex, sameHex } from '../../shared/protocol/hex.js'
import type { Address } from '../../shared/protocol/payment.js'

/** How long it is remembered that an executor is usable, and that it is not (ms). */
const REMEMBERED_MS = { usable: 600_000, unusable: 2000 }

/** An executor that is deployed, and that relayers of ours may call. */
export interface Executor {
  readonly address: Address
  /** Those of our relayers that may. */
  readonly senders: readonly Address[]
}

/** What is at the address of an executor. */
export type FoundExecutor =
  | { readonly kind: 'usable'; readonly executor: Executor }
  /** Nothing; another code; an executor that none of our relayers may call. */
  | { readonly kind: 'missing' | 'foreign' | 'not_ours' }

export interface ExecutorsOptions {
  readonly chain: Pick<Chain, 'getCode'>
  /** Our relayers. */
  readonly relayers: readonly Address[]
  /** Executors of earlier relayers, whose offers are still honoured. */
  readonly older: readonly Address[]
}

/**
 * The executors of one network: that of all our relayers, and older ones.
 *
 * The code at an address says whether it is an executor, and whose: nothing else is believed.
 */
export class Executors {
  /** The executor of all our relayers, deployed or not. Offers name it. */
  readonly address: Address
  /** All of them, that one first. */
  readonly addresses: readonly Address[]
  readonly #options: ExecutorsOptions
  readonly #known = new Map<Address, { readonly found: Promise<FoundExecutor>; until: number }>()

  constructor(options: ExecutorsOptions) {
    const { address } = executorOf(options.relayers)
    this.#options = options
    this.address = address
    this.addresses = [address, ...options.older.filter((one) => !sameHex(one, address))]
  }

  /**
   * The executor at an address.
   *
   * @returns `undefined` if the address is not one of {@link addresses}, or no relayer of ours can use it.
   * @throws {@link ChainError}
   */
  async find(address: Address): Promise<Executor | undefined> {
    const own = this.addresses.find((one) => sameHex(one, address))
    if (own === undefined) return undefined
    const known = this.#known.get(own)
    const isOver = known === undefined || known.until < performance.now()
    const found = await (isOver ? this.#remember(own) : known.found)
    return found.kind === 'usable' ? found.executor : undefined
  }

  /** Reads what is at an address. @throws {@link ChainError} */
  async read(address: Address): Promise<FoundExecutor> {
    const { chain, relayers } = this.#options
    const code = await chain.getCode(address)
    if (code === '0x') return { kind: 'missing' }
    const listed = relayersIn(code, address)
    if (listed.length === 0) return { kind: 'foreign' }
    const senders = relayers.filter((one) => listed.includes(lowerHex(one)))
    if (senders.length === 0) return { kind: 'not_ours' }
    return { kind: 'usable', executor: { address, senders } }
  }

  /** Starts to read what is at an address; all who ask meanwhile wait for it. */
  #remember(address: Address): Promise<FoundExecutor> {
    const known = { found: this.read(address), until: Infinity }
    this.#known.set(address, known)
    const noteAge = async (): Promise<void> => {
      const { kind } = await known.found
      const ms = kind === 'usable' ? REMEMBERED_MS.usable : REMEMBERED_MS.unusable
      known.until = performance.now() + ms
    }
    noteAge().catch(() => this.#known.delete(address))
    return known.found
  }
}
