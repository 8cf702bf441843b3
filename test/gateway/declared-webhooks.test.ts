/** Webhooks that the configuration declares: real gateways on one ledger, and a receiver that verifies. */
import { describe, expect, it } from '@jest/globals'
import type { DeclaredWebhook } from '../../src/gateway/config/options.js'
import { WEBHOOK_EVENTS } from '../../src/ledger/webhooks.js'
import { createWebhookSecret } from '../../src/operate/webhooks/secret.js'
import { recordLog } from '../api/api.js'
import { startReceiver, withStatus, type Receiver } from '../operate/webhooks/receiver.js'
import { stores, type TestStore } from '../operate/webhooks/stores.js'
import { closedBy, useCleanup } from '../support/cleanup.js'
import { SHOP_TOKEN, useDevnet } from '../support/devnet.js'
import { openShop } from '../support/shop.js'
import { until } from '../support/until.js'

const devnet = useDevnet()
const toEnd = useCleanup()

/** Starts a gateway on a store as another process does, and sells one report. */
async function start(store: TestStore, endpoints?: readonly DeclaredWebhook[]) {
  const log = recordLog()
  const shop = await openShop(
    devnet,
    (app, { x402Protect, gatewayRouter }) => {
      app.get('/report', x402Protect('$0.01'), (_req, res) => void res.send('sold'))
      app.use(gatewayRouter())
    },
    { ledger: store.another(), logger: log, webhooks: { allowPrivate: true, endpoints } },
  )
  closedBy(toEnd, shop)
  const api = async (method: string, path = '') => {
    const headers = { 'X-Project-Identify-Token': SHOP_TOKEN, 'Content-Type': 'application/json' }
    const body = method === 'PATCH' && { body: '{"events":["payment.failed"]}' }
    const url = `${shop.url}/api/v2/merchant/webhooks${path}`
    const response = await fetch(url, { method, headers, ...body })
    return { status: response.status, text: await response.text() }
  }
  const sell = async () => {
    const response = await shop.buy('/report', devnet.payers[0]!)
    expect(response.status).toBe(200)
  }
  return { ...shop, log, api, sell }
}

const verifies = (receiver: Receiver, index: number, secret: string): boolean => {
  try {
    receiver.verify(receiver.received[index]!, secret)
    return true
  } catch {
    return false
  }
}

describe.each(stores)('a declared webhook on the %s ledger', (_name, openStore) => {
  it('is told of the first payment, signed with its own secret, which nothing shows', async () => {
    const store = await openStore(toEnd)
    const receiver = await startReceiver(toEnd)
    const secret = createWebhookSecret()
    const { api, sell, log } = await start(store, [{ url: receiver.url, secret }])
    await sell()
    await until(() => receiver.received.length >= 1)
    expect(receiver.received[0]).toMatchObject({ type: 'payment.settled' })
    receiver.verify(receiver.received[0]!, secret)

    const { text } = await api('GET')
    const { webhooks } = JSON.parse(text)
    expect(webhooks).toMatchObject([{ url: receiver.url, events: [...WEBHOOK_EVENTS] }])
    expect(webhooks[0].id).toMatch(/^we_config_[0-9a-f]{32}$/)
    expect(text + JSON.stringify(log.lines)).not.toContain(secret)
  })

  it('is tested by the API as others are, and not changed by it', async () => {
    const store = await openStore(toEnd)
    const receiver = await startReceiver(toEnd)
    const secret = createWebhookSecret()
    const { api } = await start(store, [{ url: receiver.url, secret, events: ['payment.failed'] }])
    await until(async () => (await api('GET')).text.includes('we_config_'))
    const { id } = JSON.parse((await api('GET')).text).webhooks[0]
    for (const [method, path] of [
      ['PATCH', `/${id}`],
      ['DELETE', `/${id}`],
      ['POST', `/${id}/rotate-secret`],
    ] as const) {
      const refused = await api(method, path)
      expect(refused.status).toBe(409)
      expect(JSON.parse(refused.text).code).toBe('project_configured')
    }
    expect((await api('POST', `/${id}/test`)).status).toBe(202)
    await until(() => receiver.received.length >= 1)
    receiver.verify(receiver.received[0]!, secret)
  })
})

