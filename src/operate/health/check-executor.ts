import type { Network } from '../../shared/protocol/networks.js'
import type { RelayerPool } from '../../core/relayer/pool.js'
import { failed, fine, findings, type Finding } from './finding.js'

const MESSAGES = {
  missing:
    'is not deployed: run `npx express-x402-gateway deploy-executor`. Each set of relayerKeys has an executor of its own.',
  foreign: 'is another contract. Check that rpcUrl is a node of this network.',
} as const

export async function checkExecutor(
  { executor }: Pick<RelayerPool, 'executor'>,
  { name, caip2 }: Network,
): Promise<readonly Finding[]> {
  if (executor === undefined) return []
  const { address } = executor
  const place = { subject: 'executor', network: caip2, address } as const
  return findings(place, async () => {
    const found = await executor.read()
    if (found === 'usable') return [fine(place, `Executor ${address} on ${name} is deployed.`)]
    const message = `Executor ${address} on ${name} ${MESSAGES[found]}`
    return [failed(place, { code: `executor_${found}`, message })]
  })
}
