/** What a person reads where a program gets problem details. */
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, describe, expect, it } from '@jest/globals'
import request from 'supertest'
import { RateError } from '../../../src/shared/errors.js'
import type { RateSource } from '../../../src/shared/money/rates.js'
import { ADMIN_TOKEN } from '../../api/admin/admin.js'
import { useDevnet } from '../../support/devnet.js'
import { paymentHeader } from '../../support/http.js'
import { newNonce } from '../../support/sign-payment.js'
import { useShop } from '../../support/shop.js'

const ATTACK = `</title><script>window.pwned=1</script>'"&`

const devnet = useDevnet()
const market = { hasRates: false }
const rates: RateSource = {
  async getRate() {
    if (!market.hasRates) throw new RateError('rate_unavailable', 'Nobody knows.')
    return { rate: { units: 1n, scale: 0 }, asOf: 1_790_000_000, source: 'test' }
  },
}
afterEach(() => {
  market.hasRates = false
})

const shop = useShop(
  devnet,
  (app, { x402Protect }) => {
    const sell = x402Protect('0.01 EUR', { merchant: 'shop' })
    app.all('/euro', sell, (_req, res) => void res.send('bought'))
    app.get('/off', x402Protect('0.01 EUR', { merchant: 'shop', paywall: false }))
    app.get('/named', x402Protect('0.01 EUR', { merchant: 'shop', paywall: { name: ATTACK } }))
    app.get('/later', x402Protect('$0.01', { merchant: () => 'later' }))
    const charge = x402Protect('$0.01', { merchant: 'shop' })
    app.get('/large', charge, (_req, res) => void res.send('x'.repeat(300_000)))
    app.get('/item', charge, (_req, res) => void res.send('an item'))
    app.get('/slow', charge, async (_req, res) => {
      await sleep(1500)
      res.send('slow')
    })
  },
  () => ({
    rates,
    settleTimeoutMs: 500,
    paymentRateLimit: { windowMs: 60_000, limit: 20 },
    admin: { tokens: [ADMIN_TOKEN] },
    projects: [
      { id: 'shop', merchant: { payTo: devnet.merchant.address, crossCurrency: true } },
      { id: 'later' },
    ],
  }),
)

const NAVIGATION = {
  accept: 'text/html,application/xhtml+xml,*/*;q=0.8',
  'sec-fetch-mode': 'navigate',
  'sec-fetch-dest': 'document',
  'sec-fetch-site': 'same-origin',
}
const navigate = (path: string, headers: Record<string, string> = {}) =>
  request(shop.url)
    .get(path)
    .set({ ...NAVIGATION, ...headers })

/** Loads a URL with a payment in the cookie. */
const redeem = (path: string, payment: object) =>
  navigate(path, {
    cookie: `x402-payment=${Buffer.from(JSON.stringify(payment)).toString('base64url')}`,
  })

async function sign(path: string, id = newNonce().slice(2)) {
  const info = { required: false, id }
  const payment = await shop.sign(path, devnet.payers[0]!)
  return { ...payment, extensions: { 'payment-identifier': { info } } }
}

const HTML = 'text/html; charset=utf-8'
const LATER = 'Your payment is not lost'

