import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import express from 'express'
import { readFile } from 'node:fs/promises'
import { privateKeyToAddress } from 'viem/accounts'
import { ConfigError, LedgerError } from '../../../src/shared/errors.js'
import { createGateway, type Gateway } from '../../../src/gateway/gateway.js'
import type { GatewayOptions } from '../../../src/gateway/config/options.js'
import { createEventBus } from '../../../src/core/schemes/events.js'
import { Metrics } from '../../../src/operate/telemetry/metrics.js'
import { createMemoryLedger } from '../../../src/ledger/memory-ledger.js'
import { SHOP_TOKEN, shopOptions, useDevnet } from '../../support/devnet.js'
import { listen, type TestServer } from '../../support/http.js'
import { patchedLedger } from '../../support/patched-ledger.js'
import { startRpcProxy, type RpcProxy } from '../../support/rpc-proxy.js'
import { signPayment } from '../../support/sign-payment.js'
import { openShop } from '../../support/shop.js'
import { until } from '../../support/until.js'
import { closedBy } from '../../support/cleanup.js'

const devnet = useDevnet()
const TOKEN = 'metrics-token-of-the-test'
const ids = { payment: '1', transaction: '0x' }
const closing: (() => Promise<unknown>)[] = []
let proxy: RpcProxy
beforeEach(async () => {
  proxy = await startRpcProxy(devnet.rpcUrl)
})
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close()
  await proxy.close()
})

/** Options of a gateway through the proxy, with metrics. */
const withMetrics = (overrides: GatewayOptions = {}): GatewayOptions => ({
  networks: { 'base-sepolia': { rpcUrl: proxy.url, relayerKeys: devnet.relayerKeys.slice(0, 1) } },
  metrics: true,
  ...overrides,
})

async function serve(gateway: Gateway): Promise<TestServer> {
  return closedBy(closing, await listen(express().use(gateway.metricsRouter())))
}

const read = async ({ url }: Pick<TestServer, 'url'>): Promise<string> =>
  (await fetch(`${url}/metrics`)).text()

/** The value of a line. */
function valueOf(text: string, line: string): number | undefined {
  const found = text.split('\n').find((one) => one.startsWith(`${line} `))
  return found === undefined ? undefined : Number(found.slice(line.length + 1))
}

/** Names of metrics in a file of `example-app/monitoring`; those of histograms have endings. */
async function metricsIn(file: string): Promise<readonly string[]> {
  const path = new URL(`../../../example-app/monitoring/${file}`, import.meta.url)
  const names = (await readFile(path, 'utf8')).match(/\b(?:x402|nodejs|process)_[a-z0-9_]+/g) ?? []
  return [...new Set(names)].map((name) => name.replace(/_(?:bucket|count|sum)$/, ''))
}

