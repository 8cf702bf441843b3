/** Projects and their tokens, over the admin API. */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { until } from '../../support/until.js'
import { recordSqlite } from '../../ledger/plans.js'
import type { GatewayApi } from '../api.js'
import { OPEN, PAY_TO, serveAdmin, SHOP_TOKEN, type AdminClient } from './admin.js'

const merchant = { name: 'Acme', payTo: PAY_TO, currency: 'USD' }
const ISO = expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/)

let api: GatewayApi & AdminClient
beforeEach(async () => {
  api = await serveAdmin()
})
afterEach(() => api.close())

const create = (id = 'acme') => api.ask('POST', '/projects', { id, merchant })

/** A new token of a project. */
async function tokenOf(id: string): Promise<{ id: string; token: string }> {
  const { body } = await api.ask('POST', `/projects/${id}/tokens`, { label: 'till' })
  return body
}

/** What the API of merchants says to a token. */
async function statusOf(token: string): Promise<number> {
  const headers = { 'X-Project-Identify-Token': token }
  return (await api.send('GET', '/api/v2/merchant/settlements', { headers })).status
}

describe('Projects', () => {
  it('are created, shown, listed, changed and deleted', async () => {
    const created = await create()
    expect(created.status).toBe(201)
    expect(created.headers.get('location')).toBe('/api/v2/admin/projects/acme')
    const view = { id: 'acme', merchant, source: 'database', createdAt: ISO }
    expect(created.body).toMatchObject(view)
    const shown = await api.ask('GET', '/projects/acme')
    expect([shown.status, shown.body]).toEqual([200, created.body])
    expect(shown.headers.get('etag')).toBe('"1"')

    const { body: list } = await api.ask('GET', '/projects')
    const configured = { payTo: PAY_TO, name: 'Configured' }
    expect(list).toEqual({
      projects: [
        { id: 'shop', source: 'configuration', merchant: configured, paused: false },
        created.body,
      ],
      total: 2,
    })

    const change = { merchant: { currency: 'EUR', name: null } }
    const changed = await api.ask('PATCH', '/projects/acme', change)
    expect(changed.status).toBe(200)
    expect(changed.body).toMatchObject({ version: 2, merchant: { payTo: PAY_TO, currency: 'EUR' } })
    expect(changed.body.merchant).not.toHaveProperty('name')

    expect((await api.ask('DELETE', '/projects/acme')).status).toBe(204)
    expect((await api.ask('GET', '/projects/acme')).status).toBe(404)
    expect((await api.ask('DELETE', '/projects/acme')).status).toBe(404)
    expect(await create()).toMatchObject({ status: 409, body: { code: 'project_exists' } })
  })

  it('are checked member by member with the schema of the configuration', async () => {
    const wrong = {
      payTo: '0x12',
      currency: 'EURO',
      nmae: 'x',
      accepts: [{ network: 'base-sepolia', asset: 'DOGE' }],
    }
    const { status, body } = await api.ask('POST', '/projects', { id: 'acme', merchant: wrong })
    expect([status, body.code]).toEqual([400, 'invalid_request'])
    const paths = body.errors.map(({ path }: { path: string }) => path)
    expect(paths.toSorted()).toEqual(['merchant.currency', 'merchant.nmae', 'merchant.payTo'])
    const asset = { ...merchant, accepts: wrong.accepts }
    const unknown = await api.ask('POST', '/projects', { id: 'acme', merchant: asset })
    expect(unknown.body.errors).toMatchObject([{ path: 'merchant.accepts.0' }])

    for (const [given, path] of [
      [{ id: 'acme' }, 'merchant'],
      [{ id: 'acme', merchant: 'none' }, 'merchant'],
      [{ id: 'acme', merchant: null }, 'merchant'],
      [{ id: 'acme', merchant: {} }, 'merchant.payTo'],
      [{ merchant }, 'id'],
      [{ id: '', merchant }, 'id'],
      [{ id: 'a/b', merchant }, 'id'],
      [{ id: '../x', merchant }, 'id'],
      [{ id: '<b>', merchant }, 'id'],
      [{ id: 'a\0', merchant }, 'id'],
      [{ id: 'x'.repeat(65), merchant }, 'id'],
      [{ id: 'acme', merchant, tokens: ['x'] }, 'tokens'],
      [[], ''],
      [null, ''],
    ] as const) {
      const answer = await api.ask('POST', '/projects', given)
      expect([answer.status, answer.body.errors?.[0].path]).toEqual([400, path])
    }
    await create()
    const patched = await api.ask('PATCH', '/projects/acme', { merchant: { payTo: null } })
    expect(patched).toMatchObject({ status: 400, body: { errors: [{ path: 'merchant.payTo' }] } })
    const { body: now } = await api.ask('GET', '/projects/acme')
    expect(now).toMatchObject({ merchant, version: 1 })
  })

  it('refuse bodies that are malformed, huge, or endlessly nested', async () => {
    expect(await api.ask('POST', '/projects', '{')).toMatchObject({
      status: 400,
      body: { code: 'invalid_json' },
    })
    const huge = { id: 'acme', merchant: { ...merchant, name: 'x'.repeat(70_000) } }
    expect((await api.ask('POST', '/projects', huge)).status).toBe(413)
    const deep = `{"id":"acme","merchant":${'['.repeat(5000)}${']'.repeat(5000)}}`
    expect((await api.ask('POST', '/projects', deep)).status).toBe(400)
    const text = await api.ask('POST', '/projects', 'x', { 'Content-Type': 'text/plain' })
    expect(text.status).toBe(415)
  })

  it('keep what looks like markup as it is, and answer it as JSON', async () => {
    const name = '<script>alert(1)</script>"\'${7*7}'
    const made = await api.ask('POST', '/projects', { id: 'acme', merchant: { ...merchant, name } })
    expect(made.status).toBe(201)
    for (const path of ['/projects', '/projects/acme', '/audit-log']) {
      const { headers, body } = await api.ask('GET', path)
      expect(headers.get('content-type')).toBe('application/json; charset=utf-8')
      expect(JSON.stringify(body)).toContain(JSON.stringify(name))
    }
  })

  it.each(['\u0000', '\u2028', '\u202e'])('refuse a name with the character %j', async (char) => {
    const named = { ...merchant, name: `Shop${char}` }
    const refused = await api.ask('POST', '/projects', { id: 'acme', merchant: named })
    expect(refused).toMatchObject({ status: 400, body: { code: 'invalid_request' } })
  })

  it('can be read but not changed if they are configured', async () => {
    const configured = { payTo: PAY_TO, name: 'Configured' }
    expect((await api.ask('GET', '/projects/shop')).body).toEqual({
      ...{ id: 'shop', source: 'configuration', merchant: configured, paused: false },
    })
    const refused = { status: 409, body: { code: 'project_configured' } }
    expect(await create('shop')).toMatchObject(refused)
    expect(await api.ask('PATCH', '/projects/shop', { merchant: { name: 'x' } })).toMatchObject(
      refused,
    )
    expect(await api.ask('DELETE', '/projects/shop')).toMatchObject(refused)
  })

  it('are created once, however many requests use the same id at once', async () => {
    const answers = await Promise.all(Array.from({ length: 50 }, () => create()))
    const statuses = answers.map(({ status }) => status)
    expect(statuses.toSorted((a, b) => a - b)).toEqual([201, ...Array(49).fill(409)])
  })

  it('lose no change when several are made at once or on an old version', async () => {
    await create()
    const changes = ['minAmount', 'maxAmount', 'fxBufferBps', 'crossCurrency', 'name'].map(
      (member) => {
        const value = { fxBufferBps: 7, crossCurrency: true, maxAmount: '9' }[member] ?? '1'
        return api.ask('PATCH', '/projects/acme', { merchant: { [member]: value } })
      },
    )
    for (const { status } of await Promise.all(changes)) expect(status).toBe(200)
    const { body } = await api.ask('GET', '/projects/acme')
    expect(body.version).toBe(6)
    expect(body.merchant).toEqual({
      ...{ payTo: PAY_TO, currency: 'USD', name: '1', minAmount: '1', maxAmount: '9' },
      ...{ fxBufferBps: 7, crossCurrency: true },
    })
    const old = { 'If-Match': '"5"' }
    const late = await api.ask('PATCH', '/projects/acme', { merchant: { name: 'late' } }, old)
    expect(late).toMatchObject({ status: 412, body: { code: 'precondition_failed' } })
    expect((await api.ask('DELETE', '/projects/acme', undefined, old)).status).toBe(412)
    const now = { 'If-Match': '"5", "6"' }
    const timely = await api.ask('PATCH', '/projects/acme', { merchant: { name: 'ok' } }, now)
    expect(timely).toMatchObject({ status: 200, body: { version: 7 } })
    expect(timely.headers.get('etag')).toBe('"7"')
  })

  it('are created once for an Idempotency-Key', async () => {
    const key = { 'Idempotency-Key': 'the-first-of-may' }
    const body = { id: 'acme', merchant }
    const first = await api.ask('POST', '/projects', body, key)
    const again = await api.ask('POST', '/projects', body, key)
    expect([again.status, again.body]).toEqual([201, first.body])
    const other = await api.ask('POST', '/projects', { ...body, id: 'other' }, key)
    expect(other).toMatchObject({ status: 409, body: { code: 'idempotency_conflict' } })
    const bad = await api.ask('POST', '/projects', body, { 'Idempotency-Key': 'x'.repeat(300) })
    expect(bad.status).toBe(400)
  })

  it('are listed page by page, each once', async () => {
    for (let index = 0; index < 7; index++) await create(`p${index}`)
    const ids: string[] = []
    let path = '/projects?limit=3'
    for (let pages = 0; pages < 10; pages++) {
      const { body } = await api.ask('GET', path)
      ids.push(...body.projects.map(({ id }: { id: string }) => id))
      if (body.nextCursor === undefined) break
      path = `/projects?limit=3&cursor=${body.nextCursor}`
    }
    expect(ids).toEqual(['shop', 'p0', 'p1', 'p2', 'p3', 'p4', 'p5', 'p6'])
    for (const query of ['limit=0', 'limit=1000', 'limit=x', 'cursor=x', 'cursor=', 'page=2'])
      expect((await api.ask('GET', `/projects?${query}`)).status).toBe(400)
    for (const query of ['sort=age', 'search=a&search=b', `search=${'x'.repeat(201)}`])
      expect((await api.ask('GET', `/projects?${query}`)).status).toBe(400)
  })

  it('are searched, counted and sorted', async () => {
    await create('acme-2')
    await create('acme-10')
    const other = { ...merchant, name: 'Zum Löwen' }
    await api.ask('POST', '/projects', { id: 'beer', merchant: other })
    const list = async (query: string) => {
      const { body } = await api.ask('GET', `/projects?${query}`)
      return [body.total, ...body.projects.map(({ id }: { id: string }) => id)]
    }
    expect(await list('search=ACME&sort=-id')).toEqual([2, 'acme-10', 'acme-2'])
    expect(await list('search=l%C3%B6wen')).toEqual([1, 'beer'])
    expect(await list('search=nobody')).toEqual([0])
    expect(await list('sort=name&limit=2')).toEqual([4, 'acme-2', 'acme-10'])
    await api.ask('PATCH', '/projects/beer', { merchant: { name: 'A first' } })
    expect(await list('sort=name&limit=1')).toEqual([4, 'beer'])
  })

  it('are listed by one statement, however many there are', async () => {
    const statements = recordSqlite()
    const api = await serveAdmin()
    await Promise.all(
      Array.from({ length: 200 }, (_, index) =>
        api.ask('POST', '/projects', { id: `p${index}`, merchant }),
      ),
    )
    await api.ask('GET', '/projects')
    // What the gateway does by itself may come between.
    await until(async () => {
      statements.length = 0
      const { body } = await api.ask('GET', '/projects?search=p1&sort=-name&limit=50')
      expect(body).toMatchObject({ total: 111, projects: { length: 50 } })
      return statements.every(({ text }) => /from "x402_versions"/.test(text))
    })
    await api.close()
  })

  it('are answered 404 on every path if they are unknown', async () => {
    for (const id of ['none', '%00', '%3Cb%3E', 'x'.repeat(300), '__proto__', "'%20OR%201=1"]) {
      for (const [method, path, body] of [
        ['GET', `/projects/${id}`, undefined],
        ['PATCH', `/projects/${id}`, { merchant: {} }],
        ['DELETE', `/projects/${id}`, undefined],
        ['GET', `/projects/${id}/tokens`, undefined],
        ['POST', `/projects/${id}/tokens`, { label: 'x' }],
        ['DELETE', `/projects/${id}/tokens/tok_${'0'.repeat(24)}`, undefined],
      ] as const)
        expect((await api.ask(method, path, body)).status).toBe(404)
    }
  })
})

