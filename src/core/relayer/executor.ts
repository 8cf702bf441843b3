import type { Chain } from '../chain/chain.js'
import { executorOf } from '../chain/executor.js'
import { lowerHex } from '../../shared/protocol/hex.js'
import type { Address, Hex } from '../../shared/protocol/payment.js'
import { world } from '../../shared/world.js'

/** How long it is remembered that the executor is usable, and that it is not (ms). */
const REMEMBERED_MS = { usable: 600_000, unusable: 2000 }

/** What is at the address of the executor: it, nothing, or another contract. */
export type FoundExecutor = 'usable' | 'missing' | 'foreign'

export interface ExecutorOptions {
  readonly chain: Pick<Chain, 'getCode'>
  readonly relayers: readonly Address[]
}

/** The executor of all our relayers on one network, deployed or not. */
export class Executor {
  readonly address: Address
  readonly #code: Hex
  readonly #chain: ExecutorOptions['chain']
  #known: { readonly found: Promise<FoundExecutor>; until: number } | undefined

  constructor({ chain, relayers }: ExecutorOptions) {
    const { address, code } = executorOf(relayers)
    this.address = address
    this.#code = code
    this.#chain = chain
  }

  /** Whether it is deployed. @throws {@link ChainError} */
  async isUsable(): Promise<boolean> {
    if (this.#known === undefined || this.#known.until < world.elapsed()) this.#remember()
    return (await this.#known?.found) === 'usable'
  }

  /** Reads what is at its address. @throws {@link ChainError} */
  async read(): Promise<FoundExecutor> {
    const code = await this.#chain.getCode(this.address)
    if (code === '0x') return 'missing'
    return lowerHex(code) === this.#code ? 'usable' : 'foreign'
  }

  /** Starts to read it; all who ask meanwhile wait for it. */
  #remember(): void {
    const known = { found: this.read(), until: Infinity }
    this.#known = known
    const setAge = async (): Promise<void> => {
      const isUsable = (await known.found) === 'usable'
      known.until = world.elapsed() + REMEMBERED_MS[isUsable ? 'usable' : 'unusable']
    }
    setAge().catch(() => (this.#known = undefined))
  }
}
