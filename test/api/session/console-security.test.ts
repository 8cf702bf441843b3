/** What strangers, other sites and other projects cannot do with the console. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import express from 'express'
import * as chains from 'viem/chains'
import { explorerUrl } from '../../../src/api/admin/explorers.js'
import { pageEndpoints } from '../../../src/api/serve/page-endpoints.js'
import { bindEndpoints, serveEndpoints } from '../../../src/api/serve/serve-endpoints.js'
import type { RouterContext } from '../../../src/api/context.js'
import { createGateway } from '../../../src/gateway/gateway.js'
import { OpenRequests } from '../../../src/shared/http/open-requests.js'
import { knownNetworks } from '../../../src/shared/protocol/networks.js'
import { recordLog, serveGateway, type GatewayApi, type Mounting } from '../api.js'
import { temporaryFolder, useCleanup, closedBy } from '../../support/cleanup.js'
import { listen } from '../../support/http.js'
import { ADMIN_TOKEN, CLOSED, OPEN, SHOP_TOKEN } from '../admin/admin.js'
import { Browser, sendRaw, type RawAnswer } from './session.js'

const toEnd = useCleanup()

/** A page needs no more of a gateway. */
const PAGE_CONTEXT = {
  logger: recordLog(),
  requests: new OpenRequests(),
} as unknown as RouterContext

let api: GatewayApi
const serve = async (options = OPEN, mounting: Mounting = {}): Promise<GatewayApi> => {
  const opened = closedBy(toEnd, await serveGateway(options, mounting))
  api = opened
  return opened
}
afterEach(expectNoSecret)

function expectNoSecret(): void {
  for (const token of [ADMIN_TOKEN, SHOP_TOKEN]) expect(api.log.lines.join()).not.toContain(token)
}

const ADMIN_PATH = '/api/v2/admin/projects'
const signedIn = async (token = ADMIN_TOKEN, prefix = ''): Promise<Browser> => {
  const browser = new Browser(api, prefix)
  expect((await browser.signIn(token)).status).toBe(200)
  return browser
}
const codeOf = ({ status, body }: RawAnswer): unknown => [status, body?.code]
const cookieOf = ({ headers }: RawAnswer): string => headers['set-cookie']?.join() ?? ''

describe('The console', () => {
  it('does not exist without admin tokens, or if it is switched off', async () => {
    for (const options of [CLOSED, { ...OPEN, console: false }]) {
      await serve(options)
      for (const path of ['/console', '/console/', '/console/session'])
        expect((await sendRaw(api.url, 'GET', path)).status).toBe(404)
      const headers = { Cookie: `x402-console=${'A'.repeat(43)}`, Origin: 'https://evil.example' }
      const merchant = '/api/v2/merchant/settlements'
      expect((await sendRaw(api.url, 'GET', merchant, { headers })).status).toBe(401)
    }
  })

  it('cannot be switched on without admin tokens', async () => {
    await serve()
    expect(() => createGateway({ ...CLOSED, console: true })).toThrow(
      /console: needs the option admin/,
    )
  })

  it('redirects to its folder by a relative URL, wherever it is mounted', async () => {
    await serve(OPEN, { prefix: '/pay' })
    const { status, headers } = await sendRaw(api.url, 'GET', '/pay/console')
    expect([status, headers.location]).toEqual([308, './console/'])
  })

  it('names the methods that it accepts', async () => {
    await serve()
    const methods = [
      ['/console/', 'GET, HEAD, OPTIONS'],
      ['/console/session', 'GET, HEAD, POST, DELETE, OPTIONS'],
      ['/console/assets/a.js', 'GET, HEAD, OPTIONS'],
    ] as const
    for (const [path, allow] of methods) {
      const put = await sendRaw(api.url, 'PUT', path)
      expect([put.status, put.headers.allow]).toEqual([405, allow])
      const options = await sendRaw(api.url, 'OPTIONS', path)
      expect([options.status, options.headers.allow]).toEqual([204, allow])
      const head = await sendRaw(api.url, 'HEAD', path)
      expect(head.text).toBe('')
    }
    expect((await sendRaw(api.url, 'GET', '/console/nothing')).status).toBe(404)
  })

  it('has its security headers on every answer of any kind', async () => {
    await serve({ ...OPEN, rateLimit: { limit: 6 } })
    const requests = [
      ['GET', '/console'],
      ['GET', '/console/'],
      ['GET', '/console/session'],
      ['GET', '/console/nothing'],
      ['PUT', '/console/'],
      ['POST', '/console/session'],
      ['GET', '/console/assets/none.js'],
    ] as const
    const statuses = []
    for (const [method, path] of requests) {
      const { status, headers } = await sendRaw(api.url, method, path)
      statuses.push(status)
      expect(headers).toMatchObject({
        'content-security-policy':
          "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
        'x-content-type-options': 'nosniff',
        'referrer-policy': 'no-referrer',
        'cross-origin-opener-policy': 'same-origin',
        'cross-origin-resource-policy': 'same-origin',
      })
      expect(headers['access-control-allow-origin']).toBeUndefined()
    }
    expect(statuses.at(-1)).toBe(429)
  })

  it('links to the explorers that viem names', () => {
    const shown = knownNetworks.filter((network) => explorerUrl(network) !== undefined)
    expect(shown.length).toBeGreaterThan(20)
    for (const network of shown) {
      const urls = Object.values(chains)
        .filter(({ id }) => id === network.chainId)
        .map((chain) => chain.blockExplorers?.default.url.replace(/\/$/, ''))
      expect(urls).toContain(explorerUrl(network))
    }
  })
})

