import type { Chain } from '../../core/chain/chain.js'
import { isOutsideFailure } from '../../shared/errors.js'
import type { Logger } from '../../shared/logger.js'
import type { Network } from '../../shared/protocol/networks.js'
import { describeDelegation } from '../../core/relayer/delegated-account.js'
import type { RelayerPool } from '../../core/relayer/pool.js'
import { checkExecutor } from './check-executor.js'
import { world } from '../../shared/world.js'

/** When nodes are asked, after the start (ms). A process that ends sooner asks none. */
const DELAY_MS = 1000

interface ReportOptions {
  readonly logger: Logger
  /** Aborted once the gateway is closed. */
  readonly closed: AbortSignal
  /** Names the option or variable that has the node's URL. */
  readonly nameUrl: (network: Network) => string
}

interface ReportedNode {
  readonly chain: Pick<Chain, 'network' | 'checkId' | 'getCode'>
  readonly relayers: Pick<RelayerPool, 'addresses' | 'executor'>
}

/**
 * Logs nodes that do not answer or are on the wrong chain, relayers that nodes limit, and executors that are
 * not there, soon after the start rather than at the first payment. A node that does not answer is a warning: it may be starting too.
 */
export async function reportAtStart(
  nodes: readonly ReportedNode[],
  { logger, closed, nameUrl }: ReportOptions,
): Promise<void> {
  await world.sleep(DELAY_MS, undefined, { signal: closed, ref: false }).catch(() => undefined)
  if (closed.aborted) return
  const report = async ({ chain, relayers }: ReportedNode): Promise<void> => {
    const { network } = chain
    const failure: unknown = await chain.checkId().catch((error: unknown) => error)
    if (closed.aborted) return
    if (failure === undefined) {
      for (const address of relayers.addresses) {
        const limited = await describeDelegation(chain, address).catch(() => undefined)
        if (limited !== undefined) logger.warn(limited, { network: network.caip2 })
      }
      for (const { code, message } of await checkExecutor(relayers, network))
        if (code.startsWith('executor_')) logger.warn(message, { network: network.caip2, code })
    }
    if (!isOutsideFailure(failure)) return
    const fields = { code: failure.code, network: network.caip2, error: failure }
    if (failure.code === 'chain_mismatch')
      return logger.error(
        'A node is on the wrong chain: payments on its network are refused.',
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
