import { decodeFunctionResult, encodeFunctionData } from 'viem/utils'
import type { Address } from '../../shared/protocol/payment.js'
import { aggregatorAbi } from './abi.js'
import { RpcChain, type Chain, type RpcChainOptions } from './chain.js'

/** Reads a feed. @returns `undefined` when the address has no feed, or none with so many decimals. */
export type ReadFeed = (feed: Address) => ReturnType<typeof readFeed>

/** Makes the reader of a node's feeds. */
export function feedReader(node: RpcChainOptions): ReadFeed {
  const chain = new RpcChain(node)
  return (feed) => readFeed(chain, feed)
}

/** Most decimals of a price; feeds have 8 or 18. */
const MAX_DECIMALS = 36

/** Reads a feed within one block. */
async function readFeed(chain: Chain, to: Address) {
  const calls = (['decimals', 'latestRoundData'] as const).map((functionName) => ({
    to,
    data: encodeFunctionData({ abi: aggregatorAbi, functionName }),
  }))
  const [first, second] = await chain.callMany(calls)
  if (first?.ok !== true || second?.ok !== true) return undefined
  try {
    const decimals = decodeFunctionResult({
      abi: aggregatorAbi,
      functionName: 'decimals',
      data: first.data,
    })
    const [roundId, answer, , updatedAt, answeredInRound] = decodeFunctionResult({
      abi: aggregatorAbi,
      functionName: 'latestRoundData',
      data: second.data,
    })
    return decimals <= MAX_DECIMALS
      ? { decimals, roundId, answer, updatedAt, answeredInRound }
      : undefined
  } catch {
    return undefined
  }
}
