/** Searches the chain for what may have used up a payment’s nonce. */
import type { Chain } from '../../../chain/chain.js'
import type { EventFilter, FoundTransaction } from '../../../chain/types.js'
import { ChainError } from '../../../../shared/errors.js'
import type { JudgedPayment } from './transfer-method.js'

/** Blocks from the first to the last of one request; fewer where a node refuses that. */
const BLOCKS_AT_ONCE = [9999n, 1999n, 499n] as const

/** Requests of one search. */
const MOST_REQUESTS = 40

/** How much later the ledger's clock may be than that of the chain (s). */
const CLOCKS_DIFFER_SECONDS = 120n

interface EventSearch extends Pick<EventFilter, 'address' | 'topics' | 'data' | 'last'> {
  /** The search ends with the first one. */
  readonly isOne?: boolean
}

export interface FoundEvents {
  /** Each transaction once, oldest first. */
  readonly transactions: readonly FoundTransaction[]
  /** Whether all blocks since the reservation were searched. */
  readonly isWhole: boolean
}

/**
 * Searches the blocks since a payment was reserved, oldest first, by as many requests as the node demands. Where it
 * is not known when that was, the newest blocks are all that is searched.
 */
export async function searchEvents(
  chain: Chain,
  { createdAt }: Pick<JudgedPayment, 'createdAt'>,
  { isOne = false, last, ...filter }: EventSearch,
): Promise<FoundEvents> {
  let first = last > BLOCKS_AT_ONCE[0] ? last - BLOCKS_AT_ONCE[0] : 0n
  if (createdAt !== undefined)
    first = await chain.findBlockSince(BigInt(Math.floor(createdAt / 1000)) - CLOCKS_DIFFER_SECONDS)
  const found = new Map<string, FoundTransaction>()
  let size = 0
  for (let requests = 0; requests < MOST_REQUESTS && first <= last; requests++) {
    const end = first + BLOCKS_AT_ONCE[size]!
    const blocks = { first, last: end < last ? end : last }
    try {
      for (const one of await chain.findTransactions({ ...filter, ...blocks }))
        found.set(one.transaction + one.blockHash, one)
    } catch (error) {
      const isRefused = error instanceof ChainError && error.code === 'chain_refused'
      if (!isRefused || BLOCKS_AT_ONCE[++size] === undefined) throw error
      continue
    }
    first = end + 1n
    if (isOne && found.size > 0) break
  }
  return { transactions: [...found.values()], isWhole: createdAt !== undefined && first > last }
}
