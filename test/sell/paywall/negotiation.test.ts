/** Who gets the page, and who gets JSON. */
import { describe, expect, it } from '@jest/globals'
import type { PaymentRequired } from '../../../src/shared/protocol/payment.js'
import { useDevnet } from '../../support/devnet.js'
import { decodeDocument } from '../../support/http.js'
import { useShop } from '../../support/shop.js'

/** What a browser accepts when it navigates. */
const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8'

const devnet = useDevnet()
const shop = useShop(devnet, (app, { x402Protect }) => {
  app.use('/varied', (_req, res, next) => {
    res.vary('Origin')
    next()
  })
  for (const path of ['/varied', '/page'])
    app.get(path, x402Protect('$0.01'), (_req, res) => void res.send('paid'))
  app.get('/off', x402Protect('$0.01', { paywall: false }), (_req, res) => void res.send('paid'))
  app.get(
    '/dynamic',
    x402Protect(() => '$0.02', { description: 'By function' }),
    (_req, res) => void res.send('paid'),
  )
  app.post('/form', x402Protect('$0.01'), (_req, res) => void res.send('paid'))
})

const ask = (path: string, accept: string, init: RequestInit = {}) =>
  shop.ask(path, { ...init, headers: { accept, ...(init.headers as object) } })
const typeOf = (response: Response) => response.headers.get('content-type')

describe('a paid route', () => {
  it.each([
    ['a navigation', BROWSER],
    ['HTML alone', 'text/html'],
    ['any text', 'text/*'],
    ['HTML before JSON', 'application/json;q=0.5, text/html'],
    ['capitals', 'TEXT/HTML'],
  ])('shows the page to %s', async (_name, accept) => {
    const response = await ask('/page', accept)
    expect([response.status, typeOf(response)]).toEqual([402, 'text/html; charset=utf-8'])
    expect(await response.text()).toContain('<!doctype html>')
  })

  it.each([
    ['any type', '*/*'],
    ['JSON alone', 'application/json'],
    ['JSON before HTML', 'text/html;q=0.5, application/json'],
    ['no HTML', 'text/html;q=0, */*'],
    ['a picture', 'image/avif,image/webp,*/*'],
    ['nonsense', 'text/html;;;q=x,,,'],
    ['more than any browser accepts', `text/html,${'a/b,'.repeat(300)}`],
  ])('responds in JSON to %s', async (_name, accept) => {
    const response = await ask('/page', accept)
    expect([response.status, typeOf(response)]).toEqual([402, 'application/json; charset=utf-8'])
    const document = (await response.json()) as PaymentRequired
    expect(document).toEqual(decodeDocument(response.headers.get('payment-required')))
  })

  it.each([
    'WhatsApp/2.23.20.0 A',
    'TelegramBot (like TwitterBot)',
    'Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)',
    'Mozilla/5.0 (compatible; Discordbot/2.0; +https://discordapp.com)',
  ])('shows the page, as a page without an error, to what makes a preview: %s', async (agent) => {
    const response = await ask('/page', '*/*', { headers: { 'user-agent': agent } })
    expect([response.status, typeOf(response)]).toEqual([200, 'text/html; charset=utf-8'])
    const html = await response.text()
    expect(html).toContain('property="og:title"')
    expect(html).not.toContain('paid</')
    // It is no way around the payment, nor around a payment’s own response.
    const posted = await ask('/form', '*/*', { method: 'POST', headers: { 'user-agent': agent } })
    expect(posted.status).toBe(402)
    expect((await ask('/off', '*/*', { headers: { 'user-agent': agent } })).status).toBe(402)
    const payment = await shop.sign('/page', devnet.payers[0]!)
    const bought = await shop.pay('/page', payment, { headers: { 'user-agent': agent } })
    expect([bought.status, await bought.text()]).toEqual([200, 'paid'])
    const again = await shop.pay('/page', payment, { headers: { 'user-agent': agent } })
    expect([again.status, typeOf(again)]).toEqual([402, 'application/json; charset=utf-8'])
  })

  it('responds in JSON to a program that has such a name within another', async () => {
    const response = await ask('/page', '*/*', { headers: { 'user-agent': 'MySlackbotX/1.0' } })
    expect([response.status, typeOf(response)]).toEqual([402, 'application/json; charset=utf-8'])
  })

  it('adds Accept to the Vary header of the app', async () => {
    const vary = async (path: string, accept: string) =>
      (await ask(path, accept)).headers.get('vary')
    expect(await vary('/page', '*/*')).toBe('Accept')
    expect(await vary('/page', BROWSER)).toBe('Accept')
    expect(await vary('/varied', '*/*')).toBe('Origin, Accept')
    expect(await vary('/varied', BROWSER)).toBe('Origin, Accept')
    expect(await vary('/off', BROWSER)).toBeNull()
  })

  it('responds in JSON to everybody if its paywall is off', async () => {
    expect(typeOf(await ask('/off', BROWSER))).toBe('application/json; charset=utf-8')
  })

  it('puts the same document into the header and the page', async () => {
    const response = await ask('/dynamic', BROWSER)
    const [, json = ''] = /id="x402">(.*?)<\/script>/s.exec(await response.text()) ?? []
    const { document } = JSON.parse(json) as { document: PaymentRequired }
    expect(document).toEqual(decodeDocument(response.headers.get('payment-required')))
    expect(document.accepts[0]?.amount).toBe('20000')
    expect(response.headers.get('cache-control')).toBe('no-store')
  })

  it('responds in JSON to a program that presents a payment and accepts HTML', async () => {
    const payment = await shop.sign('/page', devnet.payers[0]!)
    const first = await shop.pay('/page', payment, { headers: { accept: BROWSER } })
    expect([first.status, await first.text()]).toEqual([200, 'paid'])
    const response = await shop.pay('/page', payment, { headers: { accept: BROWSER } })
    expect([response.status, typeOf(response)]).toEqual([402, 'application/json; charset=utf-8'])
  })

  it('sends no body to HEAD', async () => {
    const response = await ask('/page', BROWSER, { method: 'HEAD' })
    expect([response.status, typeOf(response)]).toEqual([402, 'text/html; charset=utf-8'])
    expect(response.headers.get('payment-required')).not.toBeNull()
    expect(await response.text()).toBe('')
  })

  it('explains to a form that it cannot be paid for on the page', async () => {
    const response = await ask('/form', BROWSER, { method: 'POST' })
    expect(response.status).toBe(402)
    const html = await response.text()
    expect(html).toContain('which a payment cannot submit again')
    expect(html).not.toContain('<noscript>')
  })
})
