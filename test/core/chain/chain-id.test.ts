import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { performance } from 'node:perf_hooks'
import { RpcChain } from '../../../src/core/chain/chain.js'
import { findNetwork } from '../../../src/shared/protocol/networks.js'
import { useDevnet } from '../../support/devnet.js'
import { startRpcProxy, type RpcProxy } from '../../support/rpc-proxy.js'
import { until } from '../../support/until.js'

const MINUTE_MS = 60_000
const devnet = useDevnet()
const { now } = performance
let later = 0
let proxy: RpcProxy
beforeEach(async () => {
  later = 0
  performance.now = () => now.call(performance) + later
  proxy = await startRpcProxy(devnet.rpcUrl)
})
afterEach(async () => {
  performance.now = now
  await proxy.close()
})

const open = () => new RpcChain({ network: findNetwork('base-sepolia')!, rpcUrl: proxy.url })
const checks = (): number => proxy.methods.filter((method) => method === 'eth_chainId').length

describe('the chain id of a node (rule 16)', () => {
  it('is requested once a minute, not at each request', async () => {
    const chain = open()
    for (let n = 0; n < 10; n++) await chain.getBlockNumber()
    expect(checks()).toBe(1)
    later = MINUTE_MS + 1
    for (let n = 0; n < 10; n++) await chain.getBlockNumber()
    await until(() => checks() === 2)
    for (let n = 0; n < 10; n++) await chain.getBlockNumber()
    expect(checks()).toBe(2)
  })

  it('is noticed when the URL leads to another chain later, and accepted again afterwards', async () => {
    const chain = open()
    await chain.getBlockNumber()
    proxy.fault = (method) =>
      method === 'eth_chainId' ? { kind: 'answer', result: '0x1' } : undefined
    later = MINUTE_MS + 1
    await until(async () => {
      const error: unknown = await chain.getBlockNumber().catch((thrown: unknown) => thrown)
      return (error as { code?: string }).code === 'chain_mismatch'
    })
    await expect(chain.getBlockNumber()).rejects.toMatchObject({ code: 'chain_mismatch' })
    proxy.fault = undefined
    expect(await chain.getBlockNumber()).toBeGreaterThan(0n)
  })

  it('is assumed unchanged while the node does not answer', async () => {
    const chain = open()
    await chain.getBlockNumber()
    proxy.fault = (method) => (method === 'eth_chainId' ? { kind: 'http', status: 503 } : undefined)
    later = MINUTE_MS + 1
    await chain.getBlockNumber()
    await until(() => checks() >= 2)
    expect(await chain.getBlockNumber()).toBeGreaterThan(0n)
  })
})
