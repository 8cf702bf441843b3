import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { request } from 'node:http'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { ErrorRequestHandler } from 'express'
import { silentLogger } from '../../../src/shared/logger.js'
import { balanceOf, useDevnet } from '../../support/devnet.js'
import { paymentHeader } from '../../support/http.js'
import { settlementOf, useShop } from '../../support/shop.js'
import { until } from '../../support/until.js'
import { useCleanup, temporaryFolder } from '../../support/cleanup.js'

const devnet = useDevnet()
const errors: unknown[] = []
const logged: unknown[] = []
const seen: Record<string, unknown> = {}
const folder = temporaryFolder(useCleanup(afterAll))
beforeAll(async () => {
  await writeFile(join(folder, 'report.txt'), 'r'.repeat(300_000))
})

const shop = useShop(
  devnet,
  (app, { x402Protect }) => {
    const charge = x402Protect('$0.01')
    app.use((_req, res, next) => {
      res.set('X-Before', 'kept')
      next()
    })
    // Never charged for.
    app.get('/status', charge, (_req, res) => void res.status(404).json({ error: 'gone' }))
    app.get('/status-code', charge, (_req, res) => {
      res.statusCode = 500
      res.end('broken')
    })
    app.get('/write-head', charge, (_req, res) => void res.writeHead(500).end('broken'))
    app.get('/send-status', charge, (_req, res) => void res.sendStatus(503))
    app.get('/not-modified', charge, (_req, res) => {
      res.set({ ETag: '"secret"', 'X-License': 'secret' }).status(304).send('secret')
    })
    app.get('/fresh', charge, (_req, res) => void res.set('ETag', '"1"').send('fresh'))
    app.get('/throws', charge, () => {
      throw new Error('thrown')
    })
    app.get('/rejects', charge, async () => {
      await Promise.reject(new Error('rejected'))
    })
    app.get('/next-error', charge, (_req, _res, next) => next(new Error('passed on')))
    app.get('/write-then-throw', charge, (_req, res) => {
      res.write('half')
      throw new Error('half way')
    })
    app.get('/destroys', charge, (_req, res) => void res.destroy())
    app.get(
      '/too-large',
      x402Protect('$0.01', { maxHeldBytes: 1000 }),
      (_req, res) => void res.send('x'.repeat(1001)),
    )
    app.get('/never', charge, (req, res) => {
      seen['never'] = req
      res.on('close', () => (seen['closed'] = true))
    })
    app.get('/length/:length/:status', charge, (req, res) => {
      const { length, status } = req.params
      res.writeHead(Number(status), { 'Content-Length': length })
      if (req.query['in'] === 'parts') res.write('f\u00fc')
      res.end(req.query['in'] === 'parts' ? 'nf' : 'f\u00fcnf')
    })
    // Charged for, whichever way they are written.
    app.get(
      '/exactly',
      x402Protect('$0.01', { maxHeldBytes: 1000 }),
      (_req, res) => void res.send('x'.repeat(1000)),
    )
    app.get('/json', charge, (_req, res) => void res.json({ a: 1 }))
    app.get('/redirect', charge, (_req, res) => res.redirect('https://cdn.example/signed'))
    app.get('/empty', charge, (_req, res) => void res.status(204).end())
    app.get('/awaited-writes', charge, async (_req, res) => {
      for (const part of ['one ', 'two ', 'three'])
        await new Promise<void>((resolve, reject) => {
          res.write(part, (error) => (error ? reject(error) : resolve()))
        })
      seen['headersSent'] = res.headersSent
      seen['endedBefore'] = res.writableEnded
      res.end(() => (seen['endCallback'] = true))
      seen['endedAfter'] = res.writableEnded
      res.end('ignored')
    })
    app.get('/written-head', charge, (_req, res) => {
      res.writeHead(201, 'Made', { 'X-Made': 'yes', 'Content-Type': 'text/plain' })
      res.flushHeaders()
      res.write(Buffer.from('bo'))
      res.end('dy', 'utf8')
    })
    app.get('/encodings', charge, (_req, res) => {
      res.write('6869', 'hex')
      res.end(new Uint8Array([33]))
    })
    app.get('/piped', charge, (_req, res) => {
      Readable.from(Array.from({ length: 300 }, () => Buffer.alloc(1000, 'p'))).pipe(res)
    })
    app.get('/pipeline', charge, async (_req, res) => {
      await pipeline(Readable.from(['a', 'b', 'c']), res)
      seen['pipelined'] = true
    })
    app.get('/file', charge, (_req, res) => res.sendFile(join(folder, 'report.txt')))
    app.get('/cached', charge, (_req, res) => void res.set('Cache-Control', 'max-age=60').send('c'))
    const fail: ErrorRequestHandler = (error, _req, res, next) => {
      errors.push(error)
      if (res.headersSent) return next(error)
      res.status(500).send('failed')
    }
    app.use(fail)
  },
  () => ({
    logger: {
      ...silentLogger,
      error: (_message: string, fields?: object) => void logged.push(fields),
    },
  }),
)
const payer = () => devnet.payers[0]!
const earned = () => balanceOf(devnet, devnet.merchant.address)

