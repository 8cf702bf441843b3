import type { Fees, Receipt } from './types.js'
import type { Rpc } from './rpc.js'
import { isThrottled } from './node-errors.js'
import { gasPriceFrom, membersOf, quantityFrom, unwrap } from './rpc-values.js'
import { deduped } from './deduped.js'
import { world } from '../../shared/world.js'

/** How long fees are used after they were read, or taken from a receipt (ms). */
const FEES_MAX_AGE_MS = 4000

/** How long the priority fee is used after it was read (ms): receipts do not update it. */
const TIP_MAX_AGE_MS = 60_000

/** Base fees rise by at most an eighth per block; twice the last one holds for about six blocks. */
const BASE_FEE_HEADROOM = 2n

/** A receipt with a base fee this many times the last one is not believed: the node is asked. */
const SURPRISING_RISE = 8n

/**
 * The fees of one network.
 *
 * While transactions of ours are mined their receipts keep it fresh, and the node is not asked.
 */
export class FeeCache {
  readonly #rpc: Rpc
  readonly #reading = deduped(() => this.#read())
  #known: { readonly fees: Fees; readonly block: bigint } | undefined
  #knownAt = -Infinity
  /** When the priority fee was last read, by `world.elapsed()`. */
  #tipAt = -Infinity

  constructor(rpc: Rpc) {
    this.#rpc = rpc
  }

  /** Reads the fees to offer now; `fresh` asks the node. @throws {@link ChainError} */
  async get(freshness?: 'fresh'): Promise<Fees> {
    const now = world.elapsed()
    const isRecent = now - this.#knownAt < FEES_MAX_AGE_MS && now - this.#tipAt < TIP_MAX_AGE_MS
    if (this.#known !== undefined && isRecent && freshness !== 'fresh') return this.#known.fees
    return this.#reading()
  }

  /** Takes the base fee of a block from the receipt of a transaction of ours in it. */
  learnFrom({ gasPrice, blockNumber }: Receipt): void {
    const known = this.#known
    if (known === undefined || blockNumber < known.block) return
    const { maxPriorityFeePerGas } = known.fees
    const baseFee = gasPrice - maxPriorityFeePerGas
    // The receipt of a transaction that did not pay the whole tip suggests too low a base fee.
    if (baseFee < known.fees.baseFeePerGas / BASE_FEE_HEADROOM) return
    if (baseFee > known.fees.baseFeePerGas * SURPRISING_RISE) {
      this.#knownAt = -Infinity
      return
    }
    this.#known = { fees: feesAt(baseFee, maxPriorityFeePerGas), block: blockNumber }
    this.#knownAt = world.elapsed()
  }

  async #read(): Promise<Fees> {
    const [block, tip] = await Promise.all([
      this.#rpc.read('eth_getBlockByNumber', ['latest', false]),
      this.#rpc.read('eth_maxPriorityFeePerGas', []),
    ])
    const { baseFeePerGas, number } = membersOf(unwrap(block))
    // Nodes without eth_maxPriorityFeePerGas take any tip; one that is throttled has not said that.
    const isUnsaid = !tip.ok && !isThrottled(tip.error)
    const maxPriorityFeePerGas = isUnsaid ? 0n : gasPriceFrom(unwrap(tip))
    const fees = feesAt(gasPriceFrom(baseFeePerGas), maxPriorityFeePerGas)
    this.#known = { fees, block: quantityFrom(number) }
    this.#knownAt = this.#tipAt = world.elapsed()
    return fees
  }
}

function feesAt(baseFeePerGas: bigint, maxPriorityFeePerGas: bigint): Fees {
  const maxFeePerGas = baseFeePerGas * BASE_FEE_HEADROOM + maxPriorityFeePerGas
  return { baseFeePerGas, maxPriorityFeePerGas, maxFeePerGas }
}
