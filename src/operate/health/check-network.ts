import type { Chain } from '../../core/chain/chain.js'
import type { Block } from '../../core/chain/types.js'
import { blockTimeMs, type Network } from '../../shared/protocol/networks.js'
import { fine, type Finding } from './finding.js'

/** The latest block is stale once this many blocks are missing. */
const MISSED_BLOCKS = 30

/** A block younger than this (s) is never stale. */
const LEAST_STALE_SECONDS = 120

/** How far a block may be in the future (s): clocks differ a little. */
const MAX_AHEAD_SECONDS = 15

/**
 * Checks that a node answers, is on the configured chain, and keeps up with it.
 *
 * @param now - Milliseconds since the epoch.
 */
export async function checkNetwork(
  chain: Pick<Chain, 'network' | 'getLatestBlock'>,
  now: number,
): Promise<readonly Finding[]> {
  const { network } = chain
  return [judgeBlock(network, await chain.getLatestBlock(), now)]
}

function judgeBlock(network: Network, { number, timestamp }: Block, now: number): Finding {
  const ageSeconds = Math.floor(now / 1000) - Number(timestamp)
  const place = { subject: 'network', network: network.caip2 } as const
  const details = { block: Number(number), blockAgeSeconds: ageSeconds }
  const what = `${network.name}: chain id ${network.chainId}, block ${number}`
  if (ageSeconds > Math.max(LEAST_STALE_SECONDS, (MISSED_BLOCKS * blockTimeMs(network)) / 1000))
    return {
      ...place,
      ...details,
      code: 'block_stale',
      // Test networks pause, and local chains mine when they are used.
      status: network.testnet ? 'warning' : 'error',
      message: `${what} is ${ageSeconds} s old: the node lags behind its chain, or this machine’s clock is ahead.`,
    }
  if (ageSeconds < -MAX_AHEAD_SECONDS)
    return {
      ...place,
      ...details,
      code: 'clock_skewed',
      status: 'warning',
      message: `${what} is ${-ageSeconds} s in the future: this machine’s clock is behind. Set it by NTP.`,
    }
  return fine(place, `${what} is ${Math.max(0, ageSeconds)} s old.`, details)
}