describe('an answer that is not charged', () => {
  it.each([
    ['/status', 404, '{"error":"gone"}'],
    ['/status-code', 500, 'broken'],
    ['/write-head', 500, 'broken'],
    ['/send-status', 503, 'Service Unavailable'],
    ['/throws', 500, 'failed'],
    ['/rejects', 500, 'failed'],
    ['/next-error', 500, 'failed'],
  ])('goes out as it is: %s', async (path, status, body) => {
    const before = await earned()
    const payment = await shop.sign(path, payer())
    const response = await shop.pay(path, payment)
    expect(response.status).toBe(status)
    expect(await response.text()).toBe(body)
    expect(response.headers.get('payment-response')).toBeNull()
    expect(response.headers.get('x-before')).toBe('kept')
    expect(await earned()).toBe(before)
    // The payment is unused: it is good for another try.
    expect((await shop.pay(path, payment)).status).toBe(status)
  })

  it('is replaced by a 500 in the app’s error handler if it exceeds maxHeldBytes', async () => {
    const before = await earned()
    const payment = await shop.sign('/too-large', payer())
    const response = await shop.pay('/too-large', payment)
    expect(response.status).toBe(500)
    expect(await response.json()).toMatchObject({ code: 'answer_too_large' })
    expect(response.headers.get('x-before')).toBe('kept')
    expect(response.headers.get('etag')).toBeNull()
    await until(() => errors.length > 0)
    expect(errors).toContainEqual(expect.objectContaining({ option: 'maxHeldBytes' }))
    expect(await earned()).toBe(before)
  })

  it.each(['/length/4/200', '/length/6/200', '/length/4/200?in=parts', '/length/none/200'])(
    'is replaced by a 500 if its Content-Length is not that of its body: %s',
    async (path) => {
      const before = await earned()
      const response = await shop.buy(path, payer())
      expect([response.status, await response.text()]).toEqual([500, 'failed'])
      expect(errors.at(-1)).toMatchObject({ option: 'Content-Length' })
      expect(logged.at(-1)).toMatchObject({ method: 'GET', path: path.replace('?in=parts', '') })
      expect(await earned()).toBe(before)
    },
  )

  it('carries nothing of its handler if it is a 304', async () => {
    const before = await earned()
    const response = await shop.buy('/not-modified', payer())
    expect(response.status).toBe(304)
    expect(response.headers.get('x-license')).toBeNull()
    expect(response.headers.get('etag')).toBeNull()
    expect(response.headers.get('cache-control')).toBe('no-store')
    expect(response.headers.get('x-before')).toBe('kept')
    expect(await earned()).toBe(before)
  })

  it('is never a 304 for a payment: a paid answer ignores conditions and comes whole', async () => {
    const before = await earned()
    const payment = await shop.sign('/fresh', payer())
    // Not by fetch, which asks past every cache as soon as it is given an If-None-Match.
    const headers = { ...paymentHeader(payment), 'If-None-Match': '"1"' }
    const [response] = await once(request(`${shop.url}/fresh`, { headers }).end(), 'response')
    expect(response.resume().statusCode).toBe(200)
    expect(await earned()).toBe(before + 10_000n)
  })

  it.each(['/write-then-throw', '/destroys'])('breaks off: %s', async (path) => {
    const before = await earned()
    const payment = await shop.sign(path, payer())
    await expect(shop.pay(path, payment)).rejects.toThrow(/fetch failed|terminated/)
    expect(await earned()).toBe(before)
  })

  it('is the one of a client that is gone', async () => {
    const before = await earned()
    const payment = await shop.sign('/never', payer())
    const client = request(`${shop.url}/never`, { headers: paymentHeader(payment) }).end()
    client.on('error', () => undefined)
    await until(() => seen['never'] !== undefined)
    client.destroy()
    await until(() => seen['closed'] !== undefined)
    expect(await earned()).toBe(before)
    // It was given back: the same payment reaches the handler again.
    seen['never'] = undefined
    const again = request(`${shop.url}/never`, { headers: paymentHeader(payment) }).end()
    again.on('error', () => undefined)
    await until(() => seen['never'] !== undefined)
    again.destroy()
  })
})

