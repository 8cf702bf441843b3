/** Paid routes, one for each way in which a route may charge and a handler may answer. */
import express, { type ErrorRequestHandler, type Express, type RequestHandler } from 'express'
import type { Gateway, ProtectOptions } from '../../../src/index.js'

/** A handler that waits until it is let go. */
export class Gate {
  /** Resolves when a handler waits. */
  readonly reached: Promise<void>
  readonly #opened: Promise<void>
  #reach: () => void = () => undefined
  #open: () => void = () => undefined

  constructor() {
    this.reached = new Promise((resolve) => {
      this.#reach = resolve
    })
    this.#opened = new Promise((resolve) => {
      this.#open = resolve
    })
  }

  /** Called by the handler. */
  async wait(): Promise<void> {
    this.#reach()
    await this.#opened
  }

  /** Lets the handler go. */
  open(): void {
    this.#open()
  }
}

const sendFact: RequestHandler = (_req, res) => void res.json({ fact: 42 })

/** Writes no stack, whatever the environment. */
const answerError: ErrorRequestHandler = (error: unknown, _req, res, next) => {
  if (res.headersSent) return next(error)
  res.status(500).json({ app: error instanceof Error ? error.message : String(error) })
}

/** Declares every paid route, and the API at the root. */
export function paidRoutes(gate: Gate): (app: Express, gateway: Gateway) => void {
  return (app, gateway) => {
    const charge = (price: Parameters<Gateway['x402Protect']>[0], options?: ProtectOptions) =>
      gateway.x402Protect(price, { merchant: 'shop', ...options })

    app.use(gateway.gatewayRouter())
    app.use(express.json())
    app.all(
      '/fixed',
      charge('$0.01', { description: 'One fact', mimeType: 'application/json' }),
      sendFact,
    )
    app.get('/described', charge('$0.01', { description: 'Café ☕' }), sendFact)
    app.get('/fiat', charge('0.50 EUR'), sendFact)
    app.get('/atomic', charge({ asset: 'USDC', network: 'base-sepolia', amount: '1234' }), sendFact)
    app.get('/short-lived', charge('$0.01', { maxTimeoutSeconds: 60 }), sendFact)
    app.get(
      '/elsewhere',
      charge('$0.01', { resourceUrl: () => 'https://other.example/x' }),
      sendFact,
    )
    dynamicRoutes(app, charge)
    handlerRoutes(app, charge, gate)
    app.use(answerError)
  }
}

type Charge = (
  price: Parameters<Gateway['x402Protect']>[0],
  options?: ProtectOptions,
) => RequestHandler

function dynamicRoutes(app: Express, charge: Charge): void {
  app.get(
    '/dynamic',
    charge((req) => `$${new URLSearchParams(req.url.split('?')[1]).get('price')}`),
    sendFact,
  )
  app.get(
    '/personal',
    charge((req) => (req.get('X-Member') === 'yes' ? '$0.01' : '$0.02'), {
      quoteFor: (req) => req.get('X-User') ?? '',
    }),
    sendFact,
  )
  app.get(
    '/free',
    charge(() => 0, { allowFree: true }),
    sendFact,
  )
  app.get('/members', charge('$0.01', { skip: (req) => req.get('X-Member') === 'yes' }), sendFact)
  app.get(
    '/unpriced',
    charge(() => '1.00 CHF'),
    sendFact,
  )
  app.get(
    '/mispriced',
    charge(() => '1,00'),
    sendFact,
  )
}

function handlerRoutes(app: Express, charge: Charge, gate: Gate): void {
  const upfront = { paymentFlow: 'upfront' } as const
  app.get('/upfront', charge('$0.01', upfront), sendFact)
  app.get('/upfront-fails', charge('$0.01', upfront), (_req, res) => void res.sendStatus(500))
  app.get('/stream', charge('$0.01', upfront), (_req, res) => {
    res.type('text/plain').write('one,')
    res.end('two')
  })
  app.get('/film', charge('$0.01', upfront), (_req, res) => {
    res.type('text/plain').send('x'.repeat(300 * 1024))
  })
  app.get('/held-stream', charge('$0.01'), (_req, res) => {
    res.type('text/plain').write('one,')
    res.end('two')
  })
  app.get('/missing', charge('$0.01'), (_req, res) => void res.status(404).json({ gone: true }))
  app.get('/unmodified', charge('$0.01'), (_req, res) => {
    res.set({ ETag: '"handler"', 'X-Secret': 'content' }).status(304).end()
  })
  app.get('/precondition', charge('$0.01'), (_req, res) => {
    res.set('X-Secret', 'content').status(412).send('no')
  })
  app.get('/redirect', charge('$0.01'), (_req, res) => res.redirect('/signed-link'))
  app.get('/created', charge('$0.01'), (_req, res) => void res.status(201).send('<p>made</p>'))
  app.get('/nothing', charge('$0.01'), (_req, res) => void res.status(204).end())
  app.get('/throws', charge('$0.01'), () => {
    throw new Error('the handler threw')
  })
  app.get('/large', charge('$0.01', { maxHeldBytes: 1000 }), (_req, res) => {
    res.type('text/plain').send('x'.repeat(2000))
  })
  app.get(
    '/cors',
    (_req, res, next) => {
      res.set('Access-Control-Expose-Headers', 'X-Total, payment-required')
      next()
    },
    charge('$0.01'),
    (_req, res) => void res.set('X-Total', '1').json({ fact: 42 }),
  )
  app.get('/cached', charge('$0.01'), (_req, res) => {
    res.set('Cache-Control', 'public, max-age=60').json({ fact: 42 })
  })
  app.get('/slow', charge('$0.01'), async (_req, res) => {
    await gate.wait()
    res.json({ fact: 42 })
  })
}
