import { LRUCache } from 'lru-cache'
import type { Chain } from '../../core/chain/chain.js'
import type { Logger } from '../../shared/logger.js'
import type { Merchant, Project } from '../../core/merchants/project.js'
import { explainReason } from '../../shared/protocol/reason-words.js'
import type { Reason } from '../../shared/protocol/reasons.js'
import type { EventBus } from '../../core/schemes/events.js'
import { operatorCalls, operatorReason } from '../../core/schemes/evm/transfer/reads.js'
import { failed, type Finding } from './finding.js'

/** Merchants' tokens that are asked about at once. */
const AT_ONCE = 100

/** What is told, and how long the log is silent about the same merchant and token (ms). */
const TOLD = { max: 1000, ttl: 3_600_000 }

const NOBODY: Pick<Merchant, 'payTo' | 'accepts'> = { payTo: '0x', accepts: [] }

const isOfPayee = (reason: Reason | undefined) =>
  reason === 'token_paused' || reason === 'pay_to_blacklisted'

/** Finds merchants whom nobody can pay: the operator of a token has blocked them, or has paused the token. */
export async function checkPayees(
  chain: Pick<Chain, 'network' | 'callMany'>,
  projects: readonly Project[],
): Promise<readonly Finding[]> {
  const { caip2, name } = chain.network
  const offers = projects.flatMap(({ id: project, merchant: { payTo, accepts } = NOBODY }) =>
    accepts.flatMap((asset) => (asset.network.caip2 === caip2 ? { ...asset, payTo, project } : [])),
  )
  const found: Finding[] = []
  for (let at = 0; at < offers.length; at += AT_ONCE) {
    const some = offers.slice(at, at + AT_ONCE)
    const calls = some.flatMap(({ address, payTo }) => operatorCalls(address, payTo, payTo))
    const answers = await chain.callMany(calls)
    for (const [index, { address, symbol, payTo, project }] of some.entries()) {
      const [paused, , payee] = answers.slice(3 * index)
      const code = operatorReason([paused, undefined, payee])
      if (!isOfPayee(code)) continue
      const message = `Project ${project} cannot be paid in ${symbol} on ${name} at ${payTo}. ${explainReason(code)}`
      found.push(
        failed({ subject: 'project', project, network: caip2, address, symbol }, { code, message }),
      )
    }
  }
  return found
}

/** Logs that nobody can pay a merchant in a token: only buyers would know. */
export function warnOfPayees(events: EventBus, logger: Logger): void {
  const told = new LRUCache<string, true>(TOLD)
  events.on('refused', ({ reason: code, network, asset, payTo, project }) => {
    const name = [code, network, asset, payTo].join(' ')
    if (!isOfPayee(code) || told.has(name)) return
    told.set(name, true)
    const message = `Nobody can pay a merchant in a token. ${explainReason(code)}`
    logger.warn(message, { code, network, asset, payTo, project })
  })
}
