/** Every endpoint times everybody who may knock: refused or let in, as the table below says. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { adminEndpoints } from '../../../src/api/admin/admin-api.js'
import { merchantEndpoints } from '../../../src/api/admin/merchant-endpoints.js'
import { consoleEndpoints } from '../../../src/api/session/mount-console.js'
import { TOKEN_SCOPES, type TokenScope } from '../../../src/ledger/projects.js'
import { ADMIN_ROLES, type AdminRole } from '../../../src/core/merchants/access.js'
import type { Description } from '../../../src/api/serve/define-endpoint.js'
import { apiEndpoints } from '../../../src/api/gateway-router.js'
import { adminOf, OPEN, type AdminClient } from './admin.js'
import { Browser } from '../session/session.js'
import { serveGateway, type GatewayApi } from '../api.js'

/** Everybody reads in the admin API; who does what else, by method and path. */
const ADMINS: ReadonlyArray<readonly [RegExp, readonly AdminRole[]]> = [
  [/^GET /, ['owner', 'operator', 'support', 'viewer']],
  [/^POST .*\/refunds$/, ['owner', 'operator', 'support']],
  [/^DELETE \/api\/v2\/admin\/projects\/\{id\}$/, ['owner']],
  [/^(POST|PATCH) \/api\/v2\/admin\/projects(\/\{id\})?$/, ['owner', 'operator']],
  [/^(POST|DELETE) \/api\/v2\/admin\/projects\/\{id\}\/tokens/, ['owner', 'operator']],
  [/^(POST|PATCH|DELETE) .*\/webhooks/, ['owner', 'operator']],
  [/^POST .*\/checkouts(\/\{id\}\/cancel)?$/, ['owner', 'operator']],
]

/** The scope that a merchant's token needs; `manage` is all of them. */
const TOKENS: ReadonlyArray<readonly [RegExp, TokenScope | 'manage']> = [
  [/^GET .*\/merchant\/project$/, 'read'],
  [/\/merchant\/(project|tokens)/, 'manage'],
  [/\/api\/v2\/payment\/|\/payment-profile$|\/checkout-prepare$/, 'settle'],
  // The paths of shops' plugins, and payment links.
  [/\/handlers$|\/payment-requirements$|^POST .*\/checkouts/, 'settle'],
  [/^(POST .*\/refunds|GET .*\/refunds\/prepare)$/, 'refund'],
  [/\/webhooks/, 'webhooks'],
  [/^GET .*\/(settlements|refunds|checkouts|overview|revenue|funnel)/, 'read'],
]

const mayCall = (scopes: readonly TokenScope[], scope: TokenScope | 'manage'): boolean =>
  scope === 'manage' ? scopes.length === TOKEN_SCOPES.length : scopes.includes(scope)

const nameOf = ({ method, path }: Pick<Description, 'method' | 'path'>) => `${method} ${path}`

const ofAdmins = adminEndpoints as readonly Description[]
const ofMerchants = [...apiEndpoints, ...(merchantEndpoints as readonly Description[])].filter(
  ({ access }) => access !== 'anyone',
)
const ofSessions = (consoleEndpoints as readonly Description[]).filter(
  ({ access }) => access !== 'anyone',
)

/** Every subset of the scopes but the empty one. */
const SUBSETS = Array.from({ length: 2 ** TOKEN_SCOPES.length - 1 }, (_, index) =>
  TOKEN_SCOPES.filter((_scope, bit) => ((index + 1) >> bit) & 1),
)

let api: GatewayApi & AdminClient
const tokens = new Map<string, string>()

const personToken = (role: AdminRole): string => `a-token-of-the-person-who-is-${role}`
const scopesName = (scopes: readonly string[]): string => scopes.join('+')

beforeAll(async () => {
  const served = await serveGateway({
    ...OPEN,
    rateLimit: false,
    admin: {
      people: ADMIN_ROLES.map((role) => ({ name: `Miss ${role}`, role, token: personToken(role) })),
    },
  })
  api = { ...served, ...adminOf(served, personToken('operator')) }
  for (const scopes of SUBSETS) {
    const created = await api.ask('POST', '/projects/shop/tokens', { scopes })
    if (created.status !== 201) throw new Error(`No token was made: ${created.text}`)
    tokens.set(scopesName(scopes), created.body.token as string)
  }
})
afterAll(() => api.close())

