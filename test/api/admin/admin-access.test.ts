/** Who gets into the admin API, and who does not. */
import { afterEach, describe, expect, it } from '@jest/globals'
import { createGateway } from '../../../src/gateway/gateway.js'
import { hashToken } from '../../../src/shared/crypto/identify-token.js'
import {
  optionsFromEnvironment,
  overrideOptions,
} from '../../../src/gateway/config/read/override.js'
import { problemOf, serveGateway, type GatewayApi } from '../api.js'
import { ADMIN_TOKEN, adminOf, CLOSED, OPEN, PAY_TO, SHOP_TOKEN } from './admin.js'

let api: GatewayApi
afterEach(async () => {
  expectNoSecret(api.log.lines.join())
  await api.close()
})

function expectNoSecret(log: string): void {
  expect(log).not.toContain(ADMIN_TOKEN)
  expect(log).not.toContain(SHOP_TOKEN)
}

const PATHS = [
  ['GET', '/projects'],
  ['POST', '/projects'],
  ['GET', '/projects/shop'],
  ['PATCH', '/projects/shop'],
  ['DELETE', '/projects/shop'],
  ['GET', '/projects/shop/tokens'],
  ['POST', '/projects/shop/tokens'],
  ['DELETE', '/projects/shop/tokens/configuration-1'],
  ['GET', '/audit-log'],
] as const

describe('The admin API', () => {
  it('does not exist without admin tokens', async () => {
    api = await serveGateway(CLOSED)
    for (const [method, path] of PATHS) {
      const { status, headers } = await adminOf(api).ask(method, path)
      expect(status).toBe(404)
      expect(headers.has('www-authenticate')).toBe(false)
    }
  })

  it('answers 404 on paths that are not its own', async () => {
    api = await serveGateway(OPEN)
    for (const path of ['', '/', '/nothing', '/projects/shop/nothing', '/projects//tokens'])
      expect(await adminOf(api).ask('GET', path)).toMatchObject({
        status: 404,
        body: { code: 'not_found' },
      })
    const { status, body } = await adminOf(api).ask('GET', '/projects/%ZZ')
    expect([status, body.code]).toEqual([400, 'invalid_request'])
  })

  it('names the methods of an endpoint', async () => {
    api = await serveGateway(OPEN)
    const put = await adminOf(api).ask('PUT', '/projects/shop', {})
    expect(put).toMatchObject({ status: 405, body: { code: 'method_not_allowed' } })
    expect(put.headers.get('allow')).toBe('GET, HEAD, PATCH, DELETE, OPTIONS')
    const options = await adminOf(api).ask('OPTIONS', '/projects')
    expect(options.status).toBe(204)
    expect(options.headers.get('allow')).toBe('GET, HEAD, POST, OPTIONS')
    expect((await adminOf(api).ask('HEAD', '/projects')).status).toBe(200)
  })

  it('refuses requests without an admin’s token', async () => {
    api = await serveGateway(OPEN)
    const wrong = [
      {},
      { 'X-Project-Identify-Token': SHOP_TOKEN },
      { 'X-Project-Identify-Token': ADMIN_TOKEN },
      { Authorization: `Bearer ${SHOP_TOKEN}` },
      { Authorization: ADMIN_TOKEN },
      { Authorization: `Basic ${ADMIN_TOKEN}` },
      { Authorization: `Bearer ${hashToken(ADMIN_TOKEN)}` },
      { Authorization: `Bearer ${ADMIN_TOKEN}x` },
      { Authorization: 'Bearer' },
    ]
    for (const headers of wrong) {
      const answer = await api.send('GET', '/api/v2/admin/projects', { headers })
      expect(answer.status).toBe(401)
      expect(answer.body).toEqual(problemOf(401, 'unauthorized', 'Unauthorized'))
      expect(answer.headers.get('www-authenticate')).toMatch(/^Bearer /)
      expect(answer.headers.get('cache-control')).toBe('no-store')
      expect(answer.headers.has('access-control-allow-origin')).toBe(false)
    }
    for (const [method, path] of PATHS)
      expect((await api.send(method, `/api/v2/admin${path}`)).status).toBe(401)
  })

  it('slows down guesses of tokens, and lets the operator in from the same address', async () => {
    api = await serveGateway({ ...OPEN, rateLimit: false })
    const statuses = new Map<number, number>()
    // All of them within the minute that is counted, on a slow machine, too.
    for (let round = 0; round < 4; round++) {
      const tries = Array.from({ length: 50 }, (_, index) =>
        adminOf(api, `a-wrong-admin-token-${round}-${index}`).ask('GET', '/projects'),
      )
      for (const { status, headers } of await Promise.all(tries)) {
        statuses.set(status, (statuses.get(status) ?? 0) + 1)
        if (status === 429) expect(Number(headers.get('retry-after'))).toBeGreaterThan(0)
      }
    }
    expect([statuses.get(401), statuses.get(429), statuses.size]).toEqual([30, 170, 2])
    expect((await adminOf(api).ask('GET', '/projects')).status).toBe(200)
  })

  it('counts requests by admin, not with those of projects or of strangers', async () => {
    api = await serveGateway({ ...OPEN, rateLimit: { limit: 2 } })
    const statusOf = async () => (await adminOf(api).ask('GET', '/projects')).status
    expect([await statusOf(), await statusOf(), await statusOf()]).toEqual([200, 200, 429])
    const headers = { 'X-Project-Identify-Token': SHOP_TOKEN }
    const own = await api.send('GET', '/api/v2/merchant/settlements', { headers })
    expect(own.status).toBe(200)
  })

  it('does not let an admin’s token act as a project’s', async () => {
    api = await serveGateway(OPEN)
    for (const headers of [
      { Authorization: `Bearer ${ADMIN_TOKEN}` },
      { 'X-Project-Identify-Token': ADMIN_TOKEN },
    ])
      expect((await api.send('GET', '/api/v2/merchant/settlements', { headers })).status).toBe(401)
  })
})

