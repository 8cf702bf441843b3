/** Who may present a payment in a cookie, and what becomes of it. */
import { describe, expect, it } from '@jest/globals'
import request from 'supertest'
import { balanceOf, useDevnet } from '../../support/devnet.js'
import { paymentHeader } from '../../support/http.js'
import { newNonce } from '../../support/sign-payment.js'
import { useShop } from '../../support/shop.js'

const devnet = useDevnet()
let runs = 0
const shop = useShop(devnet, (app, { x402Protect }) => {
  app.use((_req, res, next) => {
    res.cookie('session', 'before')
    next()
  })
  for (const path of ['/page', '/page/below', '/off'])
    app.get(path, x402Protect('$0.01', path === '/off' ? { paywall: false } : {}), (_req, res) => {
      runs += 1
      res.cookie('handler', 'own').type('html').send(`<p>bought ${runs}</p>`)
    })
})

/** What a browser sends when a page of the same origin loads a URL. */
const NAVIGATION = {
  accept: 'text/html,*/*;q=0.8',
  'sec-fetch-mode': 'navigate',
  'sec-fetch-dest': 'document',
  'sec-fetch-site': 'same-origin',
}

const cookieOf = (payment: object) =>
  `other=1; x402-payment=${Buffer.from(JSON.stringify(payment)).toString('base64url')}; third=3`

/** Signs a payment that can be presented again. */
async function sign(path = '/page'): Promise<object> {
  const payment = await shop.sign(path, devnet.payers[0]!)
  const info = { required: false, id: newNonce().slice(2) }
  return { ...payment, extensions: { 'payment-identifier': { info } } }
}

/** Loads a URL as a browser does; `fetch` writes some of these headers itself. */
const navigate = (path: string, payment: object, headers: Record<string, string> = {}) =>
  load(path, { cookie: cookieOf(payment), ...headers })

const load = (path: string, headers: Record<string, string>) =>
  request(shop.url)
    .get(path)
    .set({ ...NAVIGATION, ...headers })

describe('a payment in a cookie', () => {
  it('gets the response that it has paid for, and nothing runs again', async () => {
    const payment = await sign()
    const paid = await shop.pay('/page', payment)
    const bought = await paid.text()
    const before = [runs, await balanceOf(devnet, devnet.merchant.address)]
    const shown = await navigate('/page', payment)
    expect([shown.status, shown.text]).toEqual([200, bought])
    expect([runs, await balanceOf(devnet, devnet.merchant.address)]).toEqual(before)
  })

  it('is removed by the response, and other cookies stay as they were', async () => {
    const payment = await sign()
    await shop.pay('/page', payment)
    const shown = await navigate('/page', payment)
    expect(shown.headers['set-cookie']).toEqual([
      'session=before; Path=/',
      'x402-payment=; Path=/page; Max-Age=0; SameSite=Strict',
      'handler=own; Path=/',
    ])
  })

  it.each([
    ['another site', { 'sec-fetch-site': 'cross-site' }],
    ['another host of the same site', { 'sec-fetch-site': 'same-site' }],
    ['the address bar', { 'sec-fetch-site': 'none' }],
    ['a frame', { 'sec-fetch-dest': 'iframe' }],
    ['a picture', { 'sec-fetch-dest': 'image', 'sec-fetch-mode': 'no-cors' }],
    ['a script', { 'sec-fetch-dest': 'empty', 'sec-fetch-mode': 'cors' }],
    ['a program', { accept: '*/*' }],
  ])('is not read from %s', async (_name, headers) => {
    const payment = await sign()
    const before = runs
    const response = await navigate('/page', payment, headers)
    expect([response.status, runs]).toEqual([402, before])
    expect(response.headers['set-cookie']).toEqual(['session=before; Path=/'])
  })

  it('is not read if the paywall is off', async () => {
    expect((await navigate('/off', await sign('/off'))).status).toBe(402)
  })

  it('buys nothing at another URL, and the page says why', async () => {
    const payment = await sign()
    await shop.pay('/page', payment)
    const before = runs
    const response = await navigate('/page/below', payment)
    expect([response.status, runs]).toEqual([402, before])
    expect(response.headers['content-type']).toBe('text/html; charset=utf-8')
    expect(response.text).toContain('The seller’s system does not understand this payment.')
  })

  it('gets the page again if it cannot be read', async () => {
    const response = await load('/page', { cookie: 'x402-payment=bm90IGpzb24' })
    expect(response.status).toBe(400)
    expect(response.headers['content-type']).toBe('text/html; charset=utf-8')
  })

  it('yields to a payment in a header', async () => {
    const [inCookie, inHeader] = [await sign(), await sign()]
    await shop.pay('/page', inCookie)
    const before = runs
    const response = await navigate('/page', inCookie, paymentHeader(inHeader))
    expect([response.status, runs]).toEqual([200, before + 1])
  })
})