describe.each(stores.filter(([name]) => name !== 'memory'))(
  'declared webhooks of gateways that share the %s ledger',
  (_name, openStore) => {
    it('are written once by gateways that start at once, and stay when one starts anew', async () => {
      const store = await openStore(toEnd)
      const receiver = await startReceiver(toEnd)
      const secret = createWebhookSecret()
      const declared = [{ url: receiver.url, secret }]
      const shops = await Promise.all([1, 2, 3, 4].map(() => start(store, declared)))
      for (const shop of shops) await shop.sell()
      await until(() => receiver.received.length >= shops.length)
      const list = await store.ledger.webhooks.endpoints.list('shop')
      expect(list).toHaveLength(1)
      await shops[0]!.close()
      const again = await start(store, declared)
      await again.sell()
      await until(() => receiver.received.length >= shops.length + 1)
      expect(await store.ledger.webhooks.endpoints.list('shop')).toEqual(list)
    })

    it('have the secret and the events of the last start', async () => {
      const store = await openStore(toEnd)
      const receiver = await startReceiver(toEnd)
      const { url } = receiver
      const [before, after] = [createWebhookSecret(), createWebhookSecret()]
      const first = await start(store, [{ url, secret: before, events: ['payment.failed'] }])
      await first.sell()
      await first.close()
      const second = await start(store, [{ url, secret: after, events: ['payment.settled'] }])
      await second.sell()
      await until(() => receiver.received.length > 0)
      expect(receiver.received).toHaveLength(1)
      expect(verifies(receiver, 0, after)).toBe(true)
      expect(verifies(receiver, 0, before)).toBe(false)
    })

    it('give what waits for them to a corrected URL with their secret', async () => {
      const store = await openStore(toEnd)
      const [wrong, right] = [await startReceiver(toEnd), await startReceiver(toEnd)]
      wrong.respond = withStatus(404)
      const secret = createWebhookSecret()
      const first = await start(store, [{ url: wrong.url, secret }])
      await first.sell()
      await until(() => wrong.received.length >= 1)
      await first.close()
      const second = await start(store, [{ url: right.url, secret }])
      await until(() => right.received.length >= 1)
      right.verify(right.received[0]!, secret)
      expect(right.received[0]).toMatchObject({ id: wrong.received[0]!.id })
      expect(second.log.lines.join()).not.toContain('A webhook was deleted')
    })

    it('stay where a configuration says nothing, end where its list lacks them, and registered ones stay', async () => {
      const store = await openStore(toEnd)
      const [gone, kept] = [await startReceiver(toEnd), await startReceiver(toEnd)]
      const secret = createWebhookSecret()
      const first = await start(store, [{ url: gone.url, secret }])
      await store.ledger.webhooks.endpoints.create({
        ...{ id: `we_${'0'.repeat(32)}`, project: 'shop', url: kept.url, secret },
        events: ['payment.settled'],
      })
      // Another project's are not those of this configuration.
      const other = {
        project: 'other',
        url: gone.url,
        secret,
        events: ['payment.settled'] as const,
      }
      await store.ledger.webhooks.endpoints.declare(['other'], [other])
      await first.sell()
      await until(() => gone.received.length >= 1 && kept.received.length === 1)
      await first.close()
      const silent = await start(store)
      await silent.sell()
      await until(() => gone.received.length >= 2 && kept.received.length === 2)
      await silent.close()
      const second = await start(store, [])
      await second.sell()
      await until(() => kept.received.length >= 3)
      expect(gone.received).toHaveLength(2)
      expect(await store.ledger.webhooks.endpoints.list('shop')).toMatchObject([{ url: kept.url }])
      expect(await store.ledger.webhooks.endpoints.list('other')).toHaveLength(1)
      expect(
        second.log.lines.filter((line) => line.includes('"webhook":"we_config_')),
      ).toHaveLength(1)
      expect(JSON.stringify(second.log.lines)).not.toContain(secret)
    })
  },
)
