/** A shop that sells to programs. Every route shows one thing that `x402Protect` can do. */
import { Readable } from 'node:stream'
import { setTimeout as wait } from 'node:timers/promises'
import express, { type Express, type Request, type RequestHandler } from 'express'
import { paidRequest, ucpProfile, type Gateway } from 'express-x402-gateway'

/** What the shop knows besides its gateway. */
export interface ShopOptions {
  /** Keys of the members, who read reports for free. */
  readonly memberKeys: ReadonlySet<string>
}

/** Builds the shop. */
export function createApp(gateway: Gateway, shop: ShopOptions): Express {
  const { x402Protect, gatewayRouter } = gateway
  const app = express()

  // A free route is a route like any other.
  app.get('/', (_req, res) => {
    res.json({ free: ['/'], paid: ['/weather', '/headlines?words=20', '/story', '/report'] })
  })

  // One line makes a route cost a cent. The money moves when the answer is good: a handler that
  // throws, or says 400 or more, costs its caller nothing.
  app.get('/weather', x402Protect('$0.01', { description: 'Weather in Berlin' }), (req, res) => {
    res.json({ city: 'Berlin', celsius: 21, paidBy: paidRequest(req).payer })
  })

  // The price may follow the request. Refuse what you cannot sell before you ask for money.
  app.get('/headlines', requireWords, x402Protect(priceOfWords), (req, res) => {
    const words = Array.from(
      { length: wordsWanted(req) },
      (_, n) => HEADLINES[n % HEADLINES.length],
    )
    res.json({ headlines: words.join(' '), paid: `${paidRequest(req).amount} units` })
  })

  // What streams is paid for up front, since an answer cannot be taken back once it flows.
  app.get('/story', x402Protect('$0.05', { paymentFlow: 'upfront' }), (req, res) => {
    Readable.from(tellStory(paidRequest(req).transaction)).pipe(res.type('text/plain'))
  })

  // Free for some, paid for by all others.
  const isMember = (req: Request): boolean => shop.memberKeys.has(req.get('x-api-key') ?? '')
  app.get('/report', x402Protect('$0.25', { skip: isMember }), (_req, res) => {
    res.json({ report: 'Umbrellas sell better when it rains.' })
  })

  // What UCP agents read first: how the shop is paid. `services` and `capabilities` are the place for
  // a checkout of its own.
  const profile = ucpProfile(gateway, { services: {}, capabilities: {} })
  app.get('/.well-known/ucp', (_req, res) => {
    res.json(profile)
  })

  // The gateway's own API, for shops and facilitator clients elsewhere: /api/v2/… and /ucp/…
  app.use(gatewayRouter())
  return app
}

const MAX_WORDS = 1000
const HEADLINES = ['Local', 'cloud', 'promises', 'rain,', 'keeps', 'word.']
const STORY = ['Once there was a robot.', 'It had a wallet.', 'It paid for this line.']

const requireWords: RequestHandler = (req, res, next) => {
  const words = wordsWanted(req)
  if (Number.isInteger(words) && words > 0 && words <= MAX_WORDS) return next()
  res.status(400).json({ error: `?words= takes a whole number from 1 to ${MAX_WORDS}.` })
}

/** A tenth of a cent a word. */
function priceOfWords(req: Request): string {
  return `$${(wordsWanted(req) / 1000).toFixed(3)}`
}

function wordsWanted(req: Request): number {
  return Number(req.query['words'])
}

async function* tellStory(transaction = ''): AsyncGenerator<string> {
  yield `Paid by transaction ${transaction}.\n`
  for (const line of STORY) {
    await wait(150)
    yield `${line}\n`
  }
}
