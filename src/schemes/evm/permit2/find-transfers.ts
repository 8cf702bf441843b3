/** Finds the transfers by which a permit may have been used. Permit2 itself logs nothing. */
import { padHex } from 'viem/utils'
import { TRANSFER, word } from '../../../chain/abi.js'
import type { Chain } from '../../../chain/chain.js'
import type { FoundTransaction } from '../../../chain/types.js'
import { ChainError } from '../../../errors.js'
import { amountOf } from '../../../ledger/record.js'
import type { JudgedPayment } from '../transfer-method.js'

/** Blocks that one request covers; fewer where a node refuses that. */
const BLOCKS_AT_ONCE = [9999n, 2000n, 500n] as const

/** Requests of one search. */
const MOST_REQUESTS = 40

/** How much later the ledger's clock may be than that of the chain (s). */
const CLOCKS_DIFFER_SECONDS = 120n

/** What a search has found. */
interface FoundTransfers {
  /** Each transaction once, newest first. */
  readonly transfers: readonly FoundTransaction[]
  /** Whether all blocks were searched that may have one. */
  readonly isWhole: boolean
}

/**
 * Finds the transactions that moved the amount from payer to payee while the payment could be made: after it was
 * reserved, and before its deadline.
 *
 * @throws {@link ChainError}
 */
export async function findTransfers(chain: Chain, payment: JudgedPayment): Promise<FoundTransfers> {
  const { asset: address, from, payTo, createdAt, validBefore } = payment
  const topics = [TRANSFER, padHex(from), padHex(payTo)]
  const data = `0x${word(amountOf(payment))}` as const
  let last = (await chain.findBlockSince(validBefore + 1n)) - 1n
  const first =
    createdAt === undefined ? undefined : await chain.findBlockSince(secondsOf(createdAt))
  const found = new Map<string, FoundTransaction>()
  let size = 0
  for (let requests = 0; requests < MOST_REQUESTS; requests++) {
    if (first !== undefined && last < first)
      return { transfers: [...found.values()], isWhole: true }
    const most = BLOCKS_AT_ONCE[size]!
    const blocks = first !== undefined && last - first < most ? last - first : most
    try {
      const events = await chain.findTransactions({ address, topics, data, blocks, last })
      for (const one of events.toReversed()) found.set(one.transaction + one.blockHash, one)
    } catch (error) {
      const isRefused = error instanceof ChainError && error.code === 'chain_refused'
      if (!isRefused || BLOCKS_AT_ONCE[++size] === undefined) throw error
      continue
    }
    // Where it is not known since when it could be made, the newest blocks are all that is searched.
    if (first === undefined) break
    last -= blocks + 1n
  }
  return { transfers: [...found.values()], isWhole: false }
}

function secondsOf(createdAt: number): bigint {
  return BigInt(Math.floor(createdAt / 1000)) - CLOCKS_DIFFER_SECONDS
}
