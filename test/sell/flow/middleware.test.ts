import { randomBytes } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import compression from 'compression'
import cors from 'cors'
import express, { type Express, type RequestHandler } from 'express'
import session from 'express-session'
import express4 from 'express4'
import helmet from 'helmet'
import morgan from 'morgan'
import { createGateway, type Gateway } from '../../../src/gateway/gateway.js'
import type { PaymentFlow } from '../../../src/shared/protocol/payment.js'
import { balanceOf, shopOptions, useDevnet } from '../../support/devnet.js'
import { listen, paymentHeader } from '../../support/http.js'
import { paymentRequiredOf, settlementOf } from '../../support/shop.js'
import { signPayment } from '../../support/sign-payment.js'
import { until } from '../../support/until.js'
import { useOpened } from '../../support/use-opened.js'
import { useCleanup, temporaryFolder } from '../../support/cleanup.js'

const devnet = useDevnet()
const earned = () => balanceOf(devnet, devnet.merchant.address)
/** Half of it compresses well, half of it not at all. */
const text = (bytes: number): string =>
  'compress me '.repeat(Math.ceil(bytes / 24)).slice(0, bytes / 2) +
  randomBytes(bytes / 4).toString('hex')
const files = { small: text(200), medium: text(40_000), large: text(500_000) }
/** What a handler waits for between two events. */
let betweenEvents: Promise<void> = Promise.resolve()
const folder = temporaryFolder(useCleanup(afterAll))
beforeAll(async () => {
  for (const [name, content] of Object.entries(files))
    await writeFile(join(folder, `${name}.txt`), content)
})

const fileOf = (size: string): string => join(folder, `${size}.txt`)
const contentOf = (size: string): string => files[size as keyof typeof files]
const chunksOf = (content: string): string[] => content.match(/[\s\S]{1,10000}/g) ?? []

/** All ways to write an answer. */
const ways: Record<string, (size: string, ...route: Parameters<RequestHandler>) => unknown> = {
  send: (size, _req, res) => res.send(contentOf(size)),
  json: (size, _req, res) => res.json({ content: contentOf(size) }),
  end: (size, _req, res) => res.type('txt').end(contentOf(size)),
  write: (size, _req, res) => {
    res.type('txt')
    for (const chunk of chunksOf(contentOf(size))) res.write(chunk)
    res.end()
  },
  'awaited-write': async (size, _req, res) => {
    res.type('txt')
    for (const chunk of chunksOf(contentOf(size)))
      if (!res.write(chunk)) await new Promise((resolve) => res.once('drain', resolve))
    res.end()
  },
  head: (size, _req, res) =>
    res.writeHead(200, { 'Content-Type': 'text/plain' }).end(contentOf(size)),
  pipe: (size, _req, res) => createReadStream(fileOf(size)).pipe(res.type('txt')),
  pipeline: (size, _req, res, next) =>
    pipeline(Readable.from(chunksOf(contentOf(size))), res.type('txt')).catch(next),
  'send-file': (size, _req, res) => res.sendFile(fileOf(size)),
  download: (size, _req, res) => res.download(fileOf(size)),
}

/** The middleware of ordinary apps, each with its own idea of a response. */
function ordinary(log: string[]): RequestHandler[] {
  return [
    morgan('tiny', { stream: { write: (line) => void log.push(line) } }) as RequestHandler,
    helmet() as RequestHandler,
    cors() as RequestHandler,
    compression(),
    session({ secret: 'test', resave: true, saveUninitialized: true }),
  ]
}

const FLOWS: readonly PaymentFlow[] = ['authorization', 'upfront']

function routes(app: Express, { x402Protect }: Gateway, log: string[]): void {
  const before = ordinary(log)
  const behind = ordinary([])
  for (const paymentFlow of FLOWS) {
    const charge = x402Protect('$0.01', { paymentFlow })
    const chains = { front: [...before, charge], behind: [charge, ...behind] }
    for (const [place, chain] of Object.entries(chains)) {
      const root = `/${paymentFlow}/${place}`
      app.use(`${root}/static`, ...chain, express.static(folder))
      for (const [way, write] of Object.entries(ways))
        app.get(`${root}/${way}/:size`, ...chain, (req, res, next) => {
          // A session that changes is stored before the answer ends.
          ;(req.session as unknown as Record<string, unknown>)['paid'] = true
          void write(req.params['size'] as string, req, res, next)
        })
      app.get(`${root}/events`, ...chain, (_req, res) => {
        res.writeHead(200, { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-transform' })
        res.write('data: first\n\n')
        void betweenEvents.then(() => res.end('data: last\n\n'))
      })
    }
  }
}

describe.each([
  ['express', express],
  ['express4', express4],
])('ordinary middleware (%s)', (_name, makeApp) => {
  const log: string[] = []
  const gateway = useOpened(() => createGateway(shopOptions(devnet)))
  const server = useOpened(() => {
    const app = makeApp()
    routes(app, gateway, log)
    return listen(app)
  })
  async function buy(path: string): Promise<Response> {
    const [accepted] = paymentRequiredOf(await fetch(server.url + path)).accepts
    const payment = await signPayment(devnet.payers[0]!, accepted!)
    return fetch(server.url + path, { headers: paymentHeader(payment) })
  }

  const cases = FLOWS.flatMap((flow) =>
    ['front', 'behind'].flatMap((place) =>
      [...Object.keys(ways), 'static'].map((way) => [`/${flow}/${place}/${way}`]),
    ),
  )
  it.each(cases)('lets every answer through whole, and charges once: %s', async (path) => {
    for (const size of Object.keys(files)) {
      const before = await earned()
      const url = path.endsWith('static') ? `${path}/${size}.txt` : `${path}/${size}`
      const response = await buy(url)
      expect(response.status).toBe(200)
      expect(settlementOf(response).success).toBe(true)
      const body = await response.text()
      const content = path.endsWith('json') ? (JSON.parse(body).content as string) : body
      expect(content === contentOf(size)).toBe(true)
      expect(response.headers.get('cache-control')).toMatch(/^private/)
      expect(response.headers.get('x-content-type-options')).toBe('nosniff')
      expect(response.headers.get('access-control-allow-origin')).toBe('*')
      expect(response.headers.get('set-cookie')).toContain('connect.sid')
      // As without us: what is small is not compressed.
      if (size === 'large') expect(response.headers.get('content-encoding')).not.toBeNull()
      expect(await earned()).toBe(before + 10_000n)
    }
  })

  it('logs each request once', async () => {
    log.length = 0
    await (await buy('/authorization/front/send/large')).text()
    await until(() => log.length >= 2)
    expect(log.map((line) => line.split(' ').slice(0, 3).join(' '))).toEqual([
      'GET /authorization/front/send/large 402',
      'GET /authorization/front/send/large 200',
    ])
  })

  it.each(['front', 'behind'])('streams events in the upfront flow (%s)', async (place) => {
    let sendLast: () => void = () => undefined
    betweenEvents = new Promise((resolve) => (sendLast = resolve))
    const response = await buy(`/upfront/${place}/events`)
    let body = ''
    for await (const chunk of response.body!) {
      body += Buffer.from(chunk as Uint8Array).toString()
      // The last one is not sent before the first has arrived.
      if (body === 'data: first\n\n') sendLast()
    }
    expect(body).toBe('data: first\n\ndata: last\n\n')
  })

  it.each(['front', 'behind'])(
    'delivers events all at once in the flow authorization (%s)',
    async (place) => {
      const response = await buy(`/authorization/${place}/events`)
      expect(await response.text()).toBe('data: first\n\ndata: last\n\n')
    },
  )
})
