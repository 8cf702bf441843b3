/** Sessions of the console, on every ledger. */
import { afterEach, describe, expect, it } from '@jest/globals'
import { join } from 'node:path'
import { createMemoryLedger } from '../../../src/ledger/memory-ledger.js'
import type { LedgerStore } from '../../../src/ledger/index.js'
import { openPostgresLedger } from '../../../src/ledger/postgres-ledger.js'
import { openSqliteLedger } from '../../../src/ledger/sqlite-ledger.js'
import { serveGateway, type GatewayApi, type Mounting } from '../api.js'
import { closedBy, temporaryFolder, useCleanup, type Cleanup } from '../../support/cleanup.js'
import { createSchema, findPostgres } from '../../support/postgres.js'
import { until } from '../../support/until.js'
import { ADMIN_TOKEN, adminOf, OPEN, PAY_TO, SHOP_TOKEN } from '../admin/admin.js'
import { Browser } from './session.js'

const HOUR_MS = 3_600_000

/** Opens a ledger; the same database each time. */
type OpenLedger = () => LedgerStore

describeSessions('memory', () => {
  const ledger = createMemoryLedger()
  return () => ledger
})
describeSessions('SQLite', (toEnd) => {
  const file = join(temporaryFolder(toEnd), 'ledger.db')
  return () => openSqliteLedger(file)
})
const root = await findPostgres()
if (root !== undefined)
  describeSessions('PostgreSQL', async (toEnd) => {
    const schema = await createSchema(root)
    toEnd.push(() => schema.drop())
    return () => openPostgresLedger(schema.url)
  })