describe('The files of the console', () => {
  const files = useCleanup()
  const open = async (isBuilt = true): Promise<string> => {
    const root = temporaryFolder(files)
    const folder = join(root, 'console')
    writeFileSync(join(root, 'secret.txt'), 'a secret')
    if (isBuilt) {
      mkdirSync(join(folder, 'assets/folder'), { recursive: true })
      writeFileSync(join(folder, 'index.html'), '<!doctype html>the page')
      writeFileSync(join(folder, 'secret.txt'), 'a secret')
      writeFileSync(join(folder, 'assets/main-1a2b.js'), 'export {}\n'.repeat(100))
      writeFileSync(join(folder, 'assets/.hidden'), 'a secret')
    }
    const app = express()
    const words = { id: 'getConsole', summary: 'Open it', description: 'The page.' } as const
    const { page, asset } = pageEndpoints({ ...words, path: '/console', tag: 'Console', folder })
    app.use(serveEndpoints(bindEndpoints(PAGE_CONTEXT, [page, asset])))
    app.use(
      ((_error, _req, res, _next) => void res.status(404).end()) as express.ErrorRequestHandler,
    )
    const server = closedBy(files, await listen(app))
    return server.url
  }
  beforeAll(async () => {
    await serve()
  })

  it('are the page, which is revalidated, and assets, which are cached for good', async () => {
    const url = await open()
    const page = await sendRaw(url, 'GET', '/console/')
    expect(page).toMatchObject({ status: 200, text: '<!doctype html>the page' })
    expect(page.headers).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-cache',
    })
    const script = await sendRaw(url, 'GET', '/console/assets/main-1a2b.js')
    expect(script).toMatchObject({ status: 200, text: 'export {}\n'.repeat(100) })
    expect(script.headers).toMatchObject({
      'content-type': 'text/javascript; charset=utf-8',
      'cache-control': 'public, max-age=31536000, immutable',
      vary: 'Accept-Encoding',
    })
    const head = await sendRaw(url, 'HEAD', '/console/assets/main-1a2b.js')
    expect([head.status, head.text]).toEqual([200, ''])
  })

  it('are compressed for clients that accept it', async () => {
    const response = await fetch(`${await open()}/console/assets/main-1a2b.js`, {
      headers: { 'Accept-Encoding': 'gzip' },
    })
    expect(response.headers.get('content-encoding')).toBe('gzip')
    expect(await response.text()).toBe('export {}\n'.repeat(100))
  })

  it('all come from one folder, however a path is written', async () => {
    const url = await open()
    for (const name of [
      '..%2fsecret.txt',
      '..%2Fsecret.txt',
      '../secret.txt',
      '..%5csecret.txt',
      '%2e%2e%2fsecret.txt',
      '..%252fsecret.txt',
      '..%2f..%2fsecret.txt',
      '%00',
      'main-1a2b.js%00.txt',
      '.hidden',
      '.',
      '..',
      'folder',
      'none.js',
      'a'.repeat(5000),
    ]) {
      const { status, text } = await sendRaw(url, 'GET', `/console/assets/${name}`)
      expect([name, status]).toEqual([name, 404])
      expect(text).not.toContain('a secret')
    }
  })

  it('are reported as missing if nobody has built them', async () => {
    const { status, text } = await sendRaw(await open(false), 'GET', '/console/')
    expect(status).toBe(503)
    expect(text).toContain('npm run build')
  })
})

