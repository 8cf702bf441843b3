// A shop of large files in a process of its own, so that a test sees whether it survives. It is told
// how to be by FILES_SHOP (JSON) and prints `port=…` once it answers.
import { createReadStream } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import type { ErrorRequestHandler, Express, RequestHandler } from 'express'
import { createGateway } from '../../src/gateway/gateway.js'
import type { GatewayOptions } from '../../src/gateway/config/options.js'

/** How the shop is to be. */
export interface FilesShopOptions {
  readonly express: 'express' | 'express4'
  readonly gateway: GatewayOptions
  readonly maxHeldBytes: number
  /** What it sells: a file far larger than that. */
  readonly file: string
}

const shop = JSON.parse(process.env['FILES_SHOP'] ?? '') as FilesShopOptions
const { default: express } = (await import(shop.express)) as { default: () => Express }
const gateway = createGateway(shop.gateway)
const app = express()
const { file } = shop
const sources = new Set<Readable>()
const read = (): Readable => {
  const source = createReadStream(file)
  sources.add(source)
  source.once('close', () => sources.delete(source))
  return source
}
const chunk = Buffer.alloc(64 * 1024, 'SECRET ')
let waiting = 0

const handlers: Record<string, RequestHandler> = {
  pipe: (_req, res) => void read().pipe(res),
  pipeline: (_req, res, next) => void pipeline(read(), res).catch(next),
  'send-file': (_req, res) => res.sendFile(file),
  download: (_req, res) => res.download(file),
  'write-loop': (_req, res) => {
    for (let times = 0; times < 200; times++) res.write(chunk)
    res.end('SECRET')
  },
  // Reads an upstream that never ends.
  endless: (_req, res) => {
    const source = new Readable({ read: () => void setImmediate(() => source.push(chunk)) })
    sources.add(source)
    source.once('close', () => sources.delete(source))
    source.pipe(res)
  },
  'awaited-writes': async (_req, res, next) => {
    waiting++
    try {
      for (;;)
        await new Promise<void>((resolve, reject) => {
          res.write(chunk, (error) => (error ? reject(error) : resolve()))
        })
    } catch (error) {
      next(error)
    } finally {
      waiting--
    }
  },
  events: (_req, res) => {
    res.writeHead(200, { 'Content-Type': 'text/event-stream', 'X-License': 'SECRET' })
    const timer = setInterval(() => res.write(chunk), 1)
    waiting++
    res.on('close', () => {
      waiting--
      clearInterval(timer)
    })
  },
  // Goes on with its response long after it was given up.
  late: async (_req, res, next) => {
    try {
      for (let times = 0; times < 40; times++) res.write(chunk)
      await sleep(150)
      res.setHeader('X-License', 'SECRET')
      res.append('Set-Cookie', 'license=SECRET')
      res.removeHeader('X-Powered-By')
      res.writeHead(201, { 'X-License': 'SECRET' })
      res.write('SECRET')
      res.flushHeaders()
      res.status(200).json({ license: 'SECRET' })
    } catch (error) {
      next(error)
    }
  },
  'early-hints': (_req, res) => {
    res.writeEarlyHints({ link: '</SECRET>; rel=preload' })
    res.writeProcessing()
    read().pipe(res)
  },
}

for (const errors of ['plain', 'slow', 'careless']) {
  const charge = gateway.x402Protect('$0.01', { maxHeldBytes: shop.maxHeldBytes })
  for (const [name, handler] of Object.entries(handlers))
    app.get(`/${errors}/${name}`, charge, handler)
}
app.get('/state', (_req, res) => void res.json({ sources: sources.size, waiting }))
const slow: ErrorRequestHandler = (error, _req, res, next) => {
  setTimeout(() => (res.headersSent ? next(error) : res.status(500).send('failed')), 300)
}
const careless: ErrorRequestHandler = (error, _req, res, _next) => {
  res
    .status(500)
    .set('X-Failed', 'yes')
    .send(`failed: ${String(error)}`)
}
app.use('/slow', slow)
app.use('/careless', careless)

const server = app.listen(0, '127.0.0.1', () => {
  process.stdout.write(`port=${(server.address() as AddressInfo).port}\n`)
})
server.keepAliveTimeout = 0
