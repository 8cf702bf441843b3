import { once } from 'node:events'
import { connect } from 'node:net'
import { describe, expect, it } from '@jest/globals'
import type { Express } from 'express'
import fc from 'fast-check'
import type { Gateway } from '../../../src/gateway/gateway.js'
import { paymentRequired } from '../../../src/sell/route/payment-required.js'
import { prepareDocument } from '../../../src/sell/route/prepared-payment-required.js'
import { newOfferId } from '../../../src/shared/protocol/offer-id.js'
import { Version2 } from '../../../src/sell/route/version-2.js'
import type { ProtectOptions } from '../../../src/sell/route/options.js'
import { offerOf } from '../../support/core.js'
import { useDevnet } from '../../support/devnet.js'
import { paymentRequiredOf, useShop } from '../../support/shop.js'

const devnet = useDevnet()

/** Routes of every kind, at one price. */
function routesAt(price: string | (() => string)) {
  return (app: Express, { x402Protect }: Gateway): void => {
    app.use('/cors', (_req, res, next) => {
      res.set('Access-Control-Expose-Headers', 'ETag, payment-response')
      res.set('Cache-Control', 'public')
      next()
    })
    app.use('/list', (_req, res, next) => {
      res.setHeader('Access-Control-Expose-Headers', ['ETag', 'X-Own'])
      next()
    })
    const words = { description: 'Wetter für Österreich ☀ "heute"', mimeType: 'text/plain' }
    const resourceUrl: ProtectOptions['resourceUrl'] = (req) =>
      `https://shop.example/ä☀/${req.originalUrl}`
    const charge = (path: string, options: ProtectOptions): void => {
      app.all(path, x402Protect(price, options), (_req, res) => void res.send('sold'))
    }
    for (const path of ['/plain', '/cors', '/list']) charge(path, {})
    charge('/words', words)
    charge('/upfront', { paymentFlow: 'upfront', maxTimeoutSeconds: 60 })
    charge('/named', { ...words, resourceUrl })
    charge('/members', { skip: async (req) => req.query['member'] === 'yes' })
  }
}
const prepared = useShop(devnet, routesAt('$0.01'))
/** Where the price is a function, what to answer is found out anew for each request. */
const anew = useShop(
  devnet,
  routesAt(() => '$0.01'),
)

/** Every byte of an answer, but for its date and what is fresh in each: the offer id. */
async function bytesOf(url: string, requestLine: string): Promise<string> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname).setEncoding('latin1')
  let answer = ''
  socket.on('data', (chunk: string) => (answer += chunk))
  socket.write(`${requestLine} HTTP/1.1\r\nHost: shop.example\r\nConnection: close\r\n\r\n`)
  await once(socket, 'end')
  const withoutId = (text: string): string =>
    text.replace(/"offerId":"[A-Za-z0-9_-]{22}"/g, '"offerId":"an id"')
  return withoutId(answer)
    .replace(/^Date: .*$/m, '')
    .replace(/^(PAYMENT-REQUIRED: )(.*)$/im, (_line, name: string, value: string) => {
      const document = Buffer.from(value, 'base64').toString('latin1')
      return name + withoutId(document)
    })
}

describe('a 402 that was prepared', () => {
  it.each([
    'GET /plain',
    'GET /plain?a=%C3%A4"b\\c',
    'GET http://elsewhere.example/plain?whole',
    'HEAD /plain',
    'POST /plain',
    'GET /cors',
    'GET /list',
    'GET /words',
    'GET /words?1',
    'GET /words?12',
    'GET /upfront',
    'GET /named?item=%E2%98%80%22',
  ])('equals, to the byte, a 402 that was not prepared: %s', async (requestLine) => {
    const answer = await bytesOf(prepared.url, requestLine)
    expect(answer).toMatch(/^HTTP\/1\.1 402 Payment Required\r\n/)
    expect(answer).toBe(await bytesOf(anew.url, requestLine))
  })

  it('is the same at the next request, and after more URLs than are kept', async () => {
    const first = await bytesOf(prepared.url, 'GET /words?first')
    expect(await bytesOf(prepared.url, 'GET /words?first')).toBe(first)
    for (let other = 0; other < 100; other++) {
      const required = paymentRequiredOf(await prepared.ask(`/words?${other}`))
      expect(required.resource.url).toBe(`${prepared.url}/words?${other}`)
    }
    expect(await bytesOf(prepared.url, 'GET /words?first')).toBe(first)
    const long = `/words?${'x'.repeat(4000)}`
    for (let times = 0; times < 2; times++)
      expect(paymentRequiredOf(await prepared.ask(long)).resource.url).toBe(prepared.url + long)
  })

  it('has a new id each time, the same in header, body and all entries', async () => {
    const ids = new Set<unknown>()
    for (let times = 0; times < 50; times++)
      for (const shop of [prepared, anew]) {
        const response = await shop.ask('/words?same')
        const required = paymentRequiredOf(response)
        expect(await response.json()).toEqual(required)
        const [id, ...others] = required.accepts.map(({ extra }) => extra?.['offerId'])
        expect(id).toMatch(/^[A-Za-z0-9_-]{22}$/)
        expect(others.every((other) => other === id)).toBe(true)
        ids.add(id)
      }
    expect(ids.size).toBe(100)
  })

  it('is not sent to clients that are let through', async () => {
    expect((await prepared.ask('/members?member=no')).status).toBe(402)
    expect((await prepared.ask('/members?member=yes')).status).toBe(200)
  })

  it('is not sent for OPTIONS, nor to clients that bring a payment', async () => {
    const options = await prepared.ask('/plain', { method: 'OPTIONS' })
    expect([options.status, await options.text()]).toEqual([204, ''])
    expect(options.headers.get('allow')).toBe('GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS')
    for (const name of ['PAYMENT-SIGNATURE', 'X-PAYMENT']) {
      const unreadable = await prepared.ask('/plain', { headers: { [name]: '' } })
      expect(unreadable.status).toBe(400)
      expect(paymentRequiredOf(unreadable).error).toContain(name)
    }
    expect((await prepared.buy('/named?item=1', devnet.payers[0]!)).status).toBe(200)
  })
})

describe('a document that was prepared', () => {
  it('is the JSON of the document for any words and URL', () => {
    const accepts = [offerOf(devnet), offerOf(devnet, { amount: '2' })]
    fc.assert(
      fc.property(
        fc.string({ unit: 'binary' }),
        fc.string({ unit: 'binary' }),
        (url, description) => {
          const dialects = [new Version2(new Map())]
          const asked = { resource: { url, description }, accepts, dialects }
          const { pieces } = prepareDocument(asked)
          for (const id of [newOfferId(), newOfferId()])
            expect(pieces.join(id)).toBe(
              JSON.stringify(paymentRequired(asked, { error: 'Payment required' }, id)),
            )
        },
      ),
    )
  })
})