describe('Tokens', () => {
  beforeEach(() => create())

  it('are shown once, work immediately, and stop when they are revoked', async () => {
    const made = await api.ask('POST', '/projects/acme/tokens', { label: 'till 1' })
    expect(made.status).toBe(201)
    const { id, token } = made.body
    const scopes = ['settle', 'read', 'refund', 'webhooks']
    expect(made.body).toEqual({ id, token, label: 'till 1', scopes, createdAt: ISO })
    expect(await statusOf(token)).toBe(200)
    const listed = await api.ask('GET', '/projects/acme/tokens')
    expect(listed.body).toEqual({
      tokens: [{ id, label: 'till 1', scopes, source: 'database', createdAt: ISO }],
    })
    expect((await api.ask('DELETE', `/projects/acme/tokens/${id}`)).status).toBe(204)
    expect(await statusOf(token)).toBe(401)
    expect((await api.ask('DELETE', `/projects/acme/tokens/${id}`)).status).toBe(204)
    const { body } = await api.ask('GET', '/projects/acme/tokens')
    expect(body.tokens).toMatchObject([{ id, revokedAt: ISO }])
  })

  it('can be replaced without a gap, because both work until the old one is revoked', async () => {
    const old = await tokenOf('acme')
    const next = await tokenOf('acme')
    expect([await statusOf(old.token), await statusOf(next.token)]).toEqual([200, 200])
    await api.ask('DELETE', `/projects/acme/tokens/${old.id}`)
    expect([await statusOf(old.token), await statusOf(next.token)]).toEqual([401, 200])
  })

  it('stop when their project is deleted', async () => {
    const { token } = await tokenOf('acme')
    await api.ask('DELETE', '/projects/acme')
    expect(await statusOf(token)).toBe(401)
  })

  it('can be added to a configured project, whose own are shown without their hash', async () => {
    const { id, token } = await tokenOf('shop')
    expect(await statusOf(token)).toBe(200)
    const { body, text } = await api.ask('GET', '/projects/shop/tokens')
    expect(body.tokens).toMatchObject([
      { id: 'configuration-1', source: 'configuration' },
      { id, source: 'database', label: 'till' },
    ])
    expect(text).not.toMatch(/[0-9a-f]{64}/)
    const configured = await api.ask('DELETE', '/projects/shop/tokens/configuration-1')
    expect(configured).toMatchObject({ status: 409, body: { code: 'project_configured' } })
    expect(await statusOf(SHOP_TOKEN)).toBe(200)
    expect((await api.ask('DELETE', `/projects/shop/tokens/${id}`)).status).toBe(204)
    expect(await statusOf(token)).toBe(401)
  })

  it('cannot be revoked through another project', async () => {
    await create('other')
    const { id, token } = await tokenOf('acme')
    for (const project of ['other', 'shop'])
      expect((await api.ask('DELETE', `/projects/${project}/tokens/${id}`)).status).toBe(404)
    expect(await statusOf(token)).toBe(200)
    for (const wrong of ['x', '%00', 'tok_', `tok_${'0'.repeat(24)}`])
      expect((await api.ask('DELETE', `/projects/acme/tokens/${wrong}`)).status).toBe(404)
  })

  it('are created once for an Idempotency-Key, and never stored in plain text', async () => {
    const key = { 'Idempotency-Key': 'a-token-for-till-1' }
    const ask = () => api.ask('POST', '/projects/acme/tokens', { label: 'till 1' }, key)
    const first = await ask()
    const again = await ask()
    expect(again).toMatchObject({
      status: 410,
      body: { code: 'answer_not_kept', id: first.body.id },
    })
    expect(again.text).not.toContain(first.body.token)
    const { body } = await api.ask('GET', '/projects/acme/tokens')
    expect(body.tokens).toHaveLength(1)
    await create('other')
    const elsewhere = await api.ask('POST', '/projects/other/tokens', { label: 'till 1' }, key)
    expect(elsewhere.status).toBe(201)
  })

  it('can have only labels of one line', async () => {
    for (const label of ['a\nb', 'x'.repeat(201), 7, null])
      expect((await api.ask('POST', '/projects/acme/tokens', { label })).status).toBe(400)
    expect((await api.ask('POST', '/projects/acme/tokens', {})).status).toBe(201)
  })
})