describe('Admin tokens', () => {
  it('are refused at declaration if they are too short, doubled, or a project’s', async () => {
    api = await serveGateway(OPEN)
    const issuesOf = (tokens: readonly string[]): unknown => {
      try {
        createGateway({ ...CLOSED, admin: { tokens } })
      } catch (error) {
        return (error as { issues: unknown }).issues
      }
      return undefined
    }
    expect(issuesOf(['short', ADMIN_TOKEN, hashToken(ADMIN_TOKEN), SHOP_TOKEN])).toMatchObject([
      { option: 'admin.tokens.0', code: 'invalid_token' },
      { option: 'admin.tokens.2', code: 'duplicate_token' },
      { option: 'admin.tokens.3', code: 'duplicate_token' },
    ])
    expect(issuesOf([])).toMatchObject([{ option: 'admin.tokens', code: 'out_of_range' }])
  })

  it('can come from the environment', async () => {
    const env = {
      X402_PAY_TO: PAY_TO,
      X402_NETWORK: 'base-sepolia',
      X402_RPC_URL: 'http://127.0.0.1:9',
      X402_RELAYER_KEY: `0x${'5e'.repeat(32)}`,
      X402_ADMIN_TOKEN: ADMIN_TOKEN,
    }
    api = await serveGateway(optionsFromEnvironment(env))
    expect((await adminOf(api).ask('GET', '/projects')).status).toBe(200)
  })
})

describe('People with an admin token', () => {
  const ada = { name: 'Ada', role: 'support', token: 'a-token-of-ada-herself' } as const

  it('are refused at declaration if a name, role or token is wrong or doubled', async () => {
    api = await serveGateway(OPEN)
    const issuesOf = (admin: unknown): unknown => {
      try {
        createGateway({ ...CLOSED, admin: admin as { tokens: string[] } })
      } catch (error) {
        return (error as { issues: unknown }).issues
      }
      return undefined
    }
    const people = [
      ada,
      { ...ada, token: 'a-second-token-of-somebody' },
      { ...ada, name: 'Bob' },
      { ...ada, name: 'Shop', token: SHOP_TOKEN },
      { ...ada, name: 'Short', token: 'short' },
    ]
    expect(issuesOf({ people })).toMatchObject([
      { option: 'admin.people.1.name', code: 'invalid_value' },
      { option: 'admin.people.2.token', code: 'duplicate_token' },
      { option: 'admin.people.3.token', code: 'duplicate_token' },
      { option: 'admin.people.4.token', code: 'invalid_token' },
    ])
    const wrong = [
      { ...ada, role: 'root' },
      { ...ada, name: '' },
      { ...ada, name: 'Ada ' },
    ]
    expect(issuesOf({ people: wrong })).toMatchObject([
      { option: 'admin.people.0.role' },
      { option: 'admin.people.1.name' },
      { option: 'admin.people.2.name' },
    ])
    expect(issuesOf({})).toMatchObject([{ option: 'admin.tokens', code: 'missing_option' }])
    for (const payToDelay of ['48', '0h', '-1h', 'two days', '1.5h', '10000d'])
      expect(issuesOf({ people: [ada], payToDelay })).toMatchObject([
        { option: 'admin.payToDelay' },
      ])
    expect(issuesOf({ people: [ada], payToDelay: '48h' })).toBeUndefined()
  })

  it('stay beside a token of the environment, which is an owner’s', async () => {
    const env = { X402_ADMIN_TOKEN: ADMIN_TOKEN }
    const file = { ...CLOSED, admin: { tokens: ['the-token-of-the-file'], people: [ada] } }
    api = await serveGateway(overrideOptions(file, env, { variables: ['X402_DATABASE_URL'] }))
    const statusOf = async (token: string) =>
      (await adminOf(api, token).ask('DELETE', '/projects/nobody')).status
    expect(await statusOf(ADMIN_TOKEN)).toBe(404)
    expect(await statusOf(ada.token)).toBe(403)
    expect(await statusOf('the-token-of-the-file')).toBe(401)
  })

  it('are named by the audit log', async () => {
    const bob = { name: 'Bob Operator', role: 'operator', token: 'a-token-of-bob-himself' } as const
    api = await serveGateway({ ...CLOSED, admin: { tokens: [ADMIN_TOKEN], people: [ada, bob] } })
    await adminOf(api, bob.token).ask('POST', '/projects/shop/tokens', { scopes: ['read'] })
    const { body } = await adminOf(api, ada.token).ask('GET', '/audit-log')
    expect(body.entries).toMatchObject([
      { actor: 'Bob Operator', action: 'token.created', after: { scopes: ['read'] } },
    ])
  })
})
