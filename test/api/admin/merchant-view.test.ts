/** What the session of a merchant sees of a ledger that has others' payments as well, and of its downloads. */
import { once } from 'node:events'
import { get as httpGet, type IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { Database } from '../../support/sqlite.js'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { LedgerError } from '../../../src/shared/errors.js'
import { recordId, type LedgerStore } from '../../../src/ledger/index.js'
import { openPostgresLedger } from '../../../src/ledger/postgres-ledger.js'
import { openSqliteLedger } from '../../../src/ledger/sqlite-ledger.js'
import { newEntry, steps } from '../../support/ledger-entries.js'
import { serveGateway, type GatewayApi } from '../api.js'
import { temporaryFolder, type Cleanup, useCleanup, closedBy } from '../../support/cleanup.js'
import { POSTGRES, SQLITE, type SqlDialect } from '../../../src/ledger/engine/dialect.js'
import { fillStatement } from '../../support/fill-ledger.js'
import { patchedLedger } from '../../support/patched-ledger.js'
import { createSchema, findPostgres } from '../../support/postgres.js'
import { until } from '../../support/until.js'
import { ADMIN_TOKEN, OPEN, PAY_TO, SHOP_TOKEN } from './admin.js'
import { Browser } from '../session/session.js'

const OTHER_TOKEN = 'a-project-token-of-another'
const MERCHANT = '/api/v2/merchant'

/** Payments of each project: more than two pages of what a download reads at once. */
const COUNT = 1100

/** A ledger, and a way to write into its database. */
interface Place {
  readonly ledger: LedgerStore
  readonly dialect: SqlDialect
  readonly execute: (statement: string) => Promise<unknown>
}

describeView('SQLite', async (toEnd) => {
  const file = join(temporaryFolder(toEnd), 'ledger.db')
  const ledger = openSqliteLedger(file)
  await ledger.payments.listSubmitted()
  const database = closedBy(toEnd, new Database(file))
  return { ledger, dialect: SQLITE, execute: async (statement) => database.exec(statement) }
})
const root = await findPostgres()
if (root !== undefined)
  describeView('PostgreSQL', async (toEnd) => {
    const schema = await createSchema(root)
    toEnd.push(() => schema.drop())
    const ledger = openPostgresLedger(schema.url)
    await ledger.payments.listSubmitted()
    return { ledger, dialect: POSTGRES, execute: (statement) => schema.execute(statement) }
  })

function describeView(name: string, prepare: (toEnd: Cleanup) => Promise<Place>): void {
  describe(`a merchant who is signed in at a gateway with a ledger in ${name}`, () => {
    const toEnd = useCleanup(afterAll)
    let api: GatewayApi
    let shop: Browser
    let other: Browser
    /** Runs before each page of a list but the first. */
    let beforePage = async (): Promise<void> => undefined
    const forged = newEntry({
      project: 'shop',
      details: { resource: '=HYPERLINK("http://evil")', reference: '@SUM(1,2)', method: '+GET' },
    })
    beforeAll(async () => {
      const { ledger: store, dialect, execute } = await prepare(toEnd)
      const ledger = patchedLedger(store, {
        async list(query) {
          if (query.after !== undefined) await beforePage()
          return store.payments.list(query)
        },
      })
      await execute(fillStatement(dialect, { count: COUNT, project: 'shop' }))
      await execute(fillStatement(dialect, { count: COUNT, project: 'other', start: COUNT + 1 }))
      await steps.failed(ledger, forged)
      const others = { id: 'other', tokens: [OTHER_TOKEN], merchant: { payTo: PAY_TO } }
      const projects = [...OPEN.projects!, others]
      const webhooks = { allowPrivate: true }
      api = await serveGateway({ ...OPEN, projects, webhooks, ledger, rateLimit: false })
      toEnd.push(() => api.close())
      ;[shop, other] = [new Browser(api), new Browser(api)]
      expect((await shop.signIn(SHOP_TOKEN)).status).toBe(200)
      expect((await other.signIn(OTHER_TOKEN)).status).toBe(200)
    })

    const get = (path: string, browser = shop) => browser.send('GET', MERCHANT + path)

    it('sees no other project’s data by any id or cursor', async () => {
      const theirs = await get('/settlements?limit=100', other)
      const [{ id }] = theirs.body.settlements
      const webhook = await other.send('POST', `${MERCHANT}/webhooks`, {
        body: { url: 'http://127.0.0.1:9/hook' },
      })
      expect(webhook.status).toBe(201)
      for (const path of [
        `/settlements/${id}`,
        `/settlements/${id}/refunds`,
        `/settlements/${id}/refunds/prepare`,
        `/settlements/${id}/refunds/${id}`,
        `/webhooks/${webhook.body.id}`,
        `/webhooks/${webhook.body.id}/deliveries`,
      ])
        expect([path, (await get(path)).status]).toEqual([path, 404])
      for (const [method, path] of [
        ['PATCH', ''],
        ['DELETE', ''],
        ['POST', '/rotate-secret'],
        ['POST', '/test'],
      ] as const) {
        const body = method === 'DELETE' ? undefined : { events: ['payment.settled'] }
        const answer = await shop.send(method, `${MERCHANT}/webhooks/${webhook.body.id}${path}`, {
          ...(body && { body }),
        })
        expect([method, path, answer.status]).toEqual([method, path, 404])
      }
      const { nextCursor } = theirs.body
      const page = await get(`/settlements?limit=100&cursor=${nextCursor}`)
      const ownIds = new Set((await idsOf(shop)).keys())
      expect(page.body.settlements.length).toBeGreaterThan(0)
      for (const one of page.body.settlements) expect(ownIds.has(one.id)).toBe(true)
      for (const query of ['settlements', 'overview', 'revenue', 'funnel'])
        expect((await get(`/${query}?project=other`)).status).toBe(400)
      expect((await get('/webhooks')).body.webhooks).toEqual([])
    })

    it('cannot use the admin API', async () => {
      for (const path of [
        'projects',
        'projects/other',
        'projects/other/tokens',
        'settlements',
        'settlements.csv?project=other',
        'overview',
        'relayers',
        'networks',
        'audit-log',
      ])
        expect((await shop.send('GET', `/api/v2/admin/${path}`)).status).toBe(401)
    })

    it('downloads everything in the list, to the last page and unit', async () => {
      const listed = await idsOf(shop)
      const { rows } = await csvOf('', shop)
      expect(rows).toHaveLength(COUNT + 1)
      expect(new Set(rows.map(({ id }) => id))).toEqual(new Set(listed.keys()))
      for (const { id, units, project } of rows) {
        expect(units).toBe(listed.get(id ?? ''))
        expect(project).toBe('shop')
      }
      const from = '2020-01-01'
      const { body } = await get(`/revenue?by=asset&from=${recentDay()}`)
      const settled = (await csvOf(`?status=settled&from=${from}`, shop)).rows
      const sum = settled.reduce((total, { units }) => total + BigInt(units ?? 0), 0n)
      expect(sum.toString()).toBe(body.revenue[0].amount)
      expect((await csvOf('?status=failed', shop)).rows).toHaveLength(1)
      expect((await csvOf('?reference=nothing', shop)).rows).toEqual([])
    })

    it('downloads no cell that a spreadsheet computes', async () => {
      const { text } = await csvOf('?status=failed', shop)
      expect(text).toContain(recordId(forged))
      expect(text).toContain(`"'=HYPERLINK(""http://evil"")"`)
      expect(text).toContain(`"'@SUM(1,2)"`)
      expect(text).toContain(`'+GET`)
    })

    it('cannot download all projects’ payments in one file, as an operator can', async () => {
      const admin = new Browser(api)
      expect((await admin.signIn(ADMIN_TOKEN)).status).toBe(200)
      const all = await admin.send('GET', '/api/v2/admin/settlements.csv')
      expect(all.text.split('\r\n')).toHaveLength(2 * COUNT + 3)
    })

    it('can run two downloads at once, and an abandoned one makes room', async () => {
      // The second page of the first waits, and the others wait for their turns.
      let letGo = (): void => undefined
      beforePage = () => new Promise<void>((resolve) => (letGo = resolve))
      const first = await openDownload()
      const others = [openDownload(), openDownload()]
      expect((await Promise.race(others)).statusCode).toBe(429)
      first.destroy()
      beforePage = async () => undefined
      letGo()
      const opened = await Promise.all(others)
      expect(new Set(opened.map(({ statusCode }) => statusCode))).toEqual(new Set([200, 429]))
      await until(async () => (await get('/settlements.csv')).status === 200)
      for (const response of opened) response.destroy()
      expect(api.log.lines.filter((line) => line.includes('download'))).toEqual([])
    })

    it('gets an aborted download, not a short file, when the ledger goes away', async () => {
      beforePage = async () => {
        throw new LedgerError('ledger_unavailable', 'The ledger’s database did not answer.')
      }
      const response = await openDownload()
      const ended = new Promise((resolve) => response.on('end', () => resolve('complete')))
      const cut = new Promise((resolve) => response.on('error', () => resolve('cut')))
      response.resume()
      expect(await Promise.race([ended, cut])).toBe('cut')
      const isLogged = (): boolean => api.log.lines.some((line) => line.includes('download'))
      await until(isLogged)
      beforePage = async () => undefined
      await until(async () => (await get('/settlements.csv')).status === 200)
    })

    async function openDownload(): Promise<IncomingMessage> {
      const headers = { Cookie: shop.cookie! }
      const request = httpGet(`${api.url}${MERCHANT}/settlements.csv`, { headers, agent: false })
      const [response] = (await once(request, 'response')) as [IncomingMessage]
      request.on('error', () => undefined)
      response.on('error', () => undefined)
      return response
    }

    /** Amounts of all settlements of the list, by their ids. */
    async function idsOf(browser: Browser): Promise<Map<string, string>> {
      const found = new Map<string, string>()
      for (let cursor = ''; ;) {
        const { body } = await get(`/settlements?limit=100${cursor}`, browser)
        for (const { id, amount } of body.settlements) found.set(id, amount)
        if (body.nextCursor === undefined) return found
        cursor = `&cursor=${body.nextCursor}`
      }
    }

    /** A download; its first columns have no commas. */
    async function csvOf(query: string, browser: Browser) {
      const { status, text } = await get(`/settlements.csv${query}`, browser)
      expect(status).toBe(200)
      const [head = '', ...lines] = text.trimEnd().split('\r\n')
      const names = head.split(',')
      const rows = lines.map((line) => {
        const cells = line.split(',')
        return Object.fromEntries(names.map((column, index) => [column, cells[index]]))
      })
      return { text, rows }
    }
  })
}

/** A day in ISO 8601 before all that is filled in. */
function recentDay(): string {
  return new Date(Date.now() - 30 * 86_400_000).toISOString().slice(0, 10)
}
