/** Access windows that are bought cheaply, and opened at something dearer. */
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { beforeEach, describe, expect, it } from '@jest/globals'
import type { Express, RequestHandler } from 'express'
import type { Gateway } from '../../src/gateway/gateway.js'
import {
  ask,
  CHAIN,
  challengeOf,
  comeBack,
  errorOf,
  openSite,
  pay,
  signIn,
  signInHeader,
} from '../sell/sign-in/site.js'
import { closedBy, useCleanup } from '../support/cleanup.js'
import { useDevnet } from '../support/devnet.js'
import { newPayer } from '../support/on-chain.js'
import { paymentRequiredOf } from '../support/shop.js'
import { signPayment, type TestPayer } from '../support/sign-payment.js'

const devnet = useDevnet()
const toEnd = useCleanup()
let payer: TestPayer
beforeEach(async () => {
  payer = await newPayer(devnet)
})

const sell: RequestHandler = (req, res) => void res.json(req.x402?.signedIn ?? {})

const open = async (routes: (app: Express, gateway: Gateway) => void) =>
  closedBy(toEnd, await openSite(devnet, routes))

/** Sends a request line as it is. */
async function send(url: string, target: string, headers: Record<string, string> = {}) {
  const { port, host } = new URL(url)
  const socket = connect(Number(port), '127.0.0.1')
  const lines = Object.entries({ Host: host, Connection: 'close', ...headers })
  socket.write(
    [`GET ${target} HTTP/1.1`, ...lines.map(([name, value]) => `${name}: ${value}`), '', ''].join(
      '\r\n',
    ),
  )
  const answer = await text(socket)
  return { status: Number(answer.slice(9, 12)), head: answer }
}

describe('a window', () => {
  it('is not for another place that an absolute URL without a path names', async () => {
    const { url } = await open((app, { x402Protect }) => {
      app.get('/', x402Protect('$0.01', { access: '1h' }), sell)
      app.get('/dear', x402Protect('$0.01', { access: '1h' }), sell)
    })
    const target = 'http://x?y/dear'
    const asked = await send(url, target)
    expect(asked.status).toBe(402)
    const header = /payment-required: (\S+)/i.exec(asked.head)![1]!
    const { accepts, resource } = JSON.parse(Buffer.from(header, 'base64').toString())
    const payment = await signPayment(payer, accepts[0], { payload: { resource } })
    const encoded = Buffer.from(JSON.stringify(payment)).toString('base64')
    expect((await send(url, target, { 'PAYMENT-SIGNATURE': encoded })).status).toBe(200)
    expect((await comeBack(`${url}/dear`, payer)).status).toBe(402)
  })

  it('is not for a dearer thing at the same URL', async () => {
    const { url } = await open((app, { x402Protect }) => {
      const cheap = x402Protect('$0.01', { access: '1h' })
      const dear = x402Protect('$0.05', { access: '1h' })
      app.get(
        '/report',
        (req, res, next) => (req.query['kind'] === 'dear' ? dear : cheap)(req, res, next),
        sell,
      )
    })
    await pay(`${url}/report`, payer)
    expect((await comeBack(`${url}/report`, payer)).status).toBe(200)
    expect((await comeBack(`${url}/report?kind=dear`, payer)).status).toBe(402)
  })

  it('bought at an earlier price stays open while the route lists it', async () => {
    let price = '$0.01'
    let earlierPrices: string[] = []
    const { url } = await open((app, { x402Protect }) => {
      app.get(
        '/report',
        (req, res, next) => x402Protect(price, { access: '1h', earlierPrices })(req, res, next),
        sell,
      )
    })
    await pay(`${url}/report`, payer)
    price = '$0.02'
    expect((await comeBack(`${url}/report`, payer)).status).toBe(402)
    earlierPrices = ['0.01 USD']
    expect((await comeBack(`${url}/report`, payer)).status).toBe(200)
  })

  it('is for what costs what was paid, whatever it costs by now', async () => {
    let price = '$0.01'
    const { url } = await open((app, { x402Protect }) => {
      const options = { access: '1h', quoteFor: () => 'cart 7' } as const
      app.get(
        '/cart',
        x402Protect(() => price, options),
        sell,
      )
    })
    const offered = paymentRequiredOf(await ask(`${url}/cart`))
    price = '$0.05'
    const bought = await pay(`${url}/cart`, payer, {}, offered)
    expect(bought.status).toBe(200)
    expect((await comeBack(`${url}/cart`, payer)).status).toBe(402)
  })
})

describe('a window, where a rate was applied', () => {
  it.each(['fixed', 'a function', 'a function with quotes'])(
    'is for the price in its own currency, which is %s',
    async (kind) => {
      const merchant = { payTo: devnet.merchant.address, crossCurrency: true }
      let price = '€0.01'
      const site = await openSite(
        devnet,
        (app, { x402Protect }) => {
          const quoteFor = kind.endsWith('quotes') ? () => '' : undefined
          const options = { access: '1h', ...(quoteFor && { quoteFor }) }
          app.get('/report', x402Protect(kind === 'fixed' ? price : () => price, options), sell)
        },
        [{ rates: { 'EUR/USD': '1.1' }, projects: [{ id: 'shop', merchant }] }],
      )
      const { url } = closedBy(toEnd, site)
      const offered = paymentRequiredOf(await ask(`${url}/report`))
      if (kind.endsWith('quotes')) price = '€0.05'
      expect((await pay(`${url}/report`, payer, {}, offered)).status).toBe(200)
      const isDear = price !== '€0.01'
      expect((await comeBack(`${url}/report`, payer)).status).toBe(isDear ? 402 : 200)
      price = '€0.01'
      expect((await comeBack(`${url}/report`, payer)).status).toBe(200)
    },
  )
})

describe('a sign-in', () => {
  it('with letters outside of ASCII in its nonce is refused', async () => {
    const { url } = await open((app, { x402Protect }) => {
      app.get('/', x402Protect(0, { signIn: true }), sell)
    })
    const signed = await signIn(`${url}/`, payer)
    const nonce = signed.nonce.slice(0, 31) + 'é'
    expect(errorOf(await ask(url, signInHeader({ ...signed, nonce })))).toBe('invalid_siwx_nonce')
  })

  it('as a precompiled contract, which answers with what it is asked, is refused', async () => {
    const { url } = await open((app, { x402Protect }) => {
      app.get('/', x402Protect(0, { signIn: true }), sell)
    })
    expect(challengeOf(await ask(url)).supportedChains[0]?.chainId).toBe(CHAIN)
    const { privateKey } = payer
    const address = '0x0000000000000000000000000000000000000004'
    const signed = await signIn(`${url}/`, { address, privateKey })
    expect(errorOf(await ask(url, signInHeader(signed)))).toBe('invalid_siwx_signature')
  })
})