describe('A page of another origin', () => {
  const elsewhere = (url: string): readonly string[] => [
    'https://evil.example',
    'null',
    '',
    url.replace('http:', 'https:'),
    url.replace(/\d+$/, '1'),
    url.replace('127.0.0.1', 'localhost'),
    url.replace('127.0.0.1', 'evil.127.0.0.1'),
    `${url}.evil.example`,
    `${url}/`,
    `${url}, https://evil.example`,
  ]

  it('cannot sign anyone in or out', async () => {
    await serve()
    const browser = await signedIn()
    for (const Origin of elsewhere(api.url)) {
      const headers = { Origin }
      const body = { token: SHOP_TOKEN }
      const signIn = await browser.send('POST', '/console/session', { headers, body })
      expect([Origin, codeOf(signIn)]).toEqual([Origin, [403, 'cross_origin']])
      expect(signIn.headers['set-cookie']).toBeUndefined()
      const signOut = await browser.send('DELETE', '/console/session', { headers })
      expect(codeOf(signOut)).toEqual([403, 'cross_origin'])
    }
    expect((await browser.send('GET', ADMIN_PATH)).status).toBe(200)
  })

  it('cannot change anything with the cookie', async () => {
    await serve()
    const browser = await signedIn()
    const { cookie = '' } = browser
    const body = { id: 'evil', merchant: {} }
    for (const Origin of elsewhere(api.url)) {
      const answer = await browser.send('POST', ADMIN_PATH, { headers: { Origin }, body })
      expect([Origin, codeOf(answer)]).toEqual([Origin, [403, 'cross_origin']])
    }
    const headers = { Cookie: cookie }
    for (const method of ['POST', 'PATCH', 'DELETE', 'PUT', 'OPTIONS'])
      expect(codeOf(await sendRaw(api.url, method, ADMIN_PATH, { headers }))).toEqual([
        403,
        'cross_origin',
      ])
    const shop = await signedIn(SHOP_TOKEN)
    const asShop = { Cookie: shop.cookie ?? '', Origin: 'https://evil.example' }
    const webhook = await sendRaw(api.url, 'POST', '/api/v2/merchant/webhooks', { headers: asShop })
    expect(codeOf(webhook)).toEqual([403, 'cross_origin'])
  })

  it('cannot read anything with the cookie', async () => {
    await serve()
    const browser = await signedIn()
    for (const site of ['cross-site', 'same-site', 'anything'])
      for (const path of [ADMIN_PATH, '/console/session', '/api/v2/admin/settlements.csv']) {
        const headers = { 'Sec-Fetch-Site': site }
        expect(codeOf(await browser.send('GET', path, { headers }))).toEqual([403, 'cross_origin'])
      }
    for (const site of ['same-origin', 'none']) {
      const headers = { 'Sec-Fetch-Site': site }
      expect((await browser.send('GET', ADMIN_PATH, { headers })).status).toBe(200)
    }
  })

  it('is recognised by the public URL behind a proxy', async () => {
    await serve({ ...OPEN, publicUrl: 'https://pay.example.com/gateway' })
    const browser = new Browser(api)
    const signIn = (Origin: string) =>
      browser.send('POST', '/console/session', {
        headers: { Origin },
        body: { token: ADMIN_TOKEN },
      })
    for (const origin of [api.url, 'http://pay.example.com', 'https://pay.example.com:8443'])
      expect(codeOf(await signIn(origin))).toEqual([403, 'cross_origin'])
    const done = await signIn('https://pay.example.com')
    expect(done.status).toBe(200)
    expect(cookieOf(done)).toMatch(
      /^__Secure-x402-console=[\w-]{43}; Max-Age=43200; Path=\/gateway; HttpOnly; SameSite=Strict; Secure$/,
    )
    expect((await browser.send('GET', ADMIN_PATH)).status).toBe(200)
    const out = { headers: { Origin: 'https://pay.example.com' } }
    expect((await browser.send('DELETE', '/console/session', out)).status).toBe(204)
  })

  it('is recognised by forwarded headers if the proxy is trusted', async () => {
    const headers = {
      Origin: 'https://pay.example.com',
      'X-Forwarded-Proto': 'https',
      'X-Forwarded-Host': 'pay.example.com',
    }
    const request = { headers, body: { token: ADMIN_TOKEN } }
    await serve()
    const refused = await sendRaw(api.url, 'POST', '/console/session', request)
    expect(codeOf(refused)).toEqual([403, 'cross_origin'])
    await serve(OPEN, { prepare: (app) => app.set('trust proxy', true) })
    const done = await sendRaw(api.url, 'POST', '/console/session', request)
    expect(done.status).toBe(200)
    expect(cookieOf(done)).toMatch(/^__Host-x402-console=.*; Path=\/; .*; Secure$/)
  })
})