describe('an answer that is held until it is paid', () => {
  it.each([
    ['/exactly', 200, 'x'.repeat(1000)],
    ['/json', 200, '{"a":1}'],
    ['/empty', 204, ''],
    ['/awaited-writes', 200, 'one two three'],
    ['/written-head', 201, 'body'],
    ['/encodings', 200, 'hi!'],
    ['/piped', 200, 'p'.repeat(300_000)],
    ['/pipeline', 200, 'abc'],
    ['/file', 200, 'r'.repeat(300_000)],
    ['/length/5/200', 200, 'f\u00fcnf'],
    ['/length/5/200?in=parts', 200, 'f\u00fcnf'],
    ['/length/99/204', 204, ''],
  ])('arrives whole and is charged once: %s', async (path, status, body) => {
    const before = await earned()
    const response = await shop.buy(path, payer())
    expect(response.status).toBe(status)
    expect(await response.text()).toBe(body)
    expect(settlementOf(response).success).toBe(true)
    expect(await earned()).toBe(before + 10_000n)
  })

  it('looks like any other response to its handler', () => {
    expect(seen).toMatchObject({
      headersSent: true,
      endedBefore: false,
      endedAfter: true,
      endCallback: true,
      pipelined: true,
    })
  })

  it('keeps the head that its handler has written', async () => {
    const response = await shop.buy('/written-head', payer())
    expect(response.statusText).toBe('Made')
    expect(response.headers.get('x-made')).toBe('yes')
    expect(response.headers.get('content-type')).toBe('text/plain')
    expect(response.headers.get('x-before')).toBe('kept')
  })

  it('has no body for HEAD, whatever length its head names', async () => {
    const before = await earned()
    const headers = paymentHeader(await shop.sign('/length/99/200', payer()))
    const response = await fetch(`${shop.url}/length/99/200`, { method: 'HEAD', headers })
    expect([response.status, response.headers.get('content-length')]).toEqual([200, '99'])
    expect(await earned()).toBe(before + 10_000n)
  })

  it('can be a redirection, which is charged', async () => {
    const before = await earned()
    const payment = await shop.sign('/redirect', payer())
    const response = await shop.pay('/redirect', payment, { redirect: 'manual' })
    expect(response.status).toBe(302)
    expect(await earned()).toBe(before + 10_000n)
  })

  it('can be cached privately for as long as its handler says', async () => {
    const response = await shop.buy('/cached', payer())
    expect(response.headers.get('cache-control')).toBe('private, max-age=60')
  })
})