function describeSessions(
  name: string,
  prepare: (toEnd: Cleanup) => OpenLedger | Promise<OpenLedger>,
): void {
  describe(`sessions of the console in ${name}`, () => {
    const toEnd = useCleanup()
    const apis: GatewayApi[] = []
    let clock = Date.now()
    let openLedger: OpenLedger | undefined
    afterEach(() => {
      for (const { log } of apis.splice(0))
        for (const token of [ADMIN_TOKEN, SHOP_TOKEN]) expect(log.lines.join()).not.toContain(token)
      openLedger = undefined
      clock = Date.now()
    })

    const serve = async (options = OPEN, mounting: Mounting = {}): Promise<GatewayApi> => {
      openLedger ??= await prepare(toEnd)
      const ledger = openLedger()
      const api = await serveGateway({ ...options, ledger, now: () => clock }, mounting)
      apis.push(api)
      toEnd.push(() => api.close())
      return api
    }
    const statusOf = async (browser: Browser, path: string): Promise<number> =>
      (await browser.send('GET', path)).status
    const ADMIN_PATH = '/api/v2/admin/projects'
    const SHOP_PATH = '/api/v2/merchant/settlements'

    it('give an admin token access to the admin API', async () => {
      const browser = new Browser(await serve())
      expect((await browser.send('GET', '/console/session')).status).toBe(401)
      const signedIn = await browser.signIn(ADMIN_TOKEN)
      expect(signedIn).toMatchObject({
        status: 200,
        body: {
          role: 'admin',
          name: expect.stringMatching(/^admin-[0-9a-f]{8}$/),
          expiresAt: new Date(clock + 2 * HOUR_MS).toISOString(),
          version: expect.stringMatching(/^\d+\.\d+\.\d+/),
          networks: [
            {
              network: 'eip155:84532',
              chainId: 84532,
              name: 'Base Sepolia',
              testnet: true,
              explorerUrl: 'https://sepolia.basescan.org',
              assets: [{ symbol: 'USDC', decimals: 6, refundable: true }],
            },
          ],
        },
      })
      expect(signedIn.text).not.toContain(ADMIN_TOKEN)
      expect(await browser.send('GET', '/console/session')).toMatchObject({
        status: 200,
        body: signedIn.body,
      })
      expect(await statusOf(browser, ADMIN_PATH)).toBe(200)
      expect(await statusOf(browser, SHOP_PATH)).toBe(401)
      const body = { id: 'acme', merchant: { payTo: PAY_TO } }
      expect((await browser.send('POST', ADMIN_PATH, { body })).status).toBe(201)
      const log = await browser.send('GET', '/api/v2/admin/audit-log')
      expect(log.body.entries).toMatchObject([{ actor: signedIn.body.name }])
    })

    it('give a project’s token access to the merchant API of that project only', async () => {
      const browser = new Browser(await serve())
      const { status, body } = await browser.signIn(SHOP_TOKEN)
      expect([status, body.role, body.name, body.project]).toEqual([
        200,
        'merchant',
        'Configured',
        'shop',
      ])
      expect(await statusOf(browser, SHOP_PATH)).toBe(200)
      expect(await statusOf(browser, ADMIN_PATH)).toBe(401)
    })

    it('keep no secret in the database', async () => {
      const api = await serve()
      const browser = new Browser(api)
      await browser.signIn(ADMIN_TOKEN)
      const secret = browser.cookie!.split('=')[1]!
      expect(secret).toMatch(/^[\w-]{43}$/)
      const { sessions } = closedBy(toEnd, openLedger!())
      expect(await sessions.find(secret)).toBeUndefined()
    })

    it('get a new secret at each sign-in, after which the old one is invalid', async () => {
      const api = await serve()
      const browser = new Browser(api)
      await browser.signIn(SHOP_TOKEN)
      const fixed = browser.cookie!
      await browser.signIn(ADMIN_TOKEN)
      expect(browser.cookie).not.toBe(fixed)
      const attacker = new Browser(api)
      attacker.cookie = fixed
      expect(await statusOf(attacker, ADMIN_PATH)).toBe(401)
      expect(await statusOf(attacker, SHOP_PATH)).toBe(401)
      expect(await statusOf(browser, ADMIN_PATH)).toBe(200)
    })

    it('never use a secret that somebody else has chosen', async () => {
      const api = await serve()
      const browser = new Browser(api)
      const chosen = `x402-console=${'A'.repeat(43)}`
      browser.cookie = chosen
      expect((await browser.signIn(ADMIN_TOKEN)).status).toBe(200)
      expect(browser.cookie).not.toBe(chosen)
      const attacker = new Browser(api)
      attacker.cookie = chosen
      expect(await statusOf(attacker, ADMIN_PATH)).toBe(401)
    })

    it('end after twelve hours, however much they are used', async () => {
      const browser = new Browser(await serve())
      await browser.signIn(ADMIN_TOKEN)
      const start = clock
      for (let hours = 1; hours < 12; hours++) {
        clock = start + hours * HOUR_MS
        expect(await statusOf(browser, ADMIN_PATH)).toBe(200)
      }
      const { body } = await browser.send('GET', '/console/session')
      expect(body.expiresAt).toBe(new Date(start + 12 * HOUR_MS).toISOString())
      clock = start + 12 * HOUR_MS
      expect(await statusOf(browser, ADMIN_PATH)).toBe(401)
    })

    it('end after two hours without a request', async () => {
      const browser = new Browser(await serve())
      await browser.signIn(ADMIN_TOKEN)
      clock += 2 * HOUR_MS - 1
      expect(await statusOf(browser, ADMIN_PATH)).toBe(200)
      clock += 2 * HOUR_MS - 1
      expect(await statusOf(browser, ADMIN_PATH)).toBe(200)
      clock += 2 * HOUR_MS
      expect(await statusOf(browser, ADMIN_PATH)).toBe(401)
    })

    it('end at sign-out, which removes the cookie', async () => {
      const api = await serve()
      const browser = new Browser(api)
      await browser.signIn(ADMIN_TOKEN)
      const thief = new Browser(api)
      thief.cookie = browser.cookie
      const out = await browser.send('DELETE', '/console/session')
      expect([out.status, out.text, browser.cookie]).toEqual([204, '', undefined])
      expect(await statusOf(thief, ADMIN_PATH)).toBe(401)
      expect((await browser.send('DELETE', '/console/session')).status).toBe(204)
    })

    it('end when their token is revoked', async () => {
      const api = await serve()
      const admin = adminOf(api)
      await admin.ask('POST', '/projects', { id: 'acme', merchant: { payTo: PAY_TO } })
      const make = async (label: string) =>
        (await admin.ask('POST', '/projects/acme/tokens', { label })).body
      const [first, second] = [await make('first'), await make('second')]
      const [one, other] = [new Browser(api), new Browser(api)]
      expect((await one.signIn(first.token)).status).toBe(200)
      expect((await other.signIn(second.token)).status).toBe(200)
      await admin.ask('DELETE', `/projects/acme/tokens/${first.id}`)
      expect(await statusOf(one, SHOP_PATH)).toBe(401)
      expect((await one.send('GET', '/console/session')).status).toBe(401)
      expect((await one.signIn(first.token)).status).toBe(401)
      expect(await statusOf(other, SHOP_PATH)).toBe(200)
      await admin.ask('DELETE', '/projects/acme')
      expect(await statusOf(other, SHOP_PATH)).toBe(401)
    })

    it('drop the least recently used one when a token opens too many', async () => {
      const api = await serve()
      const first = new Browser(api)
      await first.signIn(ADMIN_TOKEN)
      const merchant = new Browser(api)
      await merchant.signIn(SHOP_TOKEN)
      const second = new Browser(api)
      clock += 60_000
      await second.signIn(ADMIN_TOKEN)
      for (let count = 0; count < 19; count++) {
        clock += 60_000
        await new Browser(api).signIn(ADMIN_TOKEN)
      }
      expect(await statusOf(first, ADMIN_PATH)).toBe(401)
      expect(await statusOf(second, ADMIN_PATH)).toBe(200)
      expect(await statusOf(merchant, SHOP_PATH)).toBe(200)
    })

    if (name === 'memory') return

    it('are valid at every gateway until one gateway ends them', async () => {
      const [one, other] = [await serve(), await serve()]
      const here = new Browser(one)
      await here.signIn(ADMIN_TOKEN)
      const there = new Browser(other)
      there.cookie = here.cookie
      expect(await statusOf(there, ADMIN_PATH)).toBe(200)
      await there.send('DELETE', '/console/session')
      expect(await statusOf(here, ADMIN_PATH)).toBe(401)
    })

    it('survive a restart unless their admin token has left the configuration', async () => {
      const browser = new Browser(await serve())
      await browser.signIn(ADMIN_TOKEN)
      const { cookie } = browser
      const again = new Browser(await serve())
      again.cookie = cookie
      expect(await statusOf(again, ADMIN_PATH)).toBe(200)
      const changed = await serve({ ...OPEN, admin: { tokens: ['another-admin-token'] } })
      const late = new Browser(changed)
      late.cookie = cookie
      // 503 while it has not read its projects: it may be one of their tokens.
      await until(async () => (await statusOf(late, ADMIN_PATH)) !== 503)
      expect(await statusOf(late, ADMIN_PATH)).toBe(401)
    })

    it('end at other gateways, too, when their token is revoked', async () => {
      const [one, other] = [await serve(), await serve()]
      const admin = adminOf(one)
      await admin.ask('POST', '/projects', { id: 'acme', merchant: { payTo: PAY_TO } })
      const { id, token } = (await admin.ask('POST', '/projects/acme/tokens', {})).body
      const browser = new Browser(other)
      const headers = { 'X-Project-Identify-Token': token }
      await until(async () => (await other.send('GET', SHOP_PATH, { headers })).status === 200)
      expect((await browser.signIn(token)).status).toBe(200)
      await admin.ask('DELETE', `/projects/acme/tokens/${id}`)
      await until(async () => (await statusOf(browser, SHOP_PATH)) === 401)
    })
  })
}