describe('The cookie of the console', () => {
  it('is scoped to the path of the gateway', async () => {
    await serve(OPEN, { prefix: '/pay' })
    const browser = new Browser(api, '/pay')
    const done = await browser.signIn(ADMIN_TOKEN)
    expect(cookieOf(done)).toMatch(
      /^x402-console=[\w-]{43}; Max-Age=43200; Path=\/pay; HttpOnly; SameSite=Strict$/,
    )
    expect((await browser.send('GET', ADMIN_PATH)).status).toBe(200)
  })

  it('gives no access to payments', async () => {
    await serve()
    const browser = await signedIn(SHOP_TOKEN)
    for (const path of ['requirements', 'verify', 'settle'])
      expect((await browser.send('POST', `/api/v2/payment/${path}`, { body: {} })).status).toBe(401)
    expect((await browser.send('GET', '/api/v2/payment/supported')).status).toBe(401)
  })

  it('yields to a token', async () => {
    await serve()
    const admin = await signedIn()
    const wrong = { Authorization: 'Bearer a-wrong-admin-token' }
    expect((await admin.send('GET', ADMIN_PATH, { headers: wrong })).status).toBe(401)
    const right = {
      Authorization: `Bearer ${ADMIN_TOKEN}`,
      Cookie: `x402-console=${'A'.repeat(43)}`,
    }
    expect((await sendRaw(api.url, 'GET', ADMIN_PATH, { headers: right })).status).toBe(200)
    const shop = await signedIn(SHOP_TOKEN)
    const path = '/api/v2/merchant/settlements'
    const unknown = { 'X-Project-Identify-Token': 'a-wrong-project-token' }
    expect((await shop.send('GET', path, { headers: unknown })).status).toBe(401)
    const ofPlugin = { 'X-API-Key': 'a-wrong-project-token' }
    expect((await shop.send('GET', path, { headers: ofPlugin })).status).toBe(401)
    // The password of a proxy in front says nothing of who it is here.
    const basic = { Authorization: `Basic ${Buffer.from('me:secret').toString('base64')}` }
    expect((await admin.send('GET', ADMIN_PATH, { headers: basic })).status).toBe(200)
  })

  it('is refused if there are two of its name', async () => {
    await serve()
    const { cookie = '' } = await signedIn()
    const second = `x402-console=${'B'.repeat(43)}`
    for (const Cookie of [`${cookie}; ${second}`, `${second}; a=b;${cookie}`]) {
      const answer = await sendRaw(api.url, 'GET', ADMIN_PATH, { headers: { Cookie } })
      expect(codeOf(answer)).toEqual([401, 'unauthorized'])
      expect(answer.body.detail).toContain('delete the cookies')
    }
    const Cookie = `other=1; ${cookie}; x402-console2=3; =; ;`
    expect((await sendRaw(api.url, 'GET', ADMIN_PATH, { headers: { Cookie } })).status).toBe(200)
  })

  it('is ignored if it is garbage of any size', async () => {
    await serve()
    for (const value of [
      '',
      'x',
      '%00',
      '"',
      'é',
      'A'.repeat(42),
      'A'.repeat(44),
      'A'.repeat(30_000),
    ]) {
      const headers = { Cookie: `x402-console=${value}` }
      for (const path of [ADMIN_PATH, '/api/v2/merchant/settlements', '/console/session'])
        expect((await sendRaw(api.url, 'GET', path, { headers })).status).toBe(401)
    }
    const many = Array.from({ length: 3000 }, (_, index) => `c${index}=1`).join('; ')
    expect((await sendRaw(api.url, 'GET', ADMIN_PATH, { headers: { Cookie: many } })).status).toBe(
      401,
    )
    expect(api.log.lines.filter((line) => line.startsWith('error'))).toEqual([])
  })

  it('does not let strangers query the database without limit', async () => {
    await serve({ ...OPEN, rateLimit: false })
    const browser = await signedIn()
    expect((await browser.send('GET', ADMIN_PATH)).status).toBe(200)
    const statuses: number[] = []
    for (let index = 0; index < 40; index++) {
      const Cookie = `x402-console=${String(index).padStart(43, 'A')}`
      const answer = await sendRaw(api.url, 'GET', '/api/v2/merchant/settlements', {
        headers: { Cookie },
      })
      if (answer.status === 429) expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0)
      statuses.push(answer.status)
    }
    expect(statuses).toEqual([...Array(30).fill(401), ...Array(10).fill(429)])
    expect((await browser.send('GET', ADMIN_PATH)).status).toBe(200)
  })

  it('admits a session that is new to the process, whatever cookies others at its address have sent', async () => {
    await serve({ ...OPEN, rateLimit: false })
    const fresh = await signedIn()
    const Cookie = `x402-console=${'A'.repeat(43)}`
    const send = () => sendRaw(api.url, 'GET', ADMIN_PATH, { headers: { Cookie } })
    const statuses: number[] = []
    while (statuses.at(-1) !== 429) statuses.push((await send()).status)
    expect((await fresh.send('GET', ADMIN_PATH)).status).toBe(200)
    expect((await send()).status).toBe(429)
  })
})