describe('The audit log', () => {
  it('has every change with its author, and no token', async () => {
    await create()
    const { id, token } = await tokenOf('acme')
    await api.ask('PATCH', '/projects/acme', { merchant: { name: 'Next' } })
    await api.ask('DELETE', `/projects/acme/tokens/${id}`)
    await api.ask('DELETE', '/projects/acme')
    await create('other')
    const { body, text } = await api.ask('GET', '/audit-log')
    const actor = expect.stringMatching(/^admin-[0-9a-f]{8}$/)
    expect(body.entries).toMatchObject([
      { action: 'project.created', project: 'other' },
      { action: 'project.deleted', project: 'acme' },
      { action: 'token.revoked', project: 'acme', token: id, before: { label: 'till' } },
      { action: 'project.updated', before: { name: merchant.name }, after: { name: 'Next' } },
      { action: 'token.created', project: 'acme', token: id, after: { label: 'till' } },
      { action: 'project.created', project: 'acme', after: merchant, actor, at: ISO },
    ])
    expect(text).not.toContain(token)
    const { body: page } = await api.ask('GET', '/audit-log?project=acme&limit=2')
    expect(page.entries).toEqual(body.entries.slice(1, 3))
    const next = `/audit-log?project=acme&limit=2&cursor=${page.nextCursor}`
    expect((await api.ask('GET', next)).body.entries).toEqual(body.entries.slice(3, 5))
    expect((await api.ask('GET', '/audit-log?project=%00')).status).toBe(400)
    expect((await api.ask('GET', '/audit-log?projcet=acme')).status).toBe(400)
  })

  it('has no entry for refused changes', async () => {
    await create('shop')
    await api.ask('POST', '/projects', { id: 'acme', merchant: {} })
    await api.ask('DELETE', '/projects/none')
    expect((await api.ask('GET', '/audit-log')).body).toEqual({ entries: [] })
  })
})

describe('Without admin tokens', () => {
  it('a gateway serves only the projects of its configuration', async () => {
    const { admin: _admin, ...closed } = OPEN
    const other = await serveAdmin(closed)
    expect((await other.ask('GET', '/projects')).status).toBe(404)
    await other.close()
  })
})
