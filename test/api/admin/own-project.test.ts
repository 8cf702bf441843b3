/** What a merchant sees and changes of its own project: settings, branding, pause and tokens. */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import type { GatewayApi } from '../api.js'
import { PAY_TO, serveAdmin, SHOP_TOKEN, type AdminClient } from './admin.js'
import { Browser } from '../session/session.js'

const MERCHANT = '/api/v2/merchant'
const merchant = { name: 'Acme', payTo: PAY_TO, currency: 'USD' }
const PICTURE = 'data:image/png;base64,iVBORw0KGgo='

let api: GatewayApi & AdminClient
let token: string

beforeEach(async () => {
  api = await serveAdmin()
  await api.ask('POST', '/projects', { id: 'acme', merchant })
  token = (await api.ask('POST', '/projects/acme/tokens', { label: 'till' })).body.token
})
afterEach(() => api.close())

/** Asks as the merchant. */
const ask = (method: string, path: string, body?: unknown, own = token) =>
  api.send(method, MERCHANT + path, {
    headers: {
      'X-Project-Identify-Token': own,
      ...(body !== undefined && { 'Content-Type': 'application/json' }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })

const change = (body: unknown) => ask('PATCH', '/project', body)

describe('The own settings', () => {
  it('are what the operator sees, of the own project alone', async () => {
    const own = await ask('GET', '/project')
    expect([own.status, own.body]).toEqual([200, (await api.ask('GET', '/projects/acme')).body])
    expect(own.headers.get('etag')).toBe('"1"')
    expect((await ask('GET', '/project', undefined, SHOP_TOKEN)).body).toMatchObject({
      ...{ id: 'shop', source: 'configuration', paused: false },
    })
    expect((await ask('GET', '/project', undefined, 'x402_a-token-of-nobody')).status).toBe(401)
  })

  it('can be seen and changed with a session, from pages of the gateway only', async () => {
    const browser = new Browser(api)
    expect((await browser.signIn(token)).status).toBe(200)
    const body = { merchant: { name: 'Acme & Sons' } }
    const changed = await browser.send('PATCH', `${MERCHANT}/project`, { body })
    expect(changed).toMatchObject({ status: 200, body: { merchant: { name: 'Acme & Sons' } } })
    const foreign = await browser.send('PATCH', `${MERCHANT}/project`, {
      body,
      headers: { Origin: 'https://evil.example', 'Sec-Fetch-Site': 'cross-site' },
    })
    expect(foreign).toMatchObject({ status: 403, body: { code: 'cross_origin' } })
  })

  it('let the merchant change its name and look, member by member', async () => {
    const branding = { accent: '#0b5d4d', logo: PICTURE, texts: { heading: 'Welcome' } }
    const changed = await change({ merchant: { name: 'Next', branding } })
    expect(changed.body).toMatchObject({
      version: 2,
      merchant: { ...merchant, name: 'Next', branding },
    })
    const less = await change({
      merchant: { branding: { accent: null, texts: { paid: 'Thanks' } } },
    })
    expect(less.body.merchant.branding).toEqual({
      ...{ logo: PICTURE, texts: { heading: 'Welcome', paid: 'Thanks' } },
    })
    const none = await change({ merchant: { branding: null } })
    expect(none.body.merchant).toEqual({ ...merchant, name: 'Next' })
    const { body } = await api.ask('GET', '/audit-log?project=acme&limit=1')
    expect(body.entries).toMatchObject([
      { actor: expect.stringMatching(/^merchant tok_\w+ \(till\)$/), action: 'project.updated' },
    ])
  })

  it.each([
    [{ merchant: { payTo: `0x${'1'.repeat(40)}` } }, 'merchant.payTo'],
    [{ merchant: { currency: 'EUR' } }, 'merchant.currency'],
    [{ merchant: { accepts: [] } }, 'merchant.accepts'],
    [{ merchant: { redeemWithoutProof: 'never' } }, 'merchant.redeemWithoutProof'],
    [{ merchant: { nmae: 'x' } }, 'merchant.nmae'],
    [{ merchant: { name: 'a\u0000b' } }, 'merchant.name'],
    [{ merchant: { branding: { accent: 'red' } } }, 'merchant.branding.accent'],
    [{ merchant: { branding: { accent: '#fff}body{display:none' } } }, 'merchant.branding.accent'],
    [{ merchant: { branding: { logo: '/logout' } } }, 'merchant.branding.logo'],
    [{ merchant: { branding: { logo: 'https://evil.example/x.png' } } }, 'merchant.branding.logo'],
    [{ merchant: { branding: { logo: 'data:text/html,<b>' } } }, 'merchant.branding.logo'],
    [{ merchant: { branding: { logo: PICTURE.padEnd(20_000, 'A') } } }, 'merchant.branding'],
    [{ merchant: { branding: { logo: PICTURE.padEnd(16_384, 'A') } } }, 'merchant.branding'],
    [{ merchant: { branding: { texts: { haeding: 'x' } } } }, 'merchant.branding.texts.haeding'],
    [{ merchant: { branding: { css: 'x' } } }, 'merchant.branding.css'],
    [{ paused: 'yes' }, 'paused'],
    [{ pausedBy: 'merchant' }, 'pausedBy'],
    [{}, ''],
  ])('refuse %j', async (body, path) => {
    const refused = await change(body)
    expect([refused.status, refused.body.code]).toEqual([400, 'invalid_request'])
    expect(refused.body.errors.map((one: { path: string }) => one.path)).toContain(path)
    expect((await ask('GET', '/project')).body).toMatchObject({ version: 1, merchant })
  })

  it('are changed in the configuration if they come from there', async () => {
    const refused = { status: 409, body: { code: 'project_configured' } }
    const configured = (body: object) => ask('PATCH', '/project', body, SHOP_TOKEN)
    expect(await configured({ paused: true })).toMatchObject(refused)
    expect(await configured({ merchant: { name: 'x' } })).toMatchObject(refused)
  })

  it('are changed 30 times a minute at most, because all gateways read them again', async () => {
    const statuses: number[] = []
    for (let turn = 0; turn < 31; turn++)
      statuses.push((await change({ paused: turn % 2 === 0 })).status)
    expect(statuses).toEqual([...Array(30).fill(200), 429])
    expect((await ask('GET', '/project')).status).toBe(200)
    expect((await api.ask('PATCH', '/projects/acme', { paused: true })).status).toBe(200)
  })
})

describe('A pause', () => {
  it('is the merchant’s own to begin and to end', async () => {
    expect((await change({ paused: true })).body).toMatchObject({
      ...{ paused: true, pausedBy: 'merchant' },
    })
    expect((await api.ask('GET', '/projects')).body.projects[1]).toMatchObject({ paused: true })
    expect((await change({ paused: false })).body).toMatchObject({ paused: false })
    await change({ paused: true })
    const resumed = await api.ask('PATCH', '/projects/acme', { paused: false })
    expect(resumed.body).toMatchObject({ paused: false })
    expect(resumed.body).not.toHaveProperty('pausedBy')
  })

  it('of the operator is ended by the operator only', async () => {
    await api.ask('PATCH', '/projects/acme', { paused: true })
    expect(await change({ paused: false })).toMatchObject({
      status: 409,
      body: { code: 'merchant_paused', detail: expect.stringMatching(/only the operator/) },
    })
    // Nor does the merchant make it its own.
    expect((await change({ paused: true })).body).toMatchObject({ pausedBy: 'operator' })
    expect((await change({ merchant: { name: 'x' } })).body).toMatchObject({ pausedBy: 'operator' })
    const { body } = await api.ask('PATCH', '/projects/acme', { merchant: { name: 'y' } })
    expect(body).toMatchObject({ paused: true, pausedBy: 'operator' })
    await api.ask('PATCH', '/projects/acme', { paused: false })
    const log = await api.ask('GET', '/audit-log?limit=1')
    expect(log.body.entries[0]).toMatchObject({ before: { pausedBy: 'operator' } })
    expect(log.body.entries[0].after).not.toHaveProperty('pausedBy')
  })
})

describe('The own tokens', () => {
  it('are rotated without a gap, and written to the audit log', async () => {
    const { body } = await ask('GET', '/tokens')
    expect(body.tokens).toMatchObject([{ label: 'till', source: 'database' }])
    const made = await ask('POST', '/tokens', { label: 'till' })
    expect(made.status).toBe(201)
    const status = async (one: string) => (await ask('GET', '/project', undefined, one)).status
    expect([await status(token), await status(made.body.token)]).toEqual([200, 200])
    const old = body.tokens[0].id
    expect((await ask('DELETE', `/tokens/${old}`, undefined, made.body.token)).status).toBe(204)
    expect([await status(token), await status(made.body.token)]).toEqual([401, 200])
    const log = await api.ask('GET', '/audit-log?project=acme&limit=2')
    expect(log.body.entries).toMatchObject([
      { actor: `merchant ${made.body.id} (till)`, action: 'token.revoked', token: old },
      { actor: `merchant ${old} (till)`, action: 'token.created', token: made.body.id },
    ])
    expect(log.text).not.toContain(made.body.token)
  })

  it('are nobody else’s', async () => {
    const { id } = (await api.ask('POST', '/projects/shop/tokens', {})).body
    expect((await ask('DELETE', `/tokens/${id}`)).status).toBe(404)
    expect((await ask('GET', '/tokens')).text).not.toContain(id)
    const own = await ask('GET', '/tokens', undefined, SHOP_TOKEN)
    expect(own.body.tokens).toMatchObject([{ id: 'configuration-1' }, { id }])
    const configured = await ask('DELETE', '/tokens/configuration-1', undefined, SHOP_TOKEN)
    expect(configured).toMatchObject({ status: 409, body: { code: 'project_configured' } })
  })

  it('are created once for an Idempotency-Key, in a scope of the project', async () => {
    const create = (own: string) =>
      api.send('POST', `${MERCHANT}/tokens`, {
        headers: {
          ...{ 'X-Project-Identify-Token': own, 'Content-Type': 'application/json' },
          'Idempotency-Key': 'the-first',
        },
        body: '{}',
      })
    const first = await create(token)
    const again = await create(token)
    expect(again).toMatchObject({
      status: 410,
      body: { code: 'answer_not_kept', id: first.body.id },
    })
    expect((await create(SHOP_TOKEN)).status).toBe(201)
  })

  it('are 20 in use at most', async () => {
    for (let index = 1; index < 20; index++)
      expect((await ask('POST', '/tokens', {})).status).toBe(201)
    const refused = await ask('POST', '/tokens', {})
    expect(refused).toMatchObject({ status: 409, body: { code: 'too_many_tokens' } })
    // The operator may make another.
    expect((await api.ask('POST', '/projects/acme/tokens', {})).status).toBe(201)
  })
})