/** Whether an endpoint lets a request through to its handler: ids and bodies are wrong on purpose. */
async function isLetIn(
  endpoint: Pick<Description, 'method' | 'path'>,
  headers: Record<string, string>,
): Promise<boolean> {
  const path = endpoint.path.replaceAll(/\{\w+\}/g, 'nobody')
  const response = await fetch(api.url + path, {
    method: endpoint.method,
    headers: { 'Content-Type': 'application/json', ...headers },
    ...(endpoint.method !== 'GET' && { body: '{"wrong":1}' }),
  })
  const text = await response.text()
  if (response.status !== 403) {
    expect([response.status, endpoint.path]).not.toEqual([401, endpoint.path])
    return true
  }
  expect(JSON.parse(text)).toMatchObject({ code: 'forbidden' })
  return false
}

const ruleOf = <T>(rules: ReadonlyArray<readonly [RegExp, T]>, name: string): T => {
  const rule = rules.find(([pattern]) => pattern.test(name))
  if (rule === undefined) throw new Error(`This test has no rule for ${name}: add one.`)
  return rule[1]
}

describe('access to the admin API', () => {
  it.each(ofAdmins.map((one) => [nameOf(one), one] as const))('%s', async (name, endpoint) => {
    expect(endpoint.access).toBe('admin')
    const allowed = ruleOf(ADMINS, name)
    for (const role of ADMIN_ROLES) {
      const byToken = { Authorization: `Bearer ${personToken(role)}` }
      expect([role, await isLetIn(endpoint, byToken)]).toEqual([role, allowed.includes(role)])
      const browser = new Browser(api)
      expect((await browser.signIn(personToken(role))).status).toBe(200)
      const bySession = { Cookie: browser.cookie!, Origin: api.url }
      expect([role, await isLetIn(endpoint, bySession)]).toEqual([role, allowed.includes(role)])
    }
    for (const token of tokens.values()) {
      const asked = { method: endpoint.method, headers: { 'X-Project-Identify-Token': token } }
      const { status } = await fetch(api.url + endpoint.path, asked)
      expect([name, status]).toEqual([name, status === 429 ? 429 : 401])
    }
  })
})

describe('access to the API of merchants', () => {
  it.each(ofMerchants.map((one) => [nameOf(one), one] as const))('%s', async (name, endpoint) => {
    const scope = ruleOf(TOKENS, name)
    for (const scopes of SUBSETS) {
      const token = tokens.get(scopesName(scopes))!
      const isAllowed = await isLetIn(endpoint, { 'X-Project-Identify-Token': token })
      expect([scopes, isAllowed]).toEqual([scopes, mayCall(scopes, scope)])
    }
    for (const role of ADMIN_ROLES) {
      const headers = { Authorization: `Bearer ${personToken(role)}` }
      const { status } = await fetch(api.url + endpoint.path, { method: endpoint.method, headers })
      expect(status).toBe(401)
    }
  })

  it('is the same in a session of the console, which a token that may not read cannot open', async () => {
    for (const scopes of SUBSETS) {
      const browser = new Browser(api)
      const signedIn = await browser.signIn(tokens.get(scopesName(scopes))!)
      expect(signedIn.status).toBe(scopes.includes('read') ? 200 : 403)
      if (signedIn.status === 403) {
        expect([signedIn.body.code, browser.cookie]).toEqual(['forbidden', undefined])
        continue
      }
      expect(signedIn.body.scopes).toEqual(
        scopes.length === TOKEN_SCOPES.length ? [...scopes, 'manage'] : scopes,
      )
      for (const endpoint of ofMerchants.filter(({ access }) => access === 'merchant')) {
        const headers = { Cookie: browser.cookie!, Origin: api.url }
        const expected = mayCall(scopes, ruleOf(TOKENS, nameOf(endpoint)))
        expect([scopes, nameOf(endpoint), await isLetIn(endpoint, headers)]).toEqual([
          ...[scopes, nameOf(endpoint), expected],
        ])
      }
    }
  })
})

describe('the table of endpoints', () => {
  it('is for nobody without a token or session, unless an endpoint is for anyone', async () => {
    for (const { method, path } of [...ofAdmins, ...ofMerchants, ...ofSessions]) {
      const { status } = await fetch(api.url + path.replaceAll(/\{\w+\}/g, 'nobody'), { method })
      expect([path, status]).toEqual([path, status === 429 ? 429 : 401])
    }
  })

  it('tells who was refused, and who may', async () => {
    const refused = await adminOf(api, personToken('support')).ask('DELETE', '/projects/shop')
    expect(refused).toMatchObject({ status: 403, body: { code: 'forbidden' } })
    expect(refused.body.detail).toContain('Miss support has the role support. An owner may do this')
    const token = tokens.get('read')!
    const settle = await api.post(
      '/api/v2/payment/settle',
      {},
      { 'X-Project-Identify-Token': token },
    )
    expect(settle).toMatchObject({ status: 403, body: { code: 'forbidden' } })
    expect(settle.body.detail).toContain("the scope 'settle'")
  })
})
