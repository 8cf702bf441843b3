/** Webhooks of projects, as an operator manages them. */
import { beforeEach, describe, expect, it } from '@jest/globals'
import { WEBHOOK_EVENTS } from '../../../src/ledger/webhooks.js'
import { hashToken } from '../../../src/shared/crypto/identify-token.js'
import { newEntry, steps } from '../../support/ledger-entries.js'
import type { LedgerStore } from '../../../src/ledger/index.js'
import type { ApiAnswer, GatewayApi } from '../api.js'
import { useCleanup } from '../../support/cleanup.js'
import { until } from '../../support/until.js'
import { startReceiver } from '../../operate/webhooks/receiver.js'
import { stores } from '../../operate/webhooks/stores.js'
import { ADMIN_TOKEN, adminOf, OPEN, PAY_TO, serveAdmin, SHOP_TOKEN } from './admin.js'
import type { AdminClient } from './admin.js'

const SECOND_ADMIN = 'an-admin-token-of-somebody-else'
const HOOKS = '/projects/shop/webhooks'
const NOBODY = `we_${'0'.repeat(32)}`
/** Nothing listens there. */
const URL_A = 'http://127.0.0.1:9/hooks'

describe.each(stores)('webhooks of projects by the admin API, on %s', (_name, openStore) => {
  const toEnd = useCleanup()
  let api: GatewayApi & AdminClient
  let ledger: LedgerStore
  beforeEach(async () => {
    ledger = (await openStore(toEnd)).ledger
    const admin = { tokens: [hashToken(ADMIN_TOKEN), hashToken(SECOND_ADMIN)] }
    api = await serveAdmin({ ...OPEN, admin, ledger, webhooks: { allowPrivate: true } })
    toEnd.push(() => api.close())
    const merchant = { payTo: PAY_TO }
    await api.ask('POST', '/projects', { id: 'acme', merchant })
  })

  const register = async (path = HOOKS, body: object = { url: URL_A }) => {
    const created = await api.ask('POST', path, body)
    expect(created.status).toBe(201)
    return created.body as { id: string; url: string; events: string[]; secret: string }
  }
  const asShop = (path = '') => api.get(`/api/v2/merchant/webhooks${path}`, shopToken)
  const shopToken = { 'X-Project-Identify-Token': SHOP_TOKEN }
  const audit = async (): Promise<ApiAnswer['body']> =>
    (await api.ask('GET', '/audit-log')).body.entries

  it('equal those of the project’s own API', async () => {
    for (const project of ['shop', 'acme']) {
      const path = `/projects/${project}/webhooks`
      const { secret, ...shown } = await register(path)
      expect(shown).toMatchObject({ url: URL_A, events: [...WEBHOOK_EVENTS] })
      expect(secret).toMatch(/^whsec_/)
      expect((await api.ask('GET', path)).body).toEqual({ webhooks: [shown] })
      expect((await api.ask('GET', `${path}/${shown.id}`)).body).toEqual(shown)
      if (project === 'shop') expect((await asShop()).body).toEqual({ webhooks: [shown] })
    }
  })

  it('can be changed, rotated, tested, sent again and deleted, each with an entry in the audit log', async () => {
    const receiver = await startReceiver(toEnd)
    const { id, url, secret } = await register(HOOKS, { url: receiver.url })
    const changed = await api.ask('PATCH', `${HOOKS}/${id}`, { events: ['payment.failed'] })
    expect(changed.body).toMatchObject({ id, url, events: ['payment.failed'] })
    const rotated = await api.ask('POST', `${HOOKS}/${id}/rotate-secret`)
    expect(rotated.body.secret).not.toBe(secret)
    const tested = await api.ask('POST', `${HOOKS}/${id}/test`)
    expect(tested).toMatchObject({ status: 202, body: { type: 'webhook.test' } })
    await until(() => receiver.received.length >= 1)
    receiver.verify(receiver.received[0]!, rotated.body.secret)
    expect(receiver.received[0]!.data).toEqual({ test: true, webhook: id, project: 'shop' })
    await until(async () => {
      const { deliveries } = (await api.ask('GET', `${HOOKS}/${id}/deliveries`)).body
      return deliveries[0].state === 'delivered'
    })
    const resend = `${HOOKS}/${id}/deliveries/${tested.body.id}/resend`
    expect((await api.ask('POST', resend)).status).toBe(202)
    await until(() => receiver.received.length >= 2)
    expect((await api.ask('DELETE', `${HOOKS}/${id}`)).status).toBe(204)
    expect((await asShop(`/${id}`)).status).toBe(404)

    const entries = (await audit()).slice(0, 6)
    const all = { id, url, events: [...WEBHOOK_EVENTS] }
    const failed = { id, url, events: ['payment.failed'] }
    expect(entries).toMatchObject([
      { action: 'webhook.deleted', before: failed },
      { action: 'delivery.resent', after: { webhook: id, delivery: tested.body.id } },
      { action: 'webhook.tested', after: { webhook: id } },
      { action: 'webhook.secret_rotated', after: failed },
      { action: 'webhook.updated', before: all, after: failed },
      { action: 'webhook.created', after: all },
    ])
    for (const entry of entries)
      expect(entry).toMatchObject({
        project: 'shop',
        actor: expect.stringMatching(/^admin-[0-9a-f]{8}$/),
      })
    expect(JSON.stringify(entries)).not.toContain('whsec_')
  })

  it('are in the audit log with the token of the project where it acts itself', async () => {
    const made = await api.ask('POST', '/projects/acme/tokens', { label: 'till' })
    const { token, id: tokenId } = made.body
    for (const [project, given, actor] of [
      ['shop', SHOP_TOKEN, 'merchant'],
      ['acme', token, `merchant ${tokenId} (till)`],
    ]) {
      const headers = { 'X-Project-Identify-Token': given, 'Content-Type': 'application/json' }
      const own = (method: string, path = '', body?: object) =>
        api.send(method, `/api/v2/merchant/webhooks${path}`, {
          headers,
          ...(body && { body: JSON.stringify(body) }),
        })
      const { id } = (await own('POST', '', { url: URL_A })).body
      expect((await own('PATCH', `/${id}`, { events: ['payment.failed'] })).status).toBe(200)
      expect((await own('POST', `/${id}/rotate-secret`)).status).toBe(200)
      expect((await own('DELETE', `/${id}`)).status).toBe(204)
      const entries = (await audit()).slice(0, 4)
      expect(entries.map(({ action }: { action: string }) => action)).toEqual([
        'webhook.deleted',
        'webhook.secret_rotated',
        'webhook.updated',
        'webhook.created',
      ])
      for (const entry of entries) expect(entry).toMatchObject({ project, actor })
      expect(JSON.stringify(entries)).not.toContain('whsec_')
    }
  })

  it('write nothing into the audit log if nothing changed', async () => {
    const before = await audit()
    expect((await api.ask('DELETE', `${HOOKS}/${NOBODY}`)).status).toBe(404)
    expect((await api.ask('POST', `${HOOKS}/${NOBODY}/rotate-secret`)).status).toBe(404)
    const change = { url: URL_A }
    expect((await api.ask('PATCH', `${HOOKS}/${NOBODY}`, change)).status).toBe(404)
    expect((await api.ask('POST', HOOKS, { url: 'nowhere' })).status).toBe(400)
    expect((await api.post('/api/v2/merchant/webhooks', change, shopToken)).status).toBe(201)
    for (let count = 1; count < 10; count++) await register()
    const logged = await audit()
    expect(await api.ask('POST', HOOKS, change)).toMatchObject({
      ...{ status: 409, body: { code: 'too_many_webhooks' } },
    })
    expect(await audit()).toEqual(logged)
    expect(logged).toHaveLength(before.length + 10)
    expect((await asShop()).body.webhooks).toHaveLength(10)
  })

  it('are not found by another project’s id', async () => {
    const { id } = await register()
    await steps.settled(ledger, newEntry())
    const { body } = await api.ask('GET', `${HOOKS}/${id}/deliveries`)
    const [delivery] = body.deliveries
    expect(delivery).toMatchObject({ type: 'payment.settled' })
    const others = '/projects/acme/webhooks'
    const paths = [
      ['GET', `${others}/${id}`],
      ['PATCH', `${others}/${id}`, { events: ['payment.failed'] }],
      ['DELETE', `${others}/${id}`],
      ['POST', `${others}/${id}/rotate-secret`],
      ['POST', `${others}/${id}/test`],
      ['GET', `${others}/${id}/deliveries`],
      ['POST', `${others}/${id}/deliveries/${delivery.id}/resend`],
    ] as const
    for (const [method, path, change] of paths)
      expect((await api.ask(method, path, change)).status).toBe(404)
    const own = await register(others)
    const stolen = `${others}/${own.id}/deliveries/${delivery.id}/resend`
    expect((await api.ask('POST', stolen)).status).toBe(404)
    expect((await asShop(`/${id}`)).body.events).toEqual([...WEBHOOK_EVENTS])
    for (const nobody of ['nobody', '%00', "x' OR '1'='1", '%F0%9F%92%A9', '..%2Fshop']) {
      const asked = await api.ask('GET', `/projects/${nobody}/webhooks`)
      expect([nobody, asked.status, asked.body.code]).toEqual([nobody, 404, 'not_found'])
    }
  })

  it('disappear from the admin API with their project', async () => {
    const { id } = await register('/projects/acme/webhooks')
    expect((await api.ask('DELETE', '/projects/acme')).status).toBe(204)
    for (const path of ['', `/${id}`])
      expect((await api.ask('GET', `/projects/acme/webhooks${path}`)).status).toBe(404)
  })

  it('need an admin token and refuse the project’s', async () => {
    for (const headers of [{}, shopToken, { Authorization: `Bearer ${SHOP_TOKEN}` }])
      for (const method of ['GET', 'POST']) {
        const asked = await api.send(method, `/api/v2/admin${HOOKS}`, { headers })
        expect(asked.status).toBe(401)
      }
    const bearer = { Authorization: `Bearer ${ADMIN_TOKEN}` }
    expect((await api.send('GET', '/api/v2/merchant/webhooks', { headers: bearer })).status).toBe(
      401,
    )
  })

  it('are created once for an Idempotency-Key, separate for each admin and project', async () => {
    const key = { 'Idempotency-Key': 'one' }
    const other = adminOf(api, SECOND_ADMIN)
    const ask = (client: AdminClient, project: string, url = URL_A) =>
      client.ask('POST', `/projects/${project}/webhooks`, { url }, key)
    const [first, again] = [await ask(api, 'shop'), await ask(api, 'shop')]
    expect(first.status).toBe(201)
    expect(again.body).toEqual(first.body)
    expect((await ask(api, 'shop', `${URL_A}/other`)).body.code).toBe('idempotency_conflict')
    const merchants = await api.post(
      '/api/v2/merchant/webhooks',
      { url: URL_A },
      { ...shopToken, ...key },
    )
    const made = [first, await ask(other, 'shop'), await ask(api, 'acme'), merchants]
    expect(new Set(made.map(({ body }) => body.id)).size).toBe(4)
    expect((await asShop()).body.webhooks).toHaveLength(3)
  })

  it('are created once by concurrent requests', async () => {
    const key = { 'Idempotency-Key': 'race' }
    const made = await Promise.all(
      Array.from({ length: 8 }, () => api.ask('POST', HOOKS, { url: URL_A }, key)),
    )
    expect(new Set(made.map(({ status }) => status))).toEqual(new Set([201]))
    expect(new Set(made.map(({ body }) => body.secret)).size).toBe(1)
    expect((await asShop()).body.webhooks).toHaveLength(1)
    const created = (await audit()).filter(
      ({ action }: { action: string }) => action === 'webhook.created',
    )
    expect(created).toHaveLength(1)
  })
})
