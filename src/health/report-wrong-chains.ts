import { setTimeout as sleep } from 'node:timers/promises'
import type { Chain } from '../chain/chain.js'
import { isOutsideFailure } from '../errors.js'
import type { Logger } from '../logger.js'

/** Milliseconds after the start. A process that ends sooner asks no node. */
const DELAY_MS = 1000

/** Options of {@link reportWrongChains}. */
interface ReportOptions {
  readonly logger: Logger
  /** Aborted once the gateway is closed. */
  readonly closed: AbortSignal
}

/**
 * Logs each node that is on another chain than its network, soon after the start: without this, the first
 * payment would tell. A node that does not answer is not reported, because it may be starting too.
 */
export async function reportWrongChains(
  nodes: readonly { readonly chain: Pick<Chain, 'network' | 'checkId'> }[],
  { logger, closed }: ReportOptions,
): Promise<void> {
  await sleep(DELAY_MS, undefined, { signal: closed, ref: false }).catch(() => undefined)
  if (closed.aborted) return
  const report = async ({ chain }: (typeof nodes)[number]): Promise<void> => {
    const failure: unknown = await chain.checkId().catch((error: unknown) => error)
    if (!isOutsideFailure(failure) || failure.code !== 'chain_mismatch' || closed.aborted) return
    logger.error('A node is on another chain than its network: payments there are refused.', {
      code: failure.code,
      network: chain.network.caip2,
      error: failure,
    })
  }
  await Promise.all(nodes.map(report))
}
