import type { Network } from '../../shared/protocol/networks.js'
import type { RelayerPool } from '../../core/relayer/pool.js'
import { failed, fine, findings, type Finding } from './finding.js'

/** Checks that each executor of a network is deployed, has the right code, and may be called by a relayer. */
export async function checkExecutors(
  { executors }: Pick<RelayerPool, 'executors'>,
  { name, caip2 }: Network,
): Promise<readonly Finding[]> {
  if (executors === undefined) return []
  const found = await Promise.all(
    executors.addresses.map((address) => {
      const place = { subject: 'executor', network: caip2, address } as const
      return findings(place, async () => {
        const { kind } = await executors.read(address)
        if (kind === 'usable') return [fine(place, `Executor ${address} on ${name} is deployed.`)]
        const isOlder = address !== executors.address
        const message = `Executor ${address} on ${name} ${isOlder ? OLDER[kind] : CURRENT[kind]}`
        return [failed(place, { code: `executor_${kind}`, message })]
      })
    }),
  )
  return found.flat()
}

const CURRENT = {
  missing:
    'is not deployed: run `npx express-x402-gateway deploy-executor`. Each set of relayerKeys has an executor of its own.',
  foreign: 'is another contract. Check that rpcUrl is a node of this network.',
  not_ours: 'is not for these relayers.',
} as const

const OLDER = {
  missing: 'is not deployed. Correct its address in executor.older, or remove it.',
  foreign: 'is no executor of this gateway. Correct its address in executor.older, or remove it.',
  not_ours:
    'may be called by none of relayerKeys. Add a key that it was deployed for, or remove it from executor.older.',
} as const
