/** What is in the page, before any script runs. */
import { gzipSync } from 'node:zlib'
import { describe, expect, it } from '@jest/globals'
import type { PageData } from '../../../src/sell/paywall/page-data.js'
import { languages } from '../../../src/sell/paywall/texts/languages.js'
import { useDevnet } from '../../support/devnet.js'
import { useShop } from '../../support/shop.js'

/** Bytes of the whole response, compressed. */
const MAX_GZIP_BYTES = 30 * 1024

/** What strangers and careless merchants write. */
const ATTACK = `</script><script>window.pwned=1</script><img src=x onerror="window.pwned=1"><!--'"&`

const devnet = useDevnet()
const shop = useShop(
  devnet,
  (app, { x402Protect }) => {
    app.get('/plain', x402Protect('$0.01', { description: 'A report', maxTimeoutSeconds: 120 }))
    app.get('/euro', x402Protect('0.001 EUR'))
    app.get('/token', x402Protect({ asset: 'USDC', network: 'base-sepolia', amount: '1234500000' }))
    app.get(
      '/attack/:text',
      x402Protect('$0.01', {
        description: ATTACK,
        paywall: { name: ATTACK, texts: { price: ATTACK } },
      }),
    )
    app.get(
      '/own',
      x402Protect('$0.01', {
        paywall: {
          logo: '/logo.svg',
          accent: '#ff0',
          locale: 'de-CH',
          texts: { heading: 'Nur gegen Geld' },
        },
      }),
    )
    app.get('/data-logo', x402Protect('$0.01', { paywall: { logo: 'data:image/png;base64,AAAA' } }))
  },
  () => ({
    paywall: { name: 'The shop', texts: { seller: 'Sold by' } },
    rates: { 'EUR/USD': '1.10' },
    projects: [{ id: 'shop', merchant: { payTo: devnet.merchant.address, crossCurrency: true } }],
  }),
)

const ask = (path: string, headers: Record<string, string> = {}) =>
  shop.ask(path, { headers: { accept: 'text/html', ...headers } })
const htmlOf = async (path: string, headers?: Record<string, string>) =>
  (await ask(path, headers)).text()
const dataOf = (html: string): PageData =>
  JSON.parse(/id="x402">(.*?)<\/script>/s.exec(html)?.[1] ?? '') as PageData