describe('a person who cannot pay now', () => {
  it.each(['/euro', '/later'])('reads that nothing was charged: %s', async (path) => {
    const page = await navigate(path)
    expect([page.status, page.headers['content-type']]).toEqual([503, HTML])
    expect(page.headers).toMatchObject({
      'retry-after': '5',
      'cache-control': 'no-store',
      vary: 'Accept',
    })
    expect(page.text).toContain('<h1>Not available</h1>')
    expect(page.text).toContain('Nothing was charged.')
    expect(page.text).toContain('Wait 5 seconds before you try again.')
    expect(page.text).toContain('<a href="">Try again</a>')
    expect(page.text).not.toContain('<script')
  })

  it.each([
    ['de', 'Es wurde nichts abgebucht.', '5 Sekunden'],
    ['zh', '没有扣款。', '5秒钟'],
    ['ja', '請求は行われていません。', '5 秒'],
    ['es', 'No se ha cobrado nada.', '5 segundos'],
  ])('reads it in %s', async (language, words, wait) => {
    const { text } = await navigate('/euro', { 'accept-language': language })
    expect(text).toContain(`<html lang="${language}">`)
    expect(text).toContain(words)
    expect(text).toContain(wait)
  })

  it('can pay once the seller can be paid', async () => {
    market.hasRates = true
    expect((await navigate('/euro')).status).toBe(402)
  })

  it('is not led to send a form again', async () => {
    const page = await request(shop.url).post('/euro').set(NAVIGATION)
    expect([page.status, page.headers['content-type']]).toEqual([503, HTML])
    expect(page.text).toContain('Nothing was charged.')
    expect(page.text).not.toContain('<a ')
  })

  it('reads everything that strangers have written as text', async () => {
    const { text } = await navigate('/named')
    expect(text).not.toContain('<script')
    expect(text).toContain('&lt;script&gt;')
  })

  it('gets a strict policy with a nonce for the style alone', async () => {
    const { headers, text } = await navigate('/euro')
    const [, nonce] =
      /style-src 'nonce-([^']+)'/.exec(headers['content-security-policy'] ?? '') ?? []
    expect(text.split(`nonce="${nonce}"`)).toHaveLength(2)
    expect(headers).toMatchObject({ 'x-frame-options': 'DENY' })
  })

  it('gets JSON where the paywall is off', async () => {
    const response = await navigate('/off')
    expect([response.status, response.headers['content-type']]).toEqual([
      503,
      'application/problem+json',
    ])
  })

  it.each(['/euro', '/later'])(
    'sees a page where a program gets problem details: %s',
    async (path) => {
      const programs = [{ accept: '*/*' }, { ...NAVIGATION, ...paymentHeader({ x402Version: 2 }) }]
      for (const headers of programs) {
        const response = await navigate(path, headers)
        expect(response.status).toBe(503)
        expect(response.headers['content-type']).toMatch(/^application\/problem\+json/)
        expect(response.headers['vary']).toBeUndefined()
        expect(JSON.parse(response.text)).toMatchObject({ status: 503 })
      }
    },
  )
})

describe('a person whose bought page cannot be sent', () => {
  it('reads that a response is not kept any more', async () => {
    const payment = await sign('/large')
    expect((await shop.pay('/large', payment)).status).toBe(200)
    const page = await redeem('/large', payment)
    expect([page.status, page.headers['content-type']]).toEqual([410, HTML])
    expect(page.text).toContain('is no longer stored')
    expect(page.headers['set-cookie']).toEqual([expect.stringContaining('Max-Age=0')])
  })

  it('reads that a payment has the id of another', async () => {
    const first = await sign('/item')
    expect((await shop.pay('/item', first)).status).toBe(200)
    const { id } = first.extensions['payment-identifier'].info
    const page = await redeem('/item', await sign('/item', id))
    expect([page.status, page.headers['content-type']]).toEqual([409, HTML])
    expect(page.text).toContain('This payment was already used.')
  })

  it('reads that the payment is not lost while the first request runs', async () => {
    const payment = await sign('/slow')
    const first = shop.pay('/slow', payment)
    await sleep(100)
    const page = await redeem('/slow', payment)
    expect([page.status, page.headers['content-type']]).toEqual([503, HTML])
    expect(page.text).toContain(LATER)
    expect(page.text).not.toContain('Nothing was charged')
    await first
  })

  it('reads how long to wait after too many requests', async () => {
    const payment = await sign('/item')
    let page = await redeem('/item', payment)
    while (page.status === 200) page = await redeem('/item', payment)
    expect([page.status, page.headers['content-type']]).toEqual([429, HTML])
    expect(page.text).toContain(LATER)
    expect(page.text).toContain(`Wait ${page.headers['retry-after']} seconds`)
  })
})
