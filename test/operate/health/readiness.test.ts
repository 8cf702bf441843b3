import { once } from 'node:events'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import express from 'express'
import { generatePrivateKey, privateKeyToAddress } from 'viem/accounts'
import type { NetworkOptions } from '../../../src/gateway/config/options/network.js'
import type { GatewayOptions } from '../../../src/gateway/config/options.js'
import { createGateway, type Gateway } from '../../../src/gateway/gateway.js'
import { openPostgresLedger } from '../../../src/ledger/postgres-ledger.js'
import { startTcpProxy } from '../../faults/tcp-proxy.js'
import { askNode } from '../../api/api.js'
import { shopOptions, useDevnet } from '../../support/devnet.js'
import { listen, type TestServer } from '../../support/http.js'
import { createSchema, findPostgres } from '../../support/postgres.js'
import { startRpcProxy, type RpcProxy } from '../../support/rpc-proxy.js'
import { until } from '../../support/until.js'

const devnet = useDevnet()
const postgres = await findPostgres()
const { now } = performance
let later = 0
let proxy: RpcProxy
let gateway: Gateway
let server: TestServer | undefined
beforeEach(async () => {
  later = 0
  performance.now = () => now.call(performance) + later
  proxy = await startRpcProxy(devnet.rpcUrl)
})
afterEach(async () => {
  performance.now = now
  await server?.close()
  await gateway.close()
  await proxy.close()
})

async function open(network: NetworkOptions = {}, overrides: GatewayOptions = {}): Promise<void> {
  const settings = { rpcUrl: proxy.url, relayerKeys: devnet.relayerKeys.slice(0, 1), ...network }
  const networks = { 'base-sepolia': settings }
  gateway = createGateway(shopOptions(devnet, { networks, ...overrides }))
  server = await listen(express().use(gateway.healthRouter()))
}

async function probe(path = '/readyz') {
  const response = await fetch(server!.url + path)
  const text = await response.text()
  const body = JSON.parse(text) as {
    status: string
    checks: { subject: string; status: string; code: string; network?: string }[]
  }
  const faults = body.checks?.filter(({ status }) => status === 'error').map(({ code }) => code)
  return { status: response.status, headers: response.headers, text, body, faults }
}

/** Probes until the answer has this status, each time as if a while had passed. */
async function untilStatus(status: number) {
  let found = await probe()
  await until(async () => {
    if (found.status === status) return true
    later += 3000
    found = await probe()
    return found.status === status
  })
  return found
}