describe('the page of a paywall', () => {
  it('says without JavaScript what is sold, for how much, where and by whom', async () => {
    const html = await htmlOf('/plain')
    const [visible = ''] = html.split('<script')
    for (const text of ['A report', '$0.01', '0.01 USDC', 'Base Sepolia', 'The shop', 'Sold by'])
      expect(visible).toContain(text)
    expect(visible).toContain(devnet.merchant.address)
    expect(visible).toContain(`${new URL(shop.url).host}/plain`)
    expect(visible).toMatch(/<noscript>.*Turn on JavaScript.*<\/noscript>/s)
  })

  it('is at most 30 KB with all that it needs, compressed', async () => {
    for (const language of Object.keys(languages)) {
      const html = await htmlOf('/plain', { 'accept-language': language })
      expect(gzipSync(html).length).toBeLessThanOrEqual(MAX_GZIP_BYTES)
    }
  })

  it('writes prices in their currency and in tokens, as the reader writes numbers', async () => {
    expect(await htmlOf('/euro')).toContain('€0.001')
    expect(await htmlOf('/euro', { 'accept-language': 'de-DE' })).toContain('0,001\u00a0€')
    expect(await htmlOf('/token')).toContain('1,234.50 USDC')
    expect(await htmlOf('/token')).toContain('$1,234.50')
    expect(await htmlOf('/token', { 'accept-language': 'de-AT' })).toContain(
      '1.234,50 USDC'.replace('1.234', '1\u00a0234'),
    )
  })

  it.each([
    ['nl, de;q=0.8, en;q=0.7', 'de', 'Zahlung erforderlich'],
    ['fr-CA, en;q=0.7', 'fr-CA', 'Paiement requis'],
    ['pt-BR', 'pt-BR', 'Pagamento necessário'],
    ['ko', 'ko', '결제가 필요합니다'],
    ['zh-TW', 'zh-TW', '需要付款'],
    ['ja', 'ja', 'お支払いが必要です'],
    ['es-MX,en', 'es-MX', 'Se requiere un pago'],
    ['nl', 'en', 'Payment required'],
    ['*', 'en', 'Payment required'],
    ['de-u-nu-arab', 'en', 'Payment required'],
    ['"><script>', 'en', 'Payment required'],
  ])('speaks the language of its reader: %s', async (header, lang, heading) => {
    const html = await htmlOf('/euro', { 'accept-language': header })
    expect(html).toContain(`<html lang="${lang}">`)
    expect(html).toContain(`<h1>${heading}</h1>`)
  })

  it('shows the merchant’s own name, picture, colour, language and texts', async () => {
    const html = await htmlOf('/own', { 'accept-language': 'en' })
    expect(html).toContain('<html lang="de-CH">')
    expect(html).toContain('<h1>Nur gegen Geld</h1>')
    expect(html).toContain('<img src="/logo.svg" alt="" height="40">')
    expect(html).toContain(':root{--accent:#ff0;--accent-ink:#000}')
    // What the route leaves out is the gateway's.
    expect(html).toContain('Sold by')
  })

  it('tells chat apps what is sold, for how much and by whom', async () => {
    const tagsOf = (html: string) =>
      Object.fromEntries(
        [...html.matchAll(/<meta property="(og:\w+)" content="([^"]*)">/g)].map(
          ([, name, content]) => [name, content],
        ),
      )
    const html = await htmlOf('/plain')
    expect(tagsOf(html)).toEqual({
      'og:type': 'website',
      'og:title': 'A report',
      'og:description': '$0.01 · The shop',
      'og:site_name': 'The shop',
      'og:url': `${shop.url}/plain`,
    })
    expect(html).toContain('<meta name="description" content="$0.01 · The shop">')
    expect(html.indexOf('og:title')).toBeLessThan(html.indexOf('<style'))
    expect(tagsOf(await htmlOf('/own'))['og:image']).toBe(`${shop.url}/logo.svg`)
    expect(tagsOf(await htmlOf('/data-logo'))['og:image']).toBeUndefined()
  })

  it('shows everything that strangers have written as text', async () => {
    const html = await htmlOf(
      `/attack/${encodeURIComponent(ATTACK)}?q=${encodeURIComponent(ATTACK)}`,
    )
    expect(html).not.toContain('<script>window')
    expect(html).not.toContain('<img')
    expect(html.match(/<script/g)).toHaveLength(2)
    expect(html.match(/<\/script/g)).toHaveLength(2)
    const data = dataOf(html)
    expect([data.seller, data.texts['price']]).toEqual([ATTACK, ATTACK])
  })

  it('gives the script no secret, and adds networks by public endpoints', async () => {
    const html = await htmlOf('/plain')
    expect(html).not.toContain(devnet.rpcUrl)
    expect(dataOf(html).offers).toEqual([
      expect.objectContaining({
        amount: '0.01 USDC',
        chainId: 84532,
        minutes: 2,
        explorer: 'https://sepolia.basescan.org',
        source: 'https://faucet.circle.com',
        testnet: true,
        chain: expect.objectContaining({
          chainId: '0x14a34',
          rpcUrls: ['https://sepolia.base.org'],
        }),
      }),
    ])
  })

  it('sets a policy of its own with a fresh nonce', async () => {
    const policyOf = async (path: string) => {
      const response = await ask(path)
      const policy = response.headers.get('content-security-policy') ?? ''
      const [, nonce = ''] = /'nonce-([^']+)'/.exec(policy) ?? []
      const html = await response.text()
      expect(html.split(`nonce="${nonce}"`)).toHaveLength(3)
      expect(html).not.toMatch(/\son\w+=|\sstyle=|javascript:/)
      return { policy: policy.replaceAll(nonce, 'N'), nonce }
    }
    const first = await policyOf('/plain')
    expect(first.policy).toBe(
      "default-src 'none'; script-src 'nonce-N'; style-src 'nonce-N'; img-src data: blob:; media-src blob:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    )
    expect((await policyOf('/plain')).nonce).not.toBe(first.nonce)
    expect((await policyOf('/data-logo')).policy).toBe(first.policy)
    expect((await policyOf('/own')).policy).toContain("img-src data: blob: 'self';")
  })
})
