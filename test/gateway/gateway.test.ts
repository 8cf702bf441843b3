import { afterEach, describe, expect, it } from '@jest/globals'
import { setTimeout as sleep } from 'node:timers/promises'
import { ConfigError } from '../../src/shared/errors.js'
import { createGateway, type Gateway } from '../../src/gateway/gateway.js'
import { createMemoryLedger } from '../../src/ledger/memory-ledger.js'
import type { GatewayOptions } from '../../src/gateway/config/options.js'
import { recordLog } from '../api/api.js'
import { balanceOf, shopOptions, useDevnet } from '../support/devnet.js'
import { signPayment } from '../support/sign-payment.js'
import { patchedLedger } from '../support/patched-ledger.js'
import { startRpcProxy } from '../support/rpc-proxy.js'
import { until } from '../support/until.js'
import { offerOf } from '../support/core.js'

const devnet = useDevnet()
const gateways: Gateway[] = []

afterEach(async () => {
  await Promise.all(gateways.splice(0).map((gateway) => gateway.close()))
})

function open(overrides: GatewayOptions = {}): Gateway {
  const gateway = createGateway(shopOptions(devnet, overrides))
  gateways.push(gateway)
  return gateway
}

async function payment() {
  const requirements = offerOf(devnet)
  return { requirements, payload: await signPayment(devnet.payers[0]!, requirements) }
}

describe('createGateway', () => {
  it('refuses wrong options at once', () => {
    expect(() => createGateway({ settleTimeoutMs: -1 })).toThrow(ConfigError)
  })

  it('logs soon after the start that a node is on another chain, and which one it should be on', async () => {
    const log = recordLog()
    const { networks = {} } = shopOptions(devnet)
    open({ networks: { base: networks['base-sepolia']! }, logger: log })
    await until(() => log.lines.length > 0)
    expect(log.lines).toEqual([expect.stringContaining('A node is on the wrong chain')])
    expect(log.lines[0]).toMatch(/^error .*"code":"chain_mismatch","network":"eip155:8453"/)
    expect(log.lines[0]).not.toContain(devnet.rpcUrl)
  })

  it('logs soon after the start that an executor is missing', async () => {
    const log = recordLog()
    const { rpcUrl, relayerKeys } = devnet
    const network = { rpcUrl, relayerKeys: relayerKeys.slice(0, 1), executor: true }
    open({ networks: { 'base-sepolia': network }, logger: log })
    await until(() => log.lines.length > 0)
    expect(log.lines).toEqual([expect.stringContaining('deploy-executor')])
    expect(log.lines[0]).toMatch(/^warn .*"code":"executor_missing"/)
  })

  it('asks a node once for its chain, however early the first payment comes', async () => {
    const proxy = await startRpcProxy(devnet.rpcUrl)
    const { networks = {} } = shopOptions(devnet)
    const gateway = open({
      networks: { 'base-sepolia': { ...networks['base-sepolia'], rpcUrl: proxy.url } },
    })
    const { payload, requirements } = await payment()
    await gateway.facilitator.verify(payload, requirements)
    await sleep(1500)
    expect(proxy.methods.filter((method) => method === 'eth_chainId')).toHaveLength(1)
    await gateway.close()
    await proxy.close()
  })

  it('verifies and settles without HTTP', async () => {
    const { facilitator } = open()
    const { payload, requirements } = await payment()
    const before = await balanceOf(devnet, devnet.merchant.address)
    expect(await facilitator.verify(payload, requirements)).toStrictEqual({
      isValid: true,
      payer: devnet.payers[0]!.address,
    })
    expect(await facilitator.settle(payload, requirements)).toMatchObject({ success: true })
    expect(await balanceOf(devnet, devnet.merchant.address)).toBe(before + 10_000n)
  })

  it('tells listeners what happens, until they stop listening', async () => {
    const { facilitator, on } = open()
    const events: string[] = []
    const stops = (['verified', 'submitted', 'settled', 'refused'] as const).map((name) =>
      on(name, ({ payer }) => events.push(`${name} ${payer}`)),
    )
    const first = await payment()
    await facilitator.settle(first.payload, first.requirements)
    await facilitator.settle(first.payload, first.requirements)
    const { address } = devnet.payers[0]!
    expect(events).toStrictEqual(
      ['verified', 'submitted', 'settled', 'refused'].map((name) => `${name} ${address}`),
    )
    for (const stop of stops) stop()
    const second = await payment()
    await facilitator.settle(second.payload, second.requirements)
    expect(events).toHaveLength(4)
  })

  it('does not let a listener harm a payment', async () => {
    const logger = recordLog()
    const { facilitator, on } = open({ logger })
    on('verified', () => {
      throw new Error('a listener with a bug')
    })
    const { payload, requirements } = await payment()
    expect(await facilitator.settle(payload, requirements)).toMatchObject({ success: true })
    expect(logger.lines.join()).toContain('a listener with a bug')
  })

  it('reports a relayer that is low', async () => {
    const { facilitator, on } = open({
      networks: {
        'base-sepolia': { rpcUrl: devnet.rpcUrl, relayerKeys: [`0x${'5e'.repeat(32)}`] },
      },
    })
    const low = new Promise((resolve) => on('relayerLow', resolve))
    const { payload, requirements } = await payment()
    await expect(facilitator.settle(payload, requirements)).rejects.toMatchObject({
      code: 'relayer_without_funds',
    })
    expect(await low).toMatchObject({
      network: 'eip155:84532',
      relayer: expect.stringMatching(/^0x/),
      balance: 0n,
    })
  })

  it('asks a facilitator that is elsewhere, and needs no node', async () => {
    const near = open()
    const { facilitator } = open({
      networks: { 'base-sepolia': {} },
      facilitator: near.facilitator,
    })
    const { payload, requirements } = await payment()
    expect(await facilitator.verify(payload, requirements)).toMatchObject({ isValid: true })
    expect(await facilitator.supported()).toStrictEqual(await near.facilitator.supported())
  })

  it('closes the ledger it was given, with itself', async () => {
    let closed = 0
    const ledger = createMemoryLedger()
    const gateway = open({
      ledger: patchedLedger(ledger, {
        close: async () => {
          closed++
          await ledger.close()
        },
      }),
    })
    gateways.pop()
    await gateway.close()
    expect(closed).toBe(1)
  })
})
