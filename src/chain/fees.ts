import type { Fees, Receipt } from './chain.js'
import type { Rpc } from './rpc.js'
import { gasPriceFrom, membersOf, quantityFrom, unwrap } from './rpc-values.js'

/** Milliseconds for which fees are taken from the last look at the chain, or the last receipt. */
const FEES_MAX_AGE_MS = 4000

/** Milliseconds for which the tip is taken from the last look: receipts do not tell a better one. */
const TIP_MAX_AGE_MS = 60_000

/** Base fees rise by at most an eighth a block; twice the last one holds for about six blocks. */
const BASE_FEE_HEADROOM = 2n

/** A receipt that tells a base fee this many times the last one is not believed: the node is asked. */
const SURPRISING_RISE = 8n

/** What gas costs on one network. */
export interface FeeCache {
  /** What a transaction should offer now. @throws {@link ChainError} */
  get(look?: 'fresh'): Promise<Fees>
  /** Takes the base fee of a block from the receipt of a transaction of ours that is in it. */
  note(receipt: Receipt): void
}

/**
 * Keeps what is known of a network's fees.
 *
 * While transactions are mined their receipts keep it fresh, and nothing is asked.
 */
export function createFeeCache(rpc: Rpc): FeeCache {
  let reading: Promise<Fees> | undefined
  let known: { readonly fees: Fees; readonly block: bigint } | undefined
  let knownAt = -Infinity
  let tipAt = -Infinity

  const read = async (): Promise<Fees> => {
    const [block, tip] = await Promise.all([
      rpc.read('eth_getBlockByNumber', ['latest', false]),
      rpc.read('eth_maxPriorityFeePerGas', []),
    ])
    const { baseFeePerGas, number } = membersOf(unwrap(block))
    // Nodes without eth_maxPriorityFeePerGas take any tip.
    const maxPriorityFeePerGas = tip.ok ? gasPriceFrom(tip.result) : 0n
    const fees = feesAt(gasPriceFrom(baseFeePerGas), maxPriorityFeePerGas)
    known = { fees, block: quantityFrom(number) }
    knownAt = tipAt = performance.now()
    return fees
  }

  return {
    async get(look) {
      const now = performance.now()
      const isRecent = now - knownAt < FEES_MAX_AGE_MS && now - tipAt < TIP_MAX_AGE_MS
      if (known !== undefined && isRecent && look !== 'fresh') return known.fees
      reading ??= read().finally(() => {
        reading = undefined
      })
      return reading
    },
    note({ gasPrice, blockNumber }) {
      if (known === undefined || blockNumber < known.block) return
      const { maxPriorityFeePerGas } = known.fees
      const baseFee = gasPrice - maxPriorityFeePerGas
      // A transaction that could not pay the whole tip tells a base fee that is too low.
      if (baseFee < known.fees.baseFeePerGas / BASE_FEE_HEADROOM) return
      if (baseFee > known.fees.baseFeePerGas * SURPRISING_RISE) {
        knownAt = -Infinity
        return
      }
      known = { fees: feesAt(baseFee, maxPriorityFeePerGas), block: blockNumber }
      knownAt = performance.now()
    },
  }
}

function feesAt(baseFeePerGas: bigint, maxPriorityFeePerGas: bigint): Fees {
  const maxFeePerGas = baseFeePerGas * BASE_FEE_HEADROOM + maxPriorityFeePerGas
  return { baseFeePerGas, maxPriorityFeePerGas, maxFeePerGas }
}