describe('metrics', () => {
  it.each(['prometheus-rules.yaml', 'grafana-dashboard.json'])('are those of %s', async (file) => {
    const gateway = closedBy(closing, createGateway(shopOptions(devnet, withMetrics())))
    const server = await serve(gateway)
    let text = ''
    await until(async () => {
      text = await read(server)
      return valueOf(text, 'x402_node_up{network="eip155:84532"}') === 1
    })
    expect(valueOf(text, 'x402_oldest_pending_payment_seconds')).toBe(0)
    const known = [...text.matchAll(/^# TYPE (\S+) /gm)].map(([, name]) => name)
    const used = await metricsIn(file)
    expect(used.length).toBeGreaterThan(6)
    expect(used.filter((name) => !known.includes(name))).toEqual([])
  })

  it('have a label for each of the first projects, and one for all others', async () => {
    const events = createEventBus(() => undefined)
    const metrics = new Metrics({ events, networks: [] })
    const payment = {
      ...ids,
      scheme: 'exact',
      network: 'base',
      asset: '0x',
      amount: '1',
      payTo: '0x',
    }
    for (let index = 0; index < 300; index++)
      events.emit('submitted', { ...payment, project: `project-${index}` })
    events.emit('submitted', { ...payment, project: 'project-0' })
    events.emit('submitted', payment)
    const text = await metrics.text()
    const of = (project: string) =>
      valueOf(text, `x402_project_payments_total{outcome="submitted",project="${project}"}`)
    expect([of('project-0'), of('project-199'), of('project-200')]).toEqual([2, 1, undefined])
    expect([of('other'), of('none')]).toEqual([100, 1])
  })

  it('have a label for each scheme, and one for all that clients make up', async () => {
    const events = createEventBus(() => undefined)
    const metrics = new Metrics({ events, networks: ['eip155:84532'] })
    const payment = { ...ids, network: 'eip155:84532', asset: '0x', amount: '1', payTo: '0x' }
    for (const scheme of ['upto', 'exact', 'upto', 'Exact', 'a"b\nc', 'toString', 'x'.repeat(5000)])
      events.emit('settled', { ...payment, scheme })
    const text = await metrics.text()
    const found = [...text.matchAll(/^x402_payments_total\{(.*)\} (\d+)$/gm)]
    const label = 'network="eip155:84532",scheme'
    expect(found.map(([, labels, count]) => `${labels} ${count}`).toSorted()).toEqual([
      `outcome="settled",${label}="exact",reason="" 1`,
      `outcome="settled",${label}="other",reason="" 4`,
      `outcome="settled",${label}="upto",reason="" 2`,
    ])
  })

  it('count payments by outcome and reason, and time every phase, request and ledger operation', async () => {
    const shop = await openShop(
      devnet,
      (app, gateway) => {
        app.get('/', gateway.x402Protect('$0.01'), (_req, res) => void res.send('sold'))
        app.use(gateway.metricsRouter())
      },
      withMetrics(),
    )
    closing.push(() => shop.close())
    const payment = await shop.sign('/', devnet.payers[0]!)
    expect((await shop.pay('/', payment)).status).toBe(200)
    expect((await shop.pay('/', payment)).status).toBe(402)
    const text = await (await fetch(`${shop.url}/metrics`)).text()
    const network = 'network="eip155:84532"'
    const count = (outcome: string, reason = ''): number | undefined =>
      valueOf(
        text,
        `x402_payments_total{outcome="${outcome}",${network},scheme="exact",reason="${reason}"}`,
      )
    for (const outcome of ['verified', 'submitted', 'settled']) expect(count(outcome)).toBe(1)
    expect(count('refused', 'invalid_exact_evm_nonce_already_used')).toBe(1)
    for (const phase of ['verify', 'reserve', 'handler', 'settle', 'confirm', 'deliver'])
      expect(valueOf(text, `x402_payment_phase_seconds_count{phase="${phase}"}`)).toBeGreaterThan(0)
    expect(text).toMatch(
      /x402_rpc_seconds_count\{network="eip155:84532",method="eth_call",outcome="answered"\} [1-9]/,
    )
    expect(text).toMatch(/x402_ledger_seconds_count\{operation="reserve",outcome="done"\} [1-9]/)
    expect(text).toContain('nodejs_eventloop_lag_seconds')
    for (const outcome of ['settled', 'refused'])
      expect(text).toMatch(
        new RegExp(`x402_project_payments_total\\{outcome="${outcome}",project="[^"]+"\\} 1\\n`),
      )
    const relayer = privateKeyToAddress(devnet.relayerKeys[0]!)
    const own = `{${network},relayer="${relayer}"}`
    await until(async () => {
      const later = await (await fetch(`${shop.url}/metrics`)).text()
      return (valueOf(later, `x402_relayer_balance${own}`) ?? 0) > 1000
    })
    expect(valueOf(text, `x402_relayer_pending_transactions${own}`)).toBe(0)
    expect(text).not.toMatch(/secret|http:/)
  })

  it('have no label from a client, and count payments that an absent node has cost', async () => {
    const gateway = closedBy(closing, createGateway(shopOptions(devnet, withMetrics())))
    const server = await serve(gateway)
    const requirements = {
      ...{ scheme: 'exact', network: 'eip155:84532', amount: '10000', asset: devnet.asset },
      ...{ payTo: devnet.merchant.address, maxTimeoutSeconds: 300 },
      extra: { name: 'USDC', version: '2' },
    }
    const payload = await signPayment(devnet.payers[0]!, requirements)
    for (const network of ['eip155:4711', 'a"b\nc', 'x'.repeat(5000)])
      await gateway.facilitator.verify(payload, { ...requirements, network }).catch(() => undefined)
    await proxy.close()
    await expect(gateway.facilitator.settle(payload, requirements)).rejects.toMatchObject({
      code: 'chain_unreachable',
    })
    const text = await read(server)
    const networks = [...text.matchAll(/x402_\w+\{.*?network="([^"]*)"/g)].map(([, name]) => name)
    expect(new Set(networks)).toStrictEqual(new Set(['other', 'eip155:84532']))
    expect(valueOf(text, 'x402_payment_errors_total{code="chain_unreachable"}')).toBe(1)
    expect(text).toMatch(/x402_rpc_seconds_count\{[^}]*outcome="unreachable"\} [1-9]/)
  })

  it('count payments with an id, or a key, that an absent ledger has cost, each once', async () => {
    let isAway = false
    const store = createMemoryLedger()
    const away = (): Promise<never> =>
      Promise.reject(new LedgerError('ledger_unavailable', 'It is away.'))
    const { idempotency, payments } = store
    const ledger = patchedLedger(store, {
      idempotency: { begin: (key) => (isAway ? away() : idempotency.begin(key)) },
      reserve: (entry, ...rest) => (isAway ? away() : payments.reserve(entry, ...rest)),
    })
    const shop = closedBy(
      closing,
      await openShop(
        devnet,
        (app, gateway) => {
          app.get('/', gateway.x402Protect('$0.01'), (_req, res) => void res.send('sold'))
          app.use(gateway.metricsRouter(), gateway.gatewayRouter())
        },
        withMetrics({ ledger }),
      ),
    )
    const bare = await shop.sign('/', devnet.payers[0]!)
    const info = { id: 'pay_0123456789abcdef', required: false }
    const named = { ...bare, extensions: { 'payment-identifier': { info, schema: {} } } }
    const headers = { 'X-Project-Identify-Token': SHOP_TOKEN, 'Content-Type': 'application/json' }
    const body = JSON.stringify({ paymentPayload: bare, paymentRequirements: bare.accepted })
    const settle = () =>
      fetch(`${shop.url}/api/v2/payment/settle`, {
        ...{ method: 'POST', body },
        headers: { ...headers, 'Idempotency-Key': 'key-of-the-test' },
      })
    isAway = true
    const count = async () =>
      valueOf(await read(shop), 'x402_payment_errors_total{code="ledger_unavailable"}')
    expect([(await shop.pay('/', bare)).status, await count()]).toStrictEqual([503, 1])
    expect([(await shop.pay('/', named)).status, await count()]).toStrictEqual([503, 2])
    expect([(await settle()).status, await count()]).toStrictEqual([503, 3])
  })

  it('are shown only with the token', async () => {
    const gateway = createGateway(shopOptions(devnet, withMetrics({ metrics: { token: TOKEN } })))
    closing.push(() => gateway.close())
    const server = await serve(gateway)
    const ask = (authorization?: string): Promise<Response> =>
      fetch(`${server.url}/metrics`, { headers: authorization ? { authorization } : {} })
    for (const wrong of [undefined, 'Bearer', 'Bearer other-token-of-the-test', `Basic ${TOKEN}`]) {
      const refused = await ask(wrong)
      expect([refused.status, await refused.text()]).toStrictEqual([401, ''])
    }
    const shown = await ask(`Bearer ${TOKEN}`)
    expect(shown.status).toBe(200)
    expect(shown.headers.get('content-type')).toContain('text/plain')
    expect(await shown.text()).toContain('x402_payments_total')
  })

  it('are separate for each gateway', async () => {
    const gateways = [1, 2].map(() => createGateway(shopOptions(devnet, withMetrics())))
    for (const gateway of gateways) closing.push(() => gateway.close())
    const texts = await Promise.all(gateways.map(async (gateway) => read(await serve(gateway))))
    for (const text of texts) expect(text).toContain('x402_payment_phase_seconds')
  })

  it('are off by default', async () => {
    const gateway = closedBy(closing, createGateway(shopOptions(devnet)))
    expect(() => gateway.metricsRouter()).toThrow(ConfigError)
  })

  it.each([
    [{ host: '0.0.0.0' }, 'metrics.token', 'missing_option'],
    [{ token: 'short' }, 'metrics.token', 'out_of_range'],
    [{ port: 70_000 }, 'metrics.port', 'out_of_range'],
    ['yes', 'metrics', 'invalid_type'],
  ])('refuse the options %j', (metrics, option, code) => {
    const options = shopOptions(devnet, { metrics: metrics as object })
    const error = (() => {
      try {
        createGateway(options)
        return undefined
      } catch (thrown) {
        return thrown as ConfigError
      }
    })()
    expect(error?.issues).toMatchObject([{ option, code }])
  })
})
