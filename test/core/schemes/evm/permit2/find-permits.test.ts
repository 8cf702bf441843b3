import { expect, it } from '@jest/globals'
import { RpcChain } from '../../../../../src/core/chain/chain.js'
import type { Asset } from '../../../../../src/shared/money/assets.js'
import { PermitDomains } from '../../../../../src/shared/money/permit-domains.js'
import { findNetwork } from '../../../../../src/shared/protocol/networks.js'
import { findPermits } from '../../../../../src/core/schemes/evm/permit2/find-permits.js'
import { useCleanup, closedBy } from '../../../../support/cleanup.js'
import { useDevnet } from '../../../../support/devnet.js'
import { startRpcProxy, type Fault } from '../../../../support/rpc-proxy.js'

const devnet = useDevnet()
const toEnd = useCleanup()
const network = findNetwork('base-sepolia')!
const waitMs = { unanswered: 10, denied: 10 }

const faults: readonly [string, Fault][] = [
  ['does not answer', { kind: 'http', status: 500 }],
  ['does not know the token yet', { kind: 'answer', result: '0x' }],
]
it.each(faults)('a token is asked again after a node that %s', async (_how, fault) => {
  const proxy = closedBy(toEnd, await startRpcProxy(devnet.rpcUrl))
  let requests = 0
  proxy.fault = (method) => (method === 'eth_call' && requests++ < 10 ? fault : undefined)
  const chain = new RpcChain({ network, rpcUrl: proxy.url })
  const permits = new PermitDomains()
  const asset: Asset = { network, address: devnet.permitToken, symbol: 'PRM', decimals: 18 }
  await findPermits(chain, { assets: [asset], permits, waitMs }, new AbortController().signal)
  expect(permits.find(asset)).toEqual({ name: 'Permit Token', version: '1' })
})
