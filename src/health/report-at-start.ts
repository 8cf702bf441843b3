import { setTimeout as sleep } from 'node:timers/promises'
import type { Chain } from '../chain/chain.js'
import { isOutsideFailure } from '../errors.js'
import type { Logger } from '../logger.js'
import { describeDelegation } from '../relayer/delegated-account.js'
import type { RelayerPool } from '../relayer/pool.js'

/** Milliseconds after the start. A process that ends sooner asks no node. */
const DELAY_MS = 1000

/** Options of {@link reportAtStart}. */
interface ReportOptions {
  readonly logger: Logger
  /** Aborted once the gateway is closed. */
  readonly closed: AbortSignal
}

/**
 * Logs each node that is on another chain than its network, and each relayer that nodes limit, soon after
 * the start: without this, the first payment would tell. A node that does not answer is not reported,
 * because it may be starting too.
 */
export async function reportAtStart(
  nodes: readonly {
    readonly chain: Pick<Chain, 'network' | 'checkId' | 'getCode'>
    readonly relayers: Pick<RelayerPool, 'addresses'>
  }[],
  { logger, closed }: ReportOptions,
): Promise<void> {
  await sleep(DELAY_MS, undefined, { signal: closed, ref: false }).catch(() => undefined)
  if (closed.aborted) return
  const report = async ({ chain, relayers }: (typeof nodes)[number]): Promise<void> => {
    const failure: unknown = await chain.checkId().catch((error: unknown) => error)
    if (closed.aborted) return
    if (failure === undefined)
      for (const address of relayers.addresses) {
        const limited = await describeDelegation(chain, address).catch(() => undefined)
        if (limited !== undefined) logger.warn(limited, { network: chain.network.caip2 })
      }
    if (!isOutsideFailure(failure) || failure.code !== 'chain_mismatch') return
    logger.error('A node is on another chain than its network: payments there are refused.', {
      code: failure.code,
      network: chain.network.caip2,
      error: failure,
    })
  }
  await Promise.all(nodes.map(report))
}
