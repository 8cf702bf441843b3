/** Handlers that answer twice, fail after their answer, or write what Node refuses. */
import { connect } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import express5, { type Express, type RequestHandler } from 'express'
import express4 from 'express4'
import { generatePaymentId } from '@x402/extensions'
import type { Server, ServerResponse } from 'node:http'
import { createGateway, type Gateway } from '../../../src/gateway/gateway.js'
import { balanceOf, shopOptions, useDevnet } from '../../support/devnet.js'
import { decodeDocument, listen, paymentHeader, type TestServer } from '../../support/http.js'
import type { PaymentRequired } from '../../../src/shared/protocol/payment.js'
import { signPayment } from '../../support/sign-payment.js'
import { until } from '../../support/until.js'

const PRICE = 10_000n
const devnet = useDevnet()
const earned = () => balanceOf(devnet, devnet.merchant.address)
const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

/** A handler, and whether its answer costs something. */
interface Row {
  readonly charged: boolean
  readonly handle: RequestHandler
}

const rows: Readonly<Record<string, Row>> = {
  'answers twice': {
    charged: true,
    handle: (_req, res) => {
      res.json({ data: 1 })
      res.status(404).json({ error: 'late', more: 'x'.repeat(50) })
    },
  },
  'answers twice, first at greater length': {
    charged: true,
    handle: (_req, res) => {
      res.json({ data: 'x'.repeat(40) })
      res.status(404).json({ error: 1 })
    },
  },
  'answers with an error, and then well': {
    charged: false,
    handle: (_req, res) => {
      res.status(404).json({ error: 1 })
      res.json({ data: 1 })
    },
  },
  'fails after its answer': {
    charged: true,
    handle: (_req, res, next) => {
      res.json({ data: 1 })
      next(new Error('audit'))
    },
  },
  'fails a moment after its answer': {
    charged: true,
    handle: (_req, res, next) => {
      res.json({ data: 1 })
      void sleep(1).then(() => next(new Error('audit')))
    },
  },
  'redirects after its answer': {
    charged: true,
    handle: (_req, res) => {
      res.json({ data: 1 })
      res.redirect('/elsewhere')
    },
  },
  'writes its head twice': {
    charged: true,
    handle: (_req, res) => {
      res.writeHead(200, { 'Content-Type': 'text/plain' })
      res.end('first')
      res.writeHead(404, { 'Content-Type': 'text/html' })
    },
  },
  'destroys its answer': {
    charged: true,
    handle: (_req, res) => {
      res.json({ data: 1 })
      res.destroy()
    },
  },
  'has a status that is no status': {
    charged: false,
    handle: (_req, res) => {
      res.statusCode = 0
      res.end('nothing')
    },
  },
  'writes a head with a status that is no status': {
    charged: false,
    handle: (_req, res) => void res.writeHead(99).end('nothing'),
  },
  'has a reason that no head can hold': {
    charged: false,
    handle: (_req, res) => {
      res.statusMessage = 'Schön ✓'
      res.send('nothing')
    },
  },
  'has a reason of two lines': {
    charged: false,
    handle: (_req, res) => void res.writeHead(200, 'OK\r\nSet-Cookie: a=b').end('nothing'),
  },
  'announces trailers with a length': {
    charged: false,
    handle: (_req, res) => {
      res.setHeader('Trailer', 'X-Sum')
      res.setHeader('Content-Length', 7)
      try {
        res.end('nothing')
      } catch (error) {
        res.removeHeader('Trailer')
        res.removeHeader('Content-Length')
        res.status(500).end((error as NodeJS.ErrnoException).code)
      }
    },
  },
  'writes more than it said, strictly': {
    charged: false,
    handle: (_req, res) => {
      ;(res as ServerResponse).strictContentLength = true
      res.setHeader('Content-Length', 3)
      res.end('nothing')
    },
  },
  'fails in a stream, and then sets another status': {
    charged: true,
    handle: (_req, res) => {
      res.writeHead(200, { 'Content-Type': 'video/mp4' })
      res.status(404).end()
    },
  },
  'writes null': {
    charged: true,
    handle: (_req, res) => {
      const codes = [null, 5].map((chunk) => {
        try {
          res.write(chunk)
          return undefined
        } catch (error) {
          return (error as NodeJS.ErrnoException).code
        }
      })
      res.json(codes)
    },
  },
  'changes headers after its first byte': {
    charged: true,
    handle: (_req, res) => {
      res.write('first')
      const codes = (
        [
          () => res.setHeader('X-Late', '1'),
          () => res.removeHeader('X-Powered-By'),
          () => res.appendHeader('X-Late', '1'),
          () => res.setHeaders(new Map([['X-Late', '1']])),
          () => res.writeHead(500),
        ] as const
      ).map((change) => {
        try {
          change()
          return undefined
        } catch (error) {
          return (error as NodeJS.ErrnoException).code
        }
      })
      res.statusCode = 500
      res.end(JSON.stringify(codes))
    },
  },
  'sends trailers': {
    charged: true,
    handle: (_req, res) => {
      res.setHeader('Trailer', 'X-Sum')
      res.write('bytes')
      res.addTrailers({ 'X-Sum': '5' })
      res.end()
    },
  },
}

