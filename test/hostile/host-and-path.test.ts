import { mkdtempSync, rmSync } from 'node:fs'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import type { LedgerStore } from '../../src/ledger/index.js'
import { createMemoryLedger } from '../../src/ledger/memory-ledger.js'
import { openPostgresLedger } from '../../src/ledger/postgres-ledger.js'
import { openSqliteLedger } from '../../src/ledger/sqlite-ledger.js'
import type { GatewayOptions } from '../../src/gateway/config/options.js'
import type { PaymentRequired } from '../../src/shared/protocol/payment.js'
import { decodeDocument } from '../support/http.js'
import { SHOP_TOKEN, useDevnet } from '../support/devnet.js'
import { createSchema, findPostgres } from '../support/postgres.js'
import { openShop } from '../support/shop.js'
import { useCleanup } from '../support/cleanup.js'

const devnet = useDevnet()
const postgres = await findPostgres()
const opened = useCleanup()

async function open(options: GatewayOptions = {}) {
  const shop = await openShop(
    devnet,
    (app, gateway) => {
      app.set('trust proxy', true)
      app.use(gateway.gatewayRouter())
      app.use('/paid', gateway.x402Protect('$0.01'), (_req, res) => void res.send('paid'))
    },
    { logger: { debug() {}, info() {}, warn() {}, error() {} }, ...options },
  )
  opened.push(() => shop.close())
  return shop
}

/** Sends a request as it is; `fetch` mends hosts and paths. */
function get(url: string, path: string, headers: Record<string, string> = {}) {
  const { hostname, port } = new URL(url)
  return new Promise<{ status: number; headers: NodeJS.Dict<string | string[]>; text: string }>(
    (resolve, reject) => {
      request({ hostname, port, path, headers }, (response) => {
        let text = ''
        response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
        response.on('end', () =>
          resolve({ status: response.statusCode ?? 0, headers: response.headers, text }),
        )
      })
        .on('error', reject)
        .end()
    },
  )
}

const DOCUMENTS = [
  '/ucp/schema.json',
  '/ucp/2026-11-30/schema.json',
  '/ucp/2026-11-30/instrument_schema.json',
  '/ucp/gateway.md',
]
const NO_HOSTS = [
  'evil.example/path',
  'evil.example"onclick=',
  'user@evil.example',
  'evil example',
  'evil.example:99999',
  '[::1',
  '[zz]',
  '-evil.example',
  'a'.repeat(300),
]

describe('public documents without a configured root (rule 19)', () => {
  it.each(DOCUMENTS)('may not be cached for any host that a request names: %s', async (path) => {
    const { url } = await open()
    for (const headers of [{}, { 'X-Forwarded-Host': 'evil.example' }] as const) {
      const answer = await get(url, path, { ...headers })
      expect(answer.status).toBe(200)
      expect(answer.headers['cache-control']).toBe('private, no-store')
    }
    // The next one is told of its own host.
    expect((await get(url, path)).text).not.toContain('evil.example')
  })

  it.each(NO_HOSTS)('repeat no malformed host: %s', async (host) => {
    const { url } = await open()
    const forwarded = await get(url, '/ucp/schema.json', { 'X-Forwarded-Host': host })
    expect(forwarded.status).toBe(200)
    expect(forwarded.text).not.toContain(host)
    expect(forwarded.text).toContain(new URL(url).host)
    const direct = await get(url, '/ucp/schema.json', { Host: host })
    expect(direct.text).not.toContain(host)
  })

  it.each(NO_HOSTS)('and 402s repeat no malformed host: %s', async (host) => {
    const { url } = await open()
    const answer = await get(url, '/paid', { Host: host, 'X-Forwarded-Proto': 'javascript' })
    expect(answer.status).toBe(402)
    const { resource } = decodeDocument<PaymentRequired>(
      answer.headers['payment-required'] as string,
    )
    expect(resource.url).toBe('http://localhost/paid')
  })

  it.each(['shop.example', 'shop.example:8443', '127.0.0.1:80', '[::1]:8080', 'my_app', 'a.b.'])(
    'name valid hosts: %s',
    async (host) => {
      const { url } = await open()
      const answer = await get(url, '/paid', { Host: host })
      const { resource } = decodeDocument<PaymentRequired>(
        answer.headers['payment-required'] as string,
      )
      expect(resource.url).toBe(`http://${host}/paid`)
    },
  )
})

describe('public documents with a configured root (rule 19)', () => {
  it.each<GatewayOptions>([
    { publicUrl: 'https://pay.example' },
    { ucp: { docsUrl: 'https://pay.example' } },
  ])('can be cached publicly, and for good under a version: %j', async (options) => {
    const { url } = await open(options)
    const headers = { 'X-Forwarded-Host': 'evil.example' }
    const current = await get(url, '/ucp/schema.json', headers)
    const dated = await get(url, '/ucp/2026-11-30/schema.json', headers)
    expect(current.headers['cache-control']).toBe('public, max-age=3600')
    expect(dated.headers['cache-control']).toBe('public, max-age=31536000, immutable')
    expect(current.text + dated.text).not.toContain('evil.example')
    expect(dated.text).toContain('https://pay.example/ucp/2026-11-30')
  })
})

describe('bytes in paths and ids that are not text (rule 20)', () => {
  const kinds = ['memory', 'SQLite', ...(postgres ? ['PostgreSQL'] : [])]
  async function ledgerOf(kind: string): Promise<LedgerStore> {
    if (kind === 'memory') return createMemoryLedger()
    if (kind === 'PostgreSQL') {
      const schema = await createSchema(postgres!)
      opened.push(() => schema.drop())
      return openPostgresLedger(schema.url)
    }
    const folder = mkdtempSync(join(tmpdir(), 'ledger-'))
    opened.push(() => rmSync(folder, { recursive: true, force: true }))
    return openSqliteLedger(join(folder, 'ledger.db'))
  }

  it.each(kinds)('are answered 400 or 404 with the ledger %s', async (kind) => {
    const { url } = await open({ ledger: await ledgerOf(kind) })
    const token = { 'X-Project-Identify-Token': SHOP_TOKEN }
    const settlements = '/api/v2/merchant/settlements'
    const ask = async (path: string) => (await get(url, path, token)).status
    for (const bytes of ['%ff', '%', '%c3%28', '%u0041', 'a%ffb'])
      expect(await ask(`${settlements}/${bytes}`)).toBe(400)
    for (const bytes of ['%00', 'a%00b', '%0a', '%F0%9F%92%A9', '..%2f', `${'0'.repeat(32)}%00`])
      expect(await ask(`${settlements}/${bytes}`)).toBe(404)
    expect(await ask(`${settlements}/${'0'.repeat(32)}`)).toBe(404)
    for (const path of ['/ucp/%ff/schema.json', '/api/v2/payment/%ff', '/api/v2/%ff', '/ucp/%00'])
      expect([400, 404]).toContain(await ask(path))
    for (const name of ['cursor', 'status', 'from', 'limit', '%00', '%ff'])
      expect(await ask(`${settlements}?${name}=%00%ff`)).toBe(400)
    // The gateway still works.
    expect(await ask(settlements)).toBe(200)
  })

  it('are asked for payment as any other path', async () => {
    const { url } = await open()
    for (const path of ['/paid/%00', '/paid/%ff', '/paid?%ff=%00'])
      expect([400, 402]).toContain((await get(url, path)).status)
  })
})
