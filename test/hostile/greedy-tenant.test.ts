/** A tenant who takes all that its tokens let it take: what it gets, and what that costs the others. */
import { once } from 'node:events'
import { get, type IncomingMessage, type ServerResponse } from 'node:http'
import { connect } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { DatabaseSync as Database } from '@photostructure/sqlite'
import type { GatewayOptions } from '../../src/gateway/config/options.js'
import { SQLITE } from '../../src/ledger/engine/dialect.js'
import { openSqliteLedger } from '../../src/ledger/sqlite-ledger.js'
import { Browser, sendRaw } from '../api/session/session.js'
import { temporaryFolder, useCleanup, closedBy } from '../support/cleanup.js'
import { SHOP_TOKEN, useDevnet } from '../support/devnet.js'
import { fillStatement } from '../support/fill-ledger.js'
import { startProgram } from '../support/program.js'
import { openShop, type Shop } from '../support/shop.js'
import { until } from '../support/until.js'
import { startReceiver } from '../operate/webhooks/receiver.js'
import { storeMakers } from './stores.js'

const ADMIN_TOKEN = 'an-admin-token-of-the-tests'
const GREEDY_TOKEN = 'x402_test-token-of-the-greedy'
const asShop = { 'X-Project-Identify-Token': SHOP_TOKEN }
const asGreedy = { 'X-Project-Identify-Token': GREEDY_TOKEN }
const asAdmin = { Authorization: `Bearer ${ADMIN_TOKEN}` }
const CSV = '/api/v2/merchant/settlements.csv'

/** Payments of the greedy tenant: more bytes than sockets hold for a client that reads nothing. */
const ROWS = 60_000
/** Records of a page of a download. */
const PAGE = 500
/** Sessions that one token opens. */
const SESSIONS = 20

const devnet = useDevnet()

type OpenedShop = Shop & { close(): Promise<void> }

async function open(options: GatewayOptions): Promise<OpenedShop> {
  return openShop(
    devnet,
    (app, gateway) => {
      app.get('/tea', gateway.x402Protect('$0.01', { merchant: 'shop' }), (_req, res) => {
        res.send('tea')
      })
      app.use(gateway.healthRouter())
      app.use(gateway.gatewayRouter())
    },
    {
      admin: { tokens: [ADMIN_TOKEN] },
      webhooks: { allowPrivate: true },
      projects: [
        { id: 'shop', tokens: [SHOP_TOKEN], merchant: { payTo: devnet.merchant.address } },
        { id: 'greedy', tokens: [GREEDY_TOKEN], merchant: { payTo: `0x${'0c'.repeat(20)}` } },
      ],
      ...options,
    },
  )
}

/** Opens a response, and leaves its body to the test. */
async function openResponse(
  { url }: Pick<Shop, 'url'>,
  path: string,
  headers: Record<string, string>,
): Promise<IncomingMessage> {
  const request = get(url + path, { headers, agent: false }).on('error', () => undefined)
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  return response.on('error', () => undefined)
}

/** Opens as many sessions of one token as it has, as headers. */
async function openSessions(shop: OpenedShop, token: string): Promise<Record<string, string>[]> {
  const sessions: Record<string, string>[] = []
  for (let count = 0; count < SESSIONS; count++) {
    const browser = new Browser(shop)
    expect((await browser.signIn(token)).status).toBe(200)
    sessions.push({ Cookie: browser.cookie! })
  }
  return sessions
}

const countOf = (all: readonly unknown[], wanted: unknown): number =>
  all.filter((one) => one === wanted).length

describe('a tenant with many payments and twenty sessions', () => {
  const toEnd = useCleanup(afterAll)
  let shop: OpenedShop
  let sessions: Record<string, string>[]
  beforeAll(async () => {
    const file = join(temporaryFolder(toEnd), 'ledger.db')
    const ledger = openSqliteLedger(file)
    await ledger.payments.listSubmitted()
    const database = new Database(file)
    database.exec('PRAGMA busy_timeout = 30000')
    database.exec(fillStatement(SQLITE, { count: ROWS, project: 'greedy' }))
    database.close()
    shop = await open({ ledger })
    toEnd.push(() => shop.close())
    sessions = await openSessions(shop, GREEDY_TOKEN)
  })

  it('gets two downloads, which are cut if it does not read them, and others as many as before', async () => {
    const opened = await Promise.all(sessions.map((session) => openResponse(shop, CSV, session)))
    const taken = opened.filter(({ statusCode }) => statusCode === 200)
    const refused = opened.filter(({ statusCode }) => statusCode === 429)
    expect([taken.length, refused.length]).toEqual([2, SESSIONS - 2])
    for (const path of [CSV, '/api/v2/admin/settlements.csv?project=shop']) {
      const headers = path === CSV ? asShop : asAdmin
      expect((await sendRaw(shop.url, 'GET', path, { headers })).status).toBe(200)
    }
    // Something is read now and then: a slow download is as bad as one that stands still.
    const again = async (): Promise<boolean> => {
      await sleep(1000)
      for (const response of taken) response.read(1)
      return (await sendRaw(shop.url, 'HEAD', CSV, { headers: sessions[0]! })).status === 200
    }
    await until(again)
    for (const response of taken) response.destroy()
  })

  it('downloads its payments while the event loop serves others between any two pages', async () => {
    const script = `fetch(process.argv[1], { headers: { 'X-Project-Identify-Token': process.argv[2] } })
      .then(async (response) => {
        let lines = 0
        for await (const chunk of response.body) lines += chunk.filter((byte) => byte === 10).length
        console.log('lines: ' + lines)
      })`
    let turns = 0
    const download = { isOver: false }
    const turn = (): void => {
      turns += 1
      if (!download.isOver) setImmediate(turn)
    }
    const downloaded = startProgram(['-e', script, shop.url + CSV, GREEDY_TOKEN], {})
    setImmediate(turn)
    let probes = 0
    const probing = (async () => {
      while (!download.isOver) {
        expect((await shop.ask('/livez')).status).toBe(200)
        probes += 1
      }
    })()
    const paid = shop.buy('/tea', devnet.payers[0]!).then(({ status }) => status)
    const lines = await downloaded.prints(/lines: (\d+)/)
    download.isOver = true
    await probing
    expect(await paid).toBe(200)
    expect(Number(lines)).toBe(ROWS + 1)
    expect(turns).toBeGreaterThan(ROWS / PAGE)
    expect(probes).toBeGreaterThan(1)
    await downloaded.exitCode()
  })
})

