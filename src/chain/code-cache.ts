import { LRUCache } from 'lru-cache'
import type { Address } from '../protocol/payment.js'
import type { Rpc } from './rpc.js'
import { hexFrom, unwrap } from './rpc-values.js'

/** How many addresses are remembered. */
const MAX_ADDRESSES = 10_000

/** How long it is remembered whether an address has code (ms). */
const MAX_AGE_MS = 600_000

/** The same after a node said for the first time that there is none. */
const DOUBTFUL_MS = 2000

/** Remembers which addresses have code. */
export class CodeCache {
  readonly #rpc: Rpc
  readonly #known = new LRUCache<Address, boolean>({ max: MAX_ADDRESSES })
  /** Addresses that had no code when it was last asked. */
  readonly #hadNone = new LRUCache<Address, true>({ max: MAX_ADDRESSES, ttl: MAX_AGE_MS })
  /** Requests under way. */
  readonly #asking = new Map<Address, Promise<boolean>>()

  constructor(rpc: Rpc) {
    this.#rpc = rpc
  }

  /** Whether there is code at an address; `fresh` asks the node. @throws {@link ChainError} */
  async has(address: Address, freshness?: 'fresh'): Promise<boolean> {
    const known = freshness === 'fresh' ? undefined : this.#known.get(address)
    if (known !== undefined) return known
    const asked = this.#asking.get(address) ?? this.#ask(address)
    this.#asking.set(address, asked)
    return asked.finally(() => this.#asking.delete(address))
  }

  async #ask(address: Address): Promise<boolean> {
    const code = hexFrom(unwrap(await this.#rpc.read('eth_getCode', [address, 'latest'])))
    const found = code !== '0x'
    // A single odd answer does not prove that there is none: the second one is believed.
    const isDoubtful = !found && !this.#hadNone.has(address)
    if (!found) this.#hadNone.set(address, true)
    this.#known.set(address, found, { ttl: isDoubtful ? DOUBTFUL_MS : MAX_AGE_MS })
    return found
  }
}