describe('the probes', () => {
  it('answer 200 if all is well, uncached, without address, balance or URL', async () => {
    await open()
    const { status, headers, body, text } = await untilStatus(200)
    expect(status).toBe(200)
    expect(headers.get('cache-control')).toBe('no-store')
    expect(body.status).toBe('ok')
    expect(body.checks).toMatchObject([
      { subject: 'ledger', status: 'ok' },
      { subject: 'network', status: 'ok', network: 'eip155:84532' },
      { subject: 'relayer', status: 'ok', network: 'eip155:84532' },
    ])
    expect(text).not.toMatch(/0x[0-9a-f]{40}|balance|http|secret/i)
    const live = await fetch(`${server!.url}/livez`)
    expect([live.status, await live.json()]).toStrictEqual([200, { status: 'ok' }])
    expect((await fetch(`${server!.url}/livez`, { method: 'HEAD' })).status).toBe(200)
  })

  it('share one check, however many requests come', async () => {
    await open()
    await untilStatus(200)
    // Time stands still: the probes themselves take longer than a result is fresh.
    const then = performance.now() + 3000
    performance.now = () => then
    proxy.methods.length = 0
    await Promise.all(Array.from({ length: 300 }, () => probe()))
    const checks = proxy.methods.filter((method) => method === 'eth_chainId')
    expect(checks).toHaveLength(1)
  })

  it('report that a node is away while the process lives, and that it is back', async () => {
    await open()
    await untilStatus(200)
    proxy.fault = () => ({ kind: 'drop_request' })
    const { body, headers, text } = await untilStatus(503)
    expect(body).toMatchObject({ status: 'unavailable' })
    expect(body.checks).toContainEqual(
      expect.objectContaining({ subject: 'network', code: 'chain_unreachable', status: 'error' }),
    )
    expect(headers.get('retry-after')).toBe('5')
    expect(text).not.toMatch(/secret-provider-key|127\.0\.0\.1/)
    expect((await probe('/livez')).status).toBe(200)
    proxy.fault = undefined
    await untilStatus(200)
  })

  it('answer 503 at once while a node that has never answered is silent', async () => {
    await open()
    proxy.fault = () => new Promise(() => undefined)
    const found = await probe()
    expect(found.status).toBe(503)
    expect(found.body.checks).toMatchObject([{ subject: 'gateway', code: 'timeout' }])
    expect((await probe('/livez')).status).toBe(200)
  })

  it('name the ledger at once while its database is silent', async () => {
    const sockets: Socket[] = []
    const silent = createServer((socket) => void sockets.push(socket)).listen(0, '127.0.0.1')
    await once(silent, 'listening')
    try {
      const { port } = silent.address() as AddressInfo
      await open({}, { ledger: openPostgresLedger(`postgres://shop@127.0.0.1:${port}/shop`) })
      const { status, body } = await probe()
      expect(status).toBe(503)
      expect(body.checks).toContainEqual(
        expect.objectContaining({ subject: 'ledger', code: 'timeout' }),
      )
    } finally {
      for (const socket of sockets) socket.destroy()
      silent.close()
    }
  })

  it('report that a node is on another chain', async () => {
    await open()
    proxy.fault = (method) =>
      method === 'eth_chainId' ? { kind: 'answer', result: '0x1' } : undefined
    expect((await untilStatus(503)).text).toContain('chain_mismatch')
  })

  it('report that no relayer can pay for gas, and are satisfied with one that can', async () => {
    const dry = generatePrivateKey()
    await open({ relayerKeys: [dry, devnet.relayerKeys[0]!] })
    await untilStatus(200)
    await server!.close()
    await gateway.close()
    await open({ relayerKeys: [dry] })
    const found = await untilStatus(503)
    await until(async () => {
      later += 3000
      return (await probe()).text.includes('relayer_without_funds')
    })
    expect(found.text).not.toContain(dry.slice(2))
    const address = privateKeyToAddress(dry)
    await askNode(devnet, 'anvil_setBalance', address, '0x56bc75e2d63100000')
    later += 10_000
    await untilStatus(200)
  })

  it('answer 503 once the gateway is closed', async () => {
    await open()
    await untilStatus(200)
    await gateway.close()
    expect((await probe()).status).toBe(503)
  })
})

const describePostgres = postgres === undefined ? describe.skip : describe

describePostgres('the probes on PostgreSQL', () => {
  it('report that the database is away or accepts no writes', async () => {
    const schema = await createSchema(postgres!)
    const url = new URL(schema.url)
    const tcp = await startTcpProxy({ host: url.hostname, port: Number(url.port || 5432) })
    url.port = String(tcp.port)
    try {
      await open({}, { ledger: openPostgresLedger(url.href) })
      await untilStatus(200)
      tcp.isDown = true
      const { body, text } = await untilStatus(503)
      expect(body.checks).toContainEqual(
        expect.objectContaining({ subject: 'ledger', status: 'error' }),
      )
      expect(text).not.toContain(url.username || 'x402_test')
      tcp.isDown = false
      await untilStatus(200)
      await schema.execute('ALTER TABLE x402_idempotency RENAME TO x402_moved')
      expect((await untilStatus(503)).text).toContain('ledger_unavailable')
      await schema.execute('ALTER TABLE x402_moved RENAME TO x402_idempotency')
      await untilStatus(200)
    } finally {
      tcp.isDown = false
      await gateway.close()
      await tcp.close()
      await schema.drop()
    }
  })
})
