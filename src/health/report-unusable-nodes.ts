import { setTimeout as sleep } from 'node:timers/promises'
import type { Chain } from '../chain/chain.js'
import { isOutsideFailure } from '../errors.js'
import type { Logger } from '../logger.js'
import type { Network } from '../protocol/networks.js'

/** Milliseconds after the start. A process that ends sooner asks no node. */
const DELAY_MS = 1000

/** Options of {@link reportUnusableNodes}. */
interface ReportOptions {
  readonly logger: Logger
  /** Aborted once the gateway is closed. */
  readonly closed: AbortSignal
  /** Names the option or variable that has the node's URL. */
  readonly nameUrl: (network: Network) => string
}

/**
 * Logs each node that does not answer, or is on another chain than its network, soon after the start: without
 * this, the first payment would tell. A node may be starting too, so one that does not answer is a warning.
 */
export async function reportUnusableNodes(
  nodes: readonly { readonly chain: Pick<Chain, 'network' | 'checkId'> }[],
  { logger, closed, nameUrl }: ReportOptions,
): Promise<void> {
  await sleep(DELAY_MS, undefined, { signal: closed, ref: false }).catch(() => undefined)
  if (closed.aborted) return
  const report = async ({ chain }: (typeof nodes)[number]): Promise<void> => {
    const failure: unknown = await chain.checkId().catch((error: unknown) => error)
    if (!isOutsideFailure(failure) || closed.aborted) return
    const { network } = chain
    const fields = { code: failure.code, network: network.caip2, error: failure }
    if (failure.code === 'chain_mismatch')
      return logger.error(
        'A node is on another chain than its network: payments there are refused.',
        fields,
      )
    const what = failure.code === 'chain_unreachable' ? 'does not answer' : 'refuses to answer'
    logger.warn(
      `The node of ${network.name} ${what}: check ${nameUrl(network)}, and that the node is running. Until it answers, payments there get a 503.`,
      fields,
    )
  }
  await Promise.all(nodes.map(report))
}