/** Sends a request, and collects what the socket gives until it is silent after a complete answer. */
async function exchange(port: number, path: string, headers: object): Promise<string> {
  const socket = connect(port, '127.0.0.1')
  const lines = Object.entries({ Host: 'localhost', ...headers }).map(
    ([name, value]) => `${name}: ${value}\r\n`,
  )
  socket.write(`GET ${path} HTTP/1.1\r\n${lines.join('')}\r\n`)
  let received = ''
  let isOver = false
  socket.setEncoding('latin1').on('data', (data: string) => (received += data))
  socket.on('error', () => undefined)
  socket.on('close', () => (isOver = true))
  // A second answer on the connection shows where the first one ends.
  await until(() => isOver || received.includes('\r\n\r\n'))
  if (!isOver) socket.write(`GET /end HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`)
  await until(() => isOver)
  return received
}

/** The first answer: its headers without those that differ by what they are, and its body. */
function answerIn(received: string): { readonly head: string[]; readonly body: string } {
  const [head = '', ...rest] = received.split('\r\n\r\n')
  // Stack traces differ.
  const isTrace = head.includes('Content-Security-Policy')
  const own =
    /^(date|(x-)?payment-response|payment-charged|cache-control|access-control-expose-headers|connection|keep-alive):/i
  const lines = head.split('\r\n').filter((line) => !own.test(line))
  const bytes = rest.join('\r\n\r\n').split('HTTP/1.1 200 OK')[0] ?? ''
  // What was written in parts may come in one.
  const body = head.includes('chunked') ? bytes.replaceAll(/(^|\r\n)[0-9a-f]+\r\n/g, '') : bytes
  return isTrace
    ? { head: lines.filter((line) => !line.startsWith('Content-Length')).toSorted(), body: '' }
    : { head: lines.toSorted(), body }
}

describe.each([
  ['Express 5', express5],
  ['Express 4', express4],
] as const)('a paid handler of %s that', (_name, express) => {
  let gateway: Gateway
  let server: TestServer
  beforeAll(async () => {
    gateway = createGateway(shopOptions(devnet))
    const app = (express as () => Express)()
    // Without its log and stack traces.
    app.set('env', 'test')
    Object.entries(rows).forEach(([, { handle }], index) => {
      app.get(`/free/${index}`, handle)
      app.get(`/paid/${index}`, gateway.x402Protect('$0.01'), handle)
    })
    let isBroken = true
    app.get(
      '/hook',
      (req, res, next) => {
        const { writeHead } = res
        // Asked for now: the handler does not see its payment.
        const isPaid = req.headers['payment-signature'] !== undefined
        Object.assign(res, {
          writeHead(...head: unknown[]) {
            const fails = isBroken && isPaid
            isBroken &&= !fails
            if (fails) throw new Error('no session')
            return Reflect.apply(writeHead, res, head) as ServerResponse
          },
        })
        next()
      },
      gateway.x402Protect('$0.01'),
      (_req, res) => void res.send('GOODS'),
    )
    app.get('/end', (_req, res) => void res.end())
    server = await listen(app)
  })
  afterAll(async () => {
    await server.close()
    await gateway.close()
  })

  async function sign(path: string, extensions?: object): Promise<object> {
    const unpaid = await fetch(server.url + path)
    const document = decodeDocument<PaymentRequired>(unpaid.headers.get('payment-required'))
    return { ...(await signPayment(devnet.payers[0]!, document.accepts[0]!)), extensions }
  }

  it.each(Object.entries(rows))('%s is answered as without a payment', async (name, row) => {
    const index = Object.keys(rows).indexOf(name)
    const payment = await sign(`/paid/${index}`)
    const before = await earned()
    const free = answerIn(await exchange(server.port, `/free/${index}`, {}))
    const paid = answerIn(await exchange(server.port, `/paid/${index}`, paymentHeader(payment)))
    expect(paid).toEqual(free)
    expect(await earned()).toBe(before + (row.charged ? PRICE : 0n))
  })

  it('cannot respond because of middleware in front of it leaves its payment valid', async () => {
    const payment = await sign('/hook')
    const before = await earned()
    const statuses: number[] = []
    for (let times = 0; times < 3; times++) {
      const response = await fetch(`${server.url}/hook`, { headers: paymentHeader(payment) })
      statuses.push(response.status)
      if (times === 1) expect(await response.text()).toBe('GOODS')
    }
    expect(statuses).toEqual([500, 200, 402])
    expect(await earned()).toBe(before + PRICE)
  })

  it('answers twice has its first answer repeated for the id of its payment', async () => {
    const info = { required: false, id: generatePaymentId() }
    const payment = await sign('/paid/0', { 'payment-identifier': { info } })
    const before = await earned()
    for (let times = 0; times < 2; times++) {
      const response = await fetch(`${server.url}/paid/0`, { headers: paymentHeader(payment) })
      expect([response.status, await response.text()]).toEqual([200, '{"data":1}'])
      expect(response.headers.get('content-length')).toBe('10')
    }
    expect(await earned()).toBe(before + PRICE)
  })
})

it('a handler that fails after its answer is answered though its server has stopped listening', async () => {
  const gateway = createGateway(shopOptions(devnet))
  const app = express5()
  app.set('env', 'test')
  app.get('/', gateway.x402Protect('$0.01'), (req, res, next) => {
    res.send('GOODS')
    ;(req.socket as unknown as { readonly server: Server }).server.close()
    next(new Error('audit'))
  })
  const server = await listen(app)
  try {
    const unpaid = await fetch(server.url)
    const document = decodeDocument<PaymentRequired>(unpaid.headers.get('payment-required'))
    const payment = await signPayment(devnet.payers[0]!, document.accepts[0]!)
    const answer = await fetch(server.url, { headers: paymentHeader(payment) })
    expect([answer.status, await answer.text()]).toEqual([200, 'GOODS'])
  } finally {
    await server.close()
    await gateway.close()
  }
})
