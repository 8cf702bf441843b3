/** Live payments and downloads, on every ledger, with payments on a real chain. */
import { once } from 'node:events'
import { get as httpGet, type ClientRequest, type IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import compression from 'compression'
import { createMemoryLedger } from '../../../src/ledger/memory-ledger.js'
import type { LedgerStore } from '../../../src/ledger/index.js'
import { openPostgresLedger } from '../../../src/ledger/postgres-ledger.js'
import { openSqliteLedger } from '../../../src/ledger/sqlite-ledger.js'
import { balanceOf, SHOP_TOKEN, shopOptions, useDevnet } from '../../support/devnet.js'
import { temporaryFolder, type Cleanup, useCleanup } from '../../support/cleanup.js'
import { createSchema, findPostgres } from '../../support/postgres.js'
import { openShop, type Shop } from '../../support/shop.js'
import { Browser, sendRaw } from '../session/session.js'

const ADMIN_TOKEN = 'an-admin-token-of-the-tests'
const OTHER_TOKEN = 'x402_test-token-of-another'
const OTHER_PAYEE = `0x${'0c'.repeat(20)}` as const
/** A deadline, not an expectation: a loaded machine takes its time. */
const PATIENCE_MS = 30_000

const devnet = useDevnet()

/** One server-sent event. */
interface ReceivedEvent {
  readonly event: string
  readonly id: string
  // oxlint-disable-next-line typescript/no-explicit-any -- tests look into any document
  readonly data: any
}

/** A reader of a stream, as `EventSource` is one. */
class Reader {
  readonly events: ReceivedEvent[] = []
  text = ''
  isEnded = false
  readonly #request: ClientRequest
  readonly response: IncomingMessage

  private constructor(request: ClientRequest, response: IncomingMessage) {
    this.#request = request
    this.response = response
    response.setEncoding('utf8')
    response.on('data', (chunk: string) => this.#take(chunk))
    response.on('close', () => (this.isEnded = true))
    response.on('error', () => undefined)
  }

  static async open(url: string, headers: Record<string, string>): Promise<Reader> {
    const request = httpGet(url, { headers, agent: false })
    const [response] = (await once(request, 'response')) as [IncomingMessage]
    request.on('error', () => undefined)
    return new Reader(request, response)
  }

  close(): void {
    this.#request.destroy()
  }

  async waitFor(condition: () => boolean): Promise<void> {
    const deadline = performance.now() + PATIENCE_MS
    while (!condition()) {
      if (performance.now() > deadline) throw new Error(`Not seen: ${this.text}`)
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
  }

  #take(chunk: string): void {
    this.text += chunk
    const blocks = this.text.split('\n\n').slice(0, -1)
    const events = blocks.flatMap((block) => {
      const [, event = '', id = '', data = ''] =
        /^event: (.*)\nid: (.*)\ndata: (.*)$/.exec(block) ?? []
      return event === '' ? [] : [{ event, id, data: JSON.parse(data) as unknown }]
    })
    this.events.splice(0, Infinity, ...events)
  }
}

type OpenLedger = () => LedgerStore

describeStreams('memory', async () => {
  const ledger = createMemoryLedger()
  return () => ledger
})
describeStreams('SQLite', async (toEnd) => {
  const file = join(temporaryFolder(toEnd), 'ledger.db')
  return () => openSqliteLedger(file)
})
const root = await findPostgres()
if (root !== undefined)
  describeStreams('PostgreSQL', async (toEnd) => {
    const schema = await createSchema(root)
    toEnd.push(() => schema.drop())
    return () => openPostgresLedger(schema.url)
  })

function describeStreams(name: string, prepare: (toEnd: Cleanup) => Promise<OpenLedger>): void {
  describe(`streams of a gateway with a ledger in ${name}`, () => {
    const toEnd = useCleanup(afterAll)
    let openLedger: OpenLedger
    let shop: Shop & { close(): Promise<void> }
    const serve = async (relayer: number): Promise<typeof shop> => {
      const { projects } = shopOptions(devnet)
      const opened = await openShop(
        devnet,
        (app, gateway) => {
          app.use(compression({ threshold: 0 }))
          app.get(
            '/tea',
            gateway.x402Protect('$0.01', { merchant: 'shop', reference: '=1+1' }),
            (_req, res) => {
              res.send('tea')
            },
          )
          app.get('/book', gateway.x402Protect('$1.5', { merchant: 'other' }), (_req, res) => {
            res.send('book')
          })
          app.use(gateway.gatewayRouter())
        },
        {
          ledger: openLedger(),
          admin: { tokens: [ADMIN_TOKEN] },
          networks: {
            'base-sepolia': { rpcUrl: devnet.rpcUrl, relayerKeys: [devnet.relayerKeys[relayer]!] },
          },
          projects: [
            ...projects!,
            { id: 'other', tokens: [OTHER_TOKEN], merchant: { payTo: OTHER_PAYEE } },
          ],
        },
      )
      toEnd.push(() => opened.close())
      return opened
    }
    beforeAll(async () => {
      openLedger = await prepare(toEnd)
      shop = await serve(0)
    })

    const asAdmin = { Authorization: `Bearer ${ADMIN_TOKEN}` }
    const asShop = { 'X-Project-Identify-Token': SHOP_TOKEN }
    const asOther = { 'X-Project-Identify-Token': OTHER_TOKEN }
    const read = async (path: string, headers: Record<string, string>): Promise<Reader> => {
      const reader = await Reader.open(shop.url + path, headers)
      expect([reader.response.statusCode, path]).toEqual([200, path])
      return reader
    }
    const statusOf = async (reader: Reader): Promise<number | undefined> => {
      const { statusCode } = reader.response
      if (statusCode !== 200) await reader.waitFor(() => reader.isEnded)
      return statusCode
    }
    const buy = async (path: string, payer: number, at = shop): Promise<void> => {
      expect((await at.buy(path, devnet.payers[payer]!)).status).toBe(200)
    }
    const settledOf = ({ events }: Reader) => events.filter(({ data }) => data.status === 'settled')

    it('tell of a payment while it happens, only to its project and the operator', async () => {
      const admin = await read('/api/v2/admin/events', asAdmin)
      const oneProject = await read('/api/v2/admin/events?project=other', asAdmin)
      const own = await read('/api/v2/merchant/events', { ...asShop, 'Accept-Encoding': 'gzip' })
      const others = await read('/api/v2/merchant/events', asOther)
      expect(own.response.headers).toMatchObject({
        'content-type': 'text/event-stream; charset=utf-8',
        'cache-control': 'no-store, no-transform',
        'x-accel-buffering': 'no',
      })
      expect(own.response.headers['content-encoding']).toBeUndefined()
      await buy('/tea', 0)
      await own.waitFor(() => settledOf(own).length === 1)
      const { event, id, data } = settledOf(own)[0]!
      const list = await sendRaw(shop.url, 'GET', '/api/v2/merchant/settlements', {
        headers: asShop,
      })
      expect(data).toStrictEqual(list.body.settlements[0])
      expect([event, id]).toEqual(['settlement', `${Date.parse(data.updatedAt)}.${data.id}`])
      expect(own.text).toContain('retry: 3000\n\n')
      await admin.waitFor(() => settledOf(admin).length === 1)
      expect(settledOf(admin)[0]!.data).toStrictEqual({ project: 'shop', ...data })
      await buy('/book', 1)
      for (const reader of [oneProject, others, admin])
        await reader.waitFor(() => settledOf(reader).some((one) => one.data.amount === '1500000'))
      expect(others.events.every((one) => one.data.payTo.toLowerCase() === OTHER_PAYEE)).toBe(true)
      expect(oneProject.events.every((one) => one.data.project === 'other')).toBe(true)
      expect(own.events.every((one) => one.data.id === data.id)).toBe(true)
      for (const reader of [admin, oneProject, own, others]) reader.close()
    })

    it('begin with the next change', async () => {
      const reader = await read('/api/v2/merchant/events', asShop)
      await buy('/tea', 2)
      await reader.waitFor(() => settledOf(reader).length > 0)
      expect(new Set(reader.events.map(({ data }) => data.id)).size).toBe(1)
      reader.close()
    })

    it('are limited to twelve for one project, and free their places when they end', async () => {
      const path = '/api/v2/merchant/events'
      const readers = await Promise.all(Array.from({ length: 12 }, () => read(path, asShop)))
      const refused = await Reader.open(shop.url + path, asShop)
      expect(await statusOf(refused)).toBe(429)
      expect(Number(refused.response.headers['retry-after'])).toBeGreaterThan(0)
      const other = await read(path, asOther)
      for (const reader of [...readers, other]) reader.close()
      const deadline = performance.now() + PATIENCE_MS
      for (;;) {
        const again = await Reader.open(shop.url + path, asShop)
        const status = await statusOf(again)
        again.close()
        if (status === 200) break
        if (performance.now() > deadline) throw new Error('No reader has left.')
      }
    })

    it('answer HEAD with headers and no stream', async () => {
      for (const path of ['events', 'settlements.csv']) {
        const head = await sendRaw(shop.url, 'HEAD', `/api/v2/merchant/${path}`, {
          headers: asShop,
        })
        expect([head.status, head.text]).toEqual([200, ''])
      }
    })

    it('end with the session or the token that opened them', async () => {
      const admin = new Browser(shop)
      expect((await admin.signIn(ADMIN_TOKEN)).status).toBe(200)
      const make = { body: { label: 'streams' } }
      const { id, token } = (await admin.send('POST', '/api/v2/admin/projects/shop/tokens', make))
        .body
      const browser = new Browser(shop)
      expect((await browser.signIn(token)).status).toBe(200)
      const path = '/api/v2/merchant/events'
      const bySession = await read(path, { Cookie: browser.cookie! })
      const byToken = await read(path, { 'X-Project-Identify-Token': token })
      const unconcerned = await read(path, asShop)
      const byAdmin = await read('/api/v2/admin/events', { Cookie: admin.cookie! })
      await admin.send('DELETE', `/api/v2/admin/projects/shop/tokens/${id}`)
      for (const reader of [bySession, byToken]) await reader.waitFor(() => reader.isEnded)
      await admin.send('DELETE', '/console/session')
      await byAdmin.waitFor(() => byAdmin.isEnded)
      expect(unconcerned.isEnded).toBe(false)
      unconcerned.close()
    })

    it('are refused without access and for unknown parameters', async () => {
      const paths = ['events', 'settlements.csv']
      for (const path of paths) {
        expect((await sendRaw(shop.url, 'GET', `/api/v2/merchant/${path}`)).status).toBe(401)
        expect((await sendRaw(shop.url, 'GET', `/api/v2/admin/${path}`)).status).toBe(401)
        const query = path === 'events' ? 'project=other' : 'limit=5'
        const own = await sendRaw(shop.url, 'GET', `/api/v2/merchant/${path}?${query}`, {
          headers: asShop,
        })
        expect([own.status, own.body.code]).toEqual([400, 'invalid_request'])
      }
    })

    it('write files whose sums equal the chain’s', async () => {
      const before = await balanceOf(devnet, OTHER_PAYEE)
      const sumOf = async (query: string, headers: Record<string, string>, face: string) => {
        const path = `/api/v2/${face}/settlements.csv${query}`
        const { status, text, headers: got } = await sendRaw(shop.url, 'GET', path, { headers })
        expect(status).toBe(200)
        expect(got).toMatchObject({
          'content-type': 'text/csv; charset=utf-8',
          'cache-control': 'no-store, no-transform',
        })
        expect(got['content-disposition']).toMatch(
          /^attachment; filename="settlements[\w.-]*\.csv"$/,
        )
        const [head = '', ...lines] = text.trimEnd().split('\r\n')
        const names = head.split(',')
        const rows = lines.map((line) => line.split(','))
        const valueOf = (row: readonly string[], column: string) => row[names.indexOf(column)] ?? ''
        const sum = rows.reduce((total, row) => total + BigInt(valueOf(row, 'units')), 0n)
        return {
          sum,
          rows: rows.map((row) => ({
            project: valueOf(row, 'project'),
            reference: valueOf(row, 'reference'),
          })),
        }
      }
      for (let count = 0; count < 3; count++) await buy(`/book?${count}`, count)
      const paid = await balanceOf(devnet, OTHER_PAYEE)
      expect(paid - before).toBe(4_500_000n)
      const settled = await sumOf('?status=settled', asOther, 'merchant')
      const oneProject = await sumOf('?status=settled&project=other', asAdmin, 'admin')
      expect(settled.sum).toBe(oneProject.sum)
      expect(settled.rows.every(({ project }) => project === 'other')).toBe(true)
      const own = await sumOf('', asShop, 'merchant')
      expect(own.rows.length).toBeGreaterThan(0)
      expect(own.rows.every(({ reference }) => reference === "'=1+1")).toBe(true)
      const all = await sumOf('?status=settled', asAdmin, 'admin')
      expect(all.sum).toBe(settled.sum + own.sum)
    })

    if (name === 'memory') return

    it('tell of payments that another gateway has received', async () => {
      const other = await serve(1)
      const reader = await read('/api/v2/merchant/events', asShop)
      await buy('/tea?elsewhere', 3, other)
      await reader.waitFor(() => settledOf(reader).length === 1)
      expect(settledOf(reader)[0]!.data.resource).toBe(`${other.url}/tea?elsewhere`)
      reader.close()
    })

    it('end with the gateway', async () => {
      const other = await serve(1)
      const reader = await Reader.open(`${other.url}/api/v2/merchant/events`, asShop)
      const closed = other.gateway.close()
      await reader.waitFor(() => reader.isEnded)
      expect(reader.text).toContain('retry: 3000')
      await closed
    })
  })
}