describe('Signing in', () => {
  it('is blocked for wrong tokens after ten of them, even at once, and never for a valid one', async () => {
    await serve({ ...OPEN, rateLimit: false })
    const browser = new Browser(api)
    for (let count = 0; count < 20; count++)
      expect((await browser.signIn(ADMIN_TOKEN)).status).toBe(200)
    const tries = Array.from({ length: 60 }, (_, index) =>
      new Browser(api).signIn(`a-wrong-token-${index}`),
    )
    const answers = await Promise.all(tries)
    const count = (wanted: number): number =>
      answers.filter(({ status }) => status === wanted).length
    expect([count(401), count(429)]).toEqual([10, 50])
    for (const { status, headers, body } of answers) {
      if (status === 401) expect(body.code).toBe('unauthorized')
      else expect(Number(headers['retry-after'])).toBeGreaterThan(0)
    }
    expect((await new Browser(api).signIn(ADMIN_TOKEN)).status).toBe(200)
    expect((await new Browser(api).signIn('a-wrong-token')).status).toBe(429)
    // Who is signed in, stays so.
    expect((await browser.send('GET', ADMIN_PATH)).status).toBe(200)
    const warnings = api.log.lines.filter((line) => line.includes('Wrong tokens at the console'))
    expect(warnings).toEqual([expect.stringContaining('127.0.0.1')])
  })

  it('names what is wrong with its body', async () => {
    await serve()
    const browser = new Browser(api)
    const post = (body: unknown, headers = {}) =>
      browser.send('POST', '/console/session', { body, headers })
    const bodies = ['{}', '{"token":1}', '{"token":""}', '[]', 'null', '{"tokem":"x"}']
    for (const body of bodies) expect(codeOf(await post(body))).toEqual([400, 'invalid_request'])
    expect(codeOf(await post('{'))).toEqual([400, 'invalid_json'])
    expect(codeOf(await post({ token: 'x'.repeat(1001) }))).toEqual([400, 'invalid_request'])
    expect(codeOf(await post({ token: 'x'.repeat(70_000) }))).toEqual([413, 'payload_too_large'])
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data'])
      expect(codeOf(await post('{"token":"x"}', { 'Content-Type': type }))).toEqual([
        415,
        'unsupported_media_type',
      ])
    expect((await browser.send('POST', '/console/session?x=1', { body: {} })).status).toBe(400)
    expect((await browser.signIn(ADMIN_TOKEN)).status).toBe(200)
  })
})
