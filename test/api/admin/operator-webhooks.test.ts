/** The operator's own webhooks: he is told of relayers. */
import { beforeEach, describe, expect, it } from '@jest/globals'
import { createTestClient, http, parseEther, publicActions } from 'viem'
import { generatePrivateKey, privateKeyToAddress } from 'viem/accounts'
import type { LedgerStore } from '../../../src/ledger/index.js'
import { OPERATOR_EVENTS } from '../../../src/ledger/webhooks.js'
import { serveGateway, type GatewayApi } from '../api.js'
import { useCleanup } from '../../support/cleanup.js'
import { shopOptions, useDevnet, SHOP_TOKEN } from '../../support/devnet.js'
import { until } from '../../support/until.js'
import { startReceiver, type Receiver } from '../../operate/webhooks/receiver.js'
import { stores } from '../../operate/webhooks/stores.js'
import { ADMIN_TOKEN, adminOf, type AdminClient } from './admin.js'

const devnet = useDevnet()

describe.each(stores)('webhooks of the operator, on %s', (_name, openStore) => {
  const toEnd = useCleanup()
  const key = generatePrivateKey()
  const address = privateKeyToAddress(key)
  let ledgers: readonly LedgerStore[]
  let receiver: Receiver
  beforeEach(async () => {
    const store = await openStore(toEnd)
    ledgers = [store.ledger, store.another()]
    receiver = await startReceiver(toEnd)
    await fund('0')
  })

  async function fund(ether: string): Promise<void> {
    const client = createTestClient({ mode: 'anvil', transport: http(devnet.rpcUrl) })
    await client.extend(publicActions).setBalance({ address, value: parseEther(ether) })
  }

  async function serve(ledger: LedgerStore): Promise<GatewayApi & AdminClient> {
    const api = await serveGateway(
      shopOptions(devnet, {
        networks: { 'base-sepolia': { rpcUrl: devnet.rpcUrl, relayerKeys: [key] } },
        ...{ ledger, rateLimit: false, admin: { tokens: [ADMIN_TOKEN] } },
        webhooks: { allowPrivate: true },
      }),
    )
    toEnd.push(() => api.close())
    return { ...api, ...adminOf(api) }
  }

  const register = async (api: AdminClient, body: object = { url: receiver.url }) => {
    const created = await api.ask('POST', '/webhooks', body)
    expect(created.status).toBe(201)
    return created.body as { id: string; events: string[]; secret: string }
  }

  it('tell of a relayer without gas money once for all gateways, and again after it was funded', async () => {
    const gateways = [await serve(ledgers[0]!), await serve(ledgers[1]!)]
    const { id, events, secret } = await register(gateways[0]!)
    expect(events).toEqual(OPERATOR_EVENTS)
    /** Each gateway checks its relayer until it has seen its balance: a check of a busy machine may come too late. */
    const seeBalance = (ether: string) =>
      until(async () => {
        const checks = await Promise.all(gateways.map(({ gateway }) => gateway.check()))
        const seen = checks.flat().filter(({ balance }) => balance === String(parseEther(ether)))
        return seen.length === gateways.length
      })
    await seeBalance('0')
    await until(() => receiver.received.length > 0)
    const [told] = receiver.received
    receiver.verify(told!, secret)
    expect(told).toMatchObject({
      type: 'relayer.low',
      data: { network: 'eip155:84532', address, balance: '0', settlements: 0 },
    })
    await seeBalance('0')
    const { deliveries } = (await gateways[1]!.ask('GET', `/webhooks/${id}/deliveries`)).body
    expect(deliveries).toHaveLength(1)
    await fund('100')
    await seeBalance('100')
    await fund('0')
    await seeBalance('0')
    await until(() => receiver.received.length > 1)
  })

  it('belong to the operator alone, and refuse events of projects', async () => {
    const api = await serve(ledgers[0]!)
    const { id } = await register(api)
    expect((await api.ask('GET', '/webhooks')).body.webhooks).toMatchObject([{ id }])
    const headers = { 'X-Project-Identify-Token': SHOP_TOKEN }
    expect((await api.get(`/api/v2/merchant/webhooks/${id}`, headers)).status).toBe(404)
    expect((await api.ask('GET', `/projects/shop/webhooks/${id}`)).status).toBe(404)
    expect((await api.send('GET', '/api/v2/admin/webhooks', { headers })).status).toBe(401)
    const wrong = { url: receiver.url, events: ['payment.settled'] }
    expect(await api.ask('POST', '/webhooks', wrong)).toMatchObject({
      status: 400,
      body: { code: 'invalid_request', errors: [{ path: 'events.0' }] },
    })
    const merchants = { url: receiver.url, events: ['relayer.low'] }
    expect((await api.post('/api/v2/merchant/webhooks', merchants)).status).toBe(400)
    const [entry] = (await api.ask('GET', '/audit-log')).body.entries
    expect(entry).toMatchObject({ action: 'webhook.created', after: { id } })
    expect(entry).not.toHaveProperty('project')
  })
})
