/** A shop that sells what people buy in a browser. */
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Express } from 'express'
import type { Gateway } from '../../../src/gateway/gateway.js'

/** Sold HTML: its own script must run, under its own policy. */
const ARTICLE = `<!doctype html><html lang="en"><title>The article</title>
<style>h1 { color: rgb(1, 2, 3) }</style>
<main><h1>What was bought</h1><p id="by-script"></p></main>
<script>document.querySelector('#by-script').textContent = 'written by its own script'</script></html>`

/** The policy of {@link ARTICLE}. */
export const ARTICLE_POLICY =
  "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'"

/** What strangers write. */
export const ATTACK = '</script><img src=x onerror="window.pwned=1"><script>window.pwned=1</script>'

/** How often each handler has run. */
export type Runs = Record<string, number>

/** Declares the routes. */
export function sellToPeople(app: Express, { x402Protect }: Gateway, runs: Runs): void {
  let asked = 0
  // The first request sees a lower price than all others.
  const rising = (): string => (asked++ === 0 ? '$0.01' : '$0.02')
  const charge = x402Protect('$0.01', { description: 'A thing to buy' })
  const count = (name: string): void => void (runs[name] = (runs[name] ?? 0) + 1)
  app.get('/buy/article', charge, (_req, res) => {
    count('article')
    res.set('Content-Security-Policy', ARTICLE_POLICY).type('html').send(ARTICLE)
  })
  app.get('/buy/large-article', charge, (_req, res) => {
    count('large')
    res.type('html').send(ARTICLE + 'x'.repeat(300_000))
  })
  app.get('/buy/redirect', charge, (_req, res) => res.redirect('/free'))
  // A browser looks for it by itself.
  app.get('/favicon.ico', (_req, res) => void res.sendStatus(204))
  app.get('/free', (_req, res) => void res.type('html').send('<h1>The signed link</h1>'))
  app.get('/buy/file', charge, (_req, res) => {
    res.attachment('Bericht für Ä.csv').send('a,b\n1,2\n')
  })
  app.get('/buy/json', charge, (_req, res) => {
    res
      .type('json')
      .send('{"big":12345678901234567890,"text":"a, {b}: [c]","none":[],"list":[1,2]}')
  })
  app.get('/buy/document', charge, (_req, res) => void res.type('pdf').send('%PDF-1.7'))
  app.get('/buy/picture', charge, (_req, res) => {
    res.type('svg').send('<svg xmlns="http://www.w3.org/2000/svg" width="40" height="40"/>')
  })
  const given = x402Protect('$0.01', { chargeIf: () => false })
  app.get('/buy/given', given, (_req, res) => void res.json({ given: 'for nothing' }))
  app.get('/buy/given-page', given, (_req, res) => {
    count('given-page')
    res.type('html').send('<h1>A free page</h1>')
  })
  const upfront = x402Protect('$0.01', { paymentFlow: 'upfront' })
  app.get('/buy/breaks', upfront, (_req, res) => void res.status(500).send('broken'))
  app.get('/buy/fails', charge, (_req, res) => void res.status(404).send('nothing here'))
  app.get('/buy/crashes', charge, () => {
    throw new Error('crashed')
  })
  app.get('/buy/costly', x402Protect('$1000'), (_req, res) => void res.send('costly'))
  app.get(
    '/buy/rising',
    x402Protect(() => rising()),
    (_req, res) => void res.type('text').send('risen'),
  )
  app.get('/buy/attack/:text', x402Protect('$0.01', { description: ATTACK }), (_req, res) => {
    res.type('text').send(ATTACK)
  })
  app.get('/form', (_req, res) => {
    res.type('html').send('<form method="post" action="/buy/form"><button>Send</button></form>')
  })
  app.post('/buy/form', charge, (_req, res) => void res.send('posted'))
}

/** A stream whose parts go out when the test says so. */
export function sellStream(app: Express, { x402Protect }: Gateway, parts: StreamParts): void {
  const upfront = x402Protect('$0.01', { paymentFlow: 'upfront' })
  app.get('/buy/stream', upfront, async (_req, res) => {
    res.type('text/plain')
    res.write('the first part\n')
    while (!parts.mayEnd) await sleep(5)
    res.end('the last part\n')
  })
  app.get('/buy/endless', upfront, async (_req, res) => {
    res.type('text/plain')
    const line = `${'x'.repeat(1023)}\n`
    for (let part = 0; part < 70; part++)
      if (!res.write(line.repeat(1024))) await once(res, 'drain')
    res.write('the last part\n')
    while (!parts.mayEnd) await sleep(5)
    res.end()
  })
}

/** Sells what has another price from time to time. */
export function sellByMarket(app: Express, { x402Protect }: Gateway, market: Market): void {
  app.get(
    '/buy/changing',
    x402Protect(() => market.price),
    (_req, res) => {
      market.sold += 1
      res.type('html').send(`<h1>Bought for ${market.price}</h1>`)
    },
  )
  app.get('/buy/in-euro', x402Protect('0.01 EUR'), (_req, res) => void res.send('for a cent'))
}

/** What prices depend on. */
export interface Market {
  price: string
  sold: number
  /** Whether anybody knows what a euro costs. */
  hasRates: boolean
}

/** What a test tells the stream. */
export interface StreamParts {
  mayEnd: boolean
}
