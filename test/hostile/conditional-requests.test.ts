import { writeFile } from 'node:fs/promises'
import { once } from 'node:events'
import { request, type IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { Express } from 'express'
import express4 from 'express4'
import express from 'express'
import { createGateway, type Gateway } from '../../src/gateway/gateway.js'
import { balanceOf, shopOptions, useDevnet } from '../support/devnet.js'
import { listen, paymentHeader } from '../support/http.js'
import { paymentRequiredOf } from '../support/shop.js'
import { signPayment } from '../support/sign-payment.js'
import { startSharedCache } from './shared-cache.js'
import { useOpened } from '../support/use-opened.js'
import { useCleanup, temporaryFolder } from '../support/cleanup.js'

const devnet = useDevnet()
const earned = () => balanceOf(devnet, devnet.merchant.address)
const folder = temporaryFolder(useCleanup(afterAll))
beforeAll(async () => {
  await writeFile(join(folder, 'report.txt'), 'THE PAID REPORT')
})

/** What reached the handlers of conditions. */
let seen: unknown

function routes(app: Express, { x402Protect }: Gateway): void {
  const charge = x402Protect('$0.01')
  app.get('/free', (req, res) => void res.json({ condition: req.headers['if-none-match'] }))
  app.get('/item', charge, (req, res) => {
    seen = {
      headers: Object.keys(req.headers).filter((name) => /^(if-|range)/.test(name)),
      raw: req.rawHeaders.filter((name) => /^(if-|range)/i.test(name)),
      distinct: Object.keys(req.headersDistinct).filter((name) => /^(if-|range)/.test(name)),
    }
    res.set({ 'X-License': 'SECRET', 'Set-Cookie': 'session=SECRET' }).send('THE PAID ITEM')
  })
  app.all('/version', charge, (req, res) => {
    const { 'if-match': wanted, 'if-none-match': none, range } = req.headers
    if (wanted !== undefined && wanted !== '"7"') return void res.status(412).send('SECRET')
    if (none === '*') return void res.status(412).send('SECRET')
    res.json({ wanted, range })
  })
  app.get('/file', charge, (_req, res) => res.sendFile(join(folder, 'report.txt')))
  app.get('/says/:status', charge, (req, res) => {
    res.set({ ETag: '"SECRET"', 'X-License': 'SECRET', 'Content-Range': 'bytes */15' })
    res.status(Number(req.params['status'])).send('SECRET')
  })
  for (const paymentFlow of ['authorization', 'upfront'] as const) {
    const paid = x402Protect('$0.01', { paymentFlow })
    const cached = express.static(folder, { maxAge: '1h' })
    app.use(`/${paymentFlow}/static`, paid, cached)
    app.get(`/${paymentFlow}/head`, paid, (_req, res) => {
      res.writeHead(200, { 'cache-control': 'public, s-maxage=3600, max-age=60', ETag: '"1"' })
      res.end('THE PAID REPORT')
    })
    app.get(`/${paymentFlow}/targeted`, paid, (_req, res) => {
      res.set({ 'CDN-Cache-Control': 'max-age=3600', 'Surrogate-Control': 'max-age=3600' })
      res.set({ 'X-Accel-Expires': '3600', 'Cache-Control': 'private="set-cookie", max-age=60' })
      res.send('THE PAID REPORT')
    })
    app.get(`/${paymentFlow}/expires`, paid, (_req, res) => {
      res.set('Expires', new Date(Date.now() + 3_600_000).toUTCString()).send('THE PAID REPORT')
    })
    app.get(`/${paymentFlow}/streamed`, paid, (_req, res) => {
      res.setHeader('Cache-Control', ['public', 'immutable', 'max-age=60'])
      res.write('THE PAID ')
      res.end('REPORT')
    })
  }
}

describe.each([
  ['express', express],
  ['express4', express4],
])('a paid route (%s)', (_name, makeApp) => {
  const gateway = useOpened(() => createGateway(shopOptions(devnet)))
  const server = useOpened(() => {
    const app = makeApp()
    routes(app, gateway)
    return listen(app)
  })
  const cache = useOpened(() => startSharedCache(server.url))

  /** Not by fetch, which has its own way with conditions. */
  async function get(url: string, headers: Record<string, string> = {}, method = 'GET') {
    const sent = request(url, { headers, method }).end()
    const [answer] = (await once(sent, 'response')) as [IncomingMessage]
    let body = ''
    for await (const chunk of answer) body += String(chunk)
    return { status: answer.statusCode, headers: answer.headers, body }
  }
  async function sign(path: string): Promise<Record<string, string>> {
    const [accepted] = paymentRequiredOf(await fetch(server.url + path)).accepts
    return paymentHeader(await signPayment(devnet.payers[0]!, accepted!))
  }

  it.each([
    [{ 'If-None-Match': '*' }],
    [{ 'If-Modified-Since': new Date().toUTCString() }],
    [{ 'If-Match': '"other"' }],
    [{ 'If-Unmodified-Since': new Date(0).toUTCString() }],
    [{ Range: 'bytes=0-2', 'If-Range': '"other"' }],
  ])('gives no free sample to a condition: %j', async (condition) => {
    for (const path of ['/item', '/file']) {
      const before = await earned()
      const answer = await get(server.url + path, { ...(await sign(path)), ...condition })
      expect(answer.status).toBe(200)
      expect(answer.body).toContain('THE PAID')
      expect(await earned()).toBe(before + 10_000n)
    }
    expect(seen).toEqual({ headers: [], raw: [], distinct: [] })
  })

  it.each(['PUT', 'PATCH', 'DELETE', 'POST'])(
    'leaves the conditions of %s to it',
    async (method) => {
      const write = async (condition: Record<string, string>) => {
        const asked = await fetch(`${server.url}/version`, { method })
        const payment = await signPayment(devnet.payers[0]!, paymentRequiredOf(asked).accepts[0]!)
        return get(`${server.url}/version`, { ...paymentHeader(payment), ...condition }, method)
      }
      const before = await earned()
      expect(await write({ 'If-Match': '"3"' })).toMatchObject({ status: 412, body: '' })
      expect(await write({ 'If-None-Match': '*' })).toMatchObject({ status: 412, body: '' })
      expect(await earned()).toBe(before)
      const { body } = await write({ 'If-Match': '"7"', 'If-Range': '"7"', Range: 'bytes=0-1' })
      expect(JSON.parse(body)).toEqual({ wanted: '"7"', range: 'bytes=0-1' })
      expect(await earned()).toBe(before + 10_000n)
    },
  )

  it('hides the conditions of HEAD, as those of GET', async () => {
    const paid = await sign('/version')
    const answer = await get(`${server.url}/version`, { ...paid, 'If-Match': '"3"' }, 'HEAD')
    expect(answer.status).toBe(200)
  })

  it('honours the conditions of free responses', async () => {
    const free = await get(`${server.url}/free`, { 'If-None-Match': '"1"' })
    expect(JSON.parse(free.body)).toEqual({ condition: '"1"' })
  })

  it('sells the requested range, and nothing for a range that does not fit', async () => {
    const before = await earned()
    const part = await get(`${server.url}/file`, { ...(await sign('/file')), Range: 'bytes=4-7' })
    expect([part.status, part.body]).toEqual([206, 'PAID'])
    expect(await earned()).toBe(before + 10_000n)
    const out = await get(`${server.url}/file`, { ...(await sign('/file')), Range: 'bytes=99-' })
    expect([out.status, out.body]).toEqual([416, ''])
    for (const name of ['content-range', 'etag', 'last-modified', 'accept-ranges'])
      expect(out.headers[name]).toBeUndefined()
    expect(await earned()).toBe(before + 10_000n)
  })

  it.each([304, 412, 416])('carries nothing of its handler in an uncharged %i', async (status) => {
    const before = await earned()
    const answer = await get(`${server.url}/says/${status}`, await sign(`/says/${status}`))
    expect(answer.status).toBe(status)
    expect(JSON.stringify(answer)).not.toContain('SECRET')
    expect(answer.headers['content-range']).toBeUndefined()
    expect(await earned()).toBe(before)
  })

  it('keeps other errors of its handler as they are', async () => {
    const answer = await get(`${server.url}/says/404`, await sign('/says/404'))
    expect([answer.status, answer.body, answer.headers.etag]).toEqual([404, 'SECRET', '"SECRET"'])
  })

  it.each(
    ['static/report.txt', 'head', 'targeted', 'expires', 'streamed'].flatMap((path) => [
      [`/authorization/${path}`],
      [`/upfront/${path}`],
    ]),
  )('is not given away by a shared cache: %s', async (path) => {
    const before = await earned()
    const bought = await get(cache.url + path, await sign(path))
    expect([bought.status, bought.body]).toEqual([200, 'THE PAID REPORT'])
    expect(bought.headers['cache-control']).toMatch(/^private(,|$)/)
    expect(bought.headers['cache-control']).not.toMatch(/public|s-maxage/)
    expect(bought.headers['cdn-cache-control']).toBeUndefined()

    const unpaid = await get(cache.url + path)
    expect(unpaid.status).toBe(402)
    expect(unpaid.body).not.toContain('THE PAID')
    // Nor by one authorization, which would never be charged, again and again.
    const one = await sign(path)
    const etag = bought.headers.etag ?? '"1"'
    expect((await get(cache.url + path, { ...one, 'If-None-Match': etag })).status).toBe(200)
    expect((await get(cache.url + path, { ...one, 'If-None-Match': etag })).status).toBe(402)
    expect(await earned()).toBe(before + 20_000n)
  })

  it('keeps the cache directives of its handler for its payer', async () => {
    const answer = await get(`${server.url}/upfront/streamed`, await sign('/upfront/streamed'))
    expect(answer.headers['cache-control']).toBe('private, immutable, max-age=60')
  })
})
