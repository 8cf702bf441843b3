import { ChainError } from '../../shared/errors.js'
import type { Network } from '../../shared/protocol/networks.js'
import type { Rpc, RpcAnswer } from './rpc.js'
import { quantityFrom, unwrap } from './rpc-values.js'
import { world } from '../../shared/world.js'

/** How often a node is asked for its chain id (ms). */
const CHAIN_CHECK_MS = 60_000

/**
 * Asks a node for its chain id before anything else, until it has given the right one.
 *
 * Another node may answer at the same URL later: the id is asked again once a minute, while requests
 * go on. After a wrong one nothing else is asked until the node gives the right one.
 */
export class CheckedRpc implements Rpc {
  readonly #rpc: Rpc
  readonly #network: Network
  /** The check that all requests wait for; `undefined` before the first and after a wrong id. */
  #checked: Promise<void> | undefined
  /** When the id is asked again, by `world.elapsed()`. */
  #askAgainAt = Infinity

  constructor(rpc: Rpc, network: Network) {
    this.#rpc = rpc
    this.#network = network
  }

  /** As {@link Rpc.ask}. @throws {@link ChainError} `chain_mismatch` */
  ask(method: string, params: readonly unknown[]): Promise<RpcAnswer> {
    return this.#onceChecked(() => this.#rpc.ask(method, params))
  }

  /** As {@link Rpc.read}. @throws {@link ChainError} `chain_mismatch` */
  read(method: string, params: readonly unknown[]): Promise<RpcAnswer> {
    return this.#onceChecked(() => this.#rpc.read(method, params))
  }

  /**
   * Asks the node for its chain id now.
   *
   * @throws {@link ChainError} `chain_mismatch`; nothing else is asked then until it gives the right one.
   */
  async checkNow(): Promise<void> {
    try {
      await this.#check()
      this.#checked ??= Promise.resolve()
    } catch (error) {
      if (isMismatch(error)) this.#checked = undefined
      throw error
    }
  }

  /**
   * Asks the node for its chain id, unless it has given the right one before.
   *
   * @throws {@link ChainError} `chain_mismatch`
   */
  checkOnce(): Promise<void> {
    this.#checked ??= this.#check().catch((error: unknown) => {
      this.#checked = undefined
      throw error
    })
    return this.#checked
  }

  async #onceChecked<T>(request: () => Promise<T>): Promise<T> {
    if (world.elapsed() > this.#askAgainAt) this.#checkAgain()
    await this.checkOnce()
    return request()
  }

  #checkAgain(): void {
    this.#askAgainAt = world.elapsed() + CHAIN_CHECK_MS
    this.#check().catch((error: unknown) => {
      // A node that does not answer has not said that it is another one.
      if (isMismatch(error)) this.#checked = undefined
    })
  }

  async #check(): Promise<void> {
    const chainId = quantityFrom(unwrap(await this.#rpc.read('eth_chainId', [])))
    this.#askAgainAt = world.elapsed() + CHAIN_CHECK_MS
    if (chainId !== BigInt(this.#network.chainId))
      throw new ChainError(
        'chain_mismatch',
        `The node of ${this.#network.caip2} is on chain ${chainId}; check its rpcUrl.`,
      )
  }
}

function isMismatch(error: unknown): boolean {
  return error instanceof ChainError && error.code === 'chain_mismatch'
}