describe('the requests of a tenant with twenty sessions', () => {
  const toEnd = useCleanup()

  it('share one limit apart from that of its shops, and cost other tenants nothing', async () => {
    const shop = closedBy(toEnd, await open({ rateLimit: { limit: 60 } }))
    const sessions = await openSessions(shop, GREEDY_TOKEN)
    const path = '/api/v2/merchant/settlements'
    const ask = async (headers: Record<string, string>): Promise<number> =>
      (await sendRaw(shop.url, 'GET', path, { headers })).status
    const statuses: number[] = []
    for (let round = 0; round < 4; round++)
      for (const session of sessions) statuses.push(await ask(session))
    expect([countOf(statuses, 200), countOf(statuses, 429)]).toEqual([60, 20])
    expect(await ask(asGreedy)).toBe(200)
    expect(await ask(asShop)).toBe(200)
    const other = new Browser(shop)
    // The address has signed in twenty times, and has its own limit.
    expect((await other.signIn(SHOP_TOKEN)).status).toBe(200)
    expect(await ask({ Cookie: other.cookie! })).toBe(200)
  })
})

describe.each(storeMakers)('a tenant that hangs up early, with a ledger in %s', (_name, make) => {
  const toEnd = useCleanup()

  it('frees every slot that it has taken', async () => {
    const store = await make()
    if (store === undefined) return
    toEnd.push(() => store.drop())
    const shop = closedBy(toEnd, await open({ ledger: store.open(), rateLimit: false }))
    const [session] = await openSessions(shop, GREEDY_TOKEN)
    const { port } = new URL(shop.url)
    const hangUp = async (method: string, path: string): Promise<void> => {
      const socket = connect(Number(port), '127.0.0.1').on('error', () => undefined)
      await once(socket, 'connect')
      const head = `${method} ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nSec-Fetch-Site: same-origin\r\nCookie: ${session!['Cookie']}\r\n\r\n`
      await new Promise((resolve) => socket.write(head, resolve))
      socket.destroy()
    }
    for (let round = 0; round < 50; round++)
      await Promise.all([hangUp('HEAD', CSV), hangUp('GET', CSV)])
    const downloadStatus = async () =>
      (await sendRaw(shop.url, 'GET', CSV, { headers: session! })).status
    await until(async () => (await downloadStatus()) === 200)
    expect(await downloadStatus()).toBe(200)
  })
})

describe('a tenant with ten webhooks that never answer', () => {
  const toEnd = useCleanup()

  it('has ten attempts in progress, while all deliveries of others arrive', async () => {
    const shop = closedBy(toEnd, await open({}))
    const slow = await startReceiver(toEnd)
    const held: ServerResponse[] = []
    slow.respond = (_webhook, res) => void held.push(res)
    const prompt = await startReceiver(toEnd)
    const register = async (url: string, path: string, headers: object): Promise<string> => {
      const created = await sendRaw(shop.url, 'POST', path, {
        headers: { ...headers },
        body: { url },
      })
      expect(created.status).toBe(201)
      return `${path}/${created.body.id}/test`
    }
    const own = '/api/v2/merchant/webhooks'
    const send = async (path: string, headers: object): Promise<number> =>
      (await sendRaw(shop.url, 'POST', path, { headers: { ...headers } })).status
    const endpoints: string[] = []
    for (let count = 0; count < 10; count++)
      endpoints.push(await register(`${slow.url}?${count}`, own, asGreedy))
    const sent: number[] = []
    for (let count = 0; count < 80; count++)
      sent.push(await send(endpoints[count % endpoints.length]!, asGreedy))
    expect([countOf(sent, 202), countOf(sent, 429)]).toEqual([60, 20])
    await until(() => held.length >= 10)
    const honest = await register(prompt.url, own, asShop)
    for (let count = 0; count < 50; count++) expect(await send(honest, asShop)).toBe(202)
    await until(() => prompt.received.length >= 50)
    // None was answered meanwhile; some may have run out of time on a busy machine, and others begun.
    expect(held.filter(({ closed }) => !closed).length).toBeLessThanOrEqual(10)
    for (const res of held) res.end()
  })
})
