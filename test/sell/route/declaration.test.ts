import { describe, expect, it } from '@jest/globals'
import express from 'express'
import { ConfigError } from '../../../src/shared/errors.js'
import { createGateway } from '../../../src/gateway/gateway.js'
import type { GatewayOptions } from '../../../src/gateway/config/options.js'
import type { ProjectOptions } from '../../../src/gateway/config/options/merchant.js'
import type { Price } from '../../../src/shared/money/price.js'
import type { PriceFunction, ProtectOptions } from '../../../src/sell/route/options.js'
import { listen } from '../../support/http.js'
import { issuesOf } from '../../support/issues.js'
import { paymentRequiredOf } from '../../support/shop.js'

const PAY_TO = `0x${'11'.repeat(20)}` as const
const shop: ProjectOptions = { id: 'shop', merchant: { payTo: PAY_TO } }
const networks: GatewayOptions['networks'] = {
  'base-sepolia': {
    rpcUrl: 'http://127.0.0.1:1',
    relayerKeys: [`0x${'22'.repeat(32)}`],
    assets: ['USDC', 'EURC'],
  },
}
const open = (options: GatewayOptions = {}) =>
  createGateway({ networks, projects: [shop], ...options })

/** The option that declaring a route was refused for. */
function refusedOption(
  price: unknown,
  options?: ProtectOptions,
  gateway: GatewayOptions = {},
): string {
  try {
    open(gateway).x402Protect(price as Price, options)
  } catch (error) {
    if (error instanceof ConfigError) return error.option
    throw error
  }
  return 'none'
}

/** Serves one route, and asks it without paying. */
async function ask(
  price: Price | PriceFunction,
  options?: ProtectOptions,
  gateway: GatewayOptions = {},
  { path = '/', headers = {}, trustProxy = false } = {},
): Promise<Response & { problem?: unknown }> {
  const app = express()
  app.set('trust proxy', trustProxy)
  const problems: unknown[] = []
  app.use(open(gateway).x402Protect(price, options), (_req, res) => void res.send('free'))
  app.use(((error, _req, res, _next) => {
    problems.push(error)
    res.status(500).end()
  }) satisfies express.ErrorRequestHandler)
  const server = await listen(app)
  const response = await fetch(server.url + path, { headers })
  await server.close()
  return Object.assign(response, { problem: problems[0] })
}

describe('declaring a route', () => {
  it.each<[unknown]>([
    ['$0.01'],
    ['0.01 EUR'],
    ['€0.01'],
    [0.01],
    [{ amount: '0.01', currency: 'EUR' }],
    [{ asset: 'USDC', network: 'base-sepolia', amount: '10000' }],
    [() => '$0.01'],
  ])('accepts a price of %j', (price) => {
    expect(refusedOption(price)).toBe('none')
  })

  it.each<[unknown]>([
    ['1,000'],
    ['$.5'],
    ['free'],
    [''],
    [-1],
    [Number.NaN],
    [Number.POSITIVE_INFINITY],
    [0],
    ['$0'],
    ['$0.0000001'],
    ['100 JPY'],
    [undefined],
    [null],
    [{ amount: '1' }],
    [{ asset: 'DAI', network: 'base-sepolia', amount: '1' }],
    [{ asset: 'USDC', network: 'base', amount: '1' }],
  ])('refuses a price of %j', (price) => {
    expect(refusedOption(price)).toBe('price')
  })

  it('says that the price is too small', () => {
    expect(() => open().x402Protect('$0.0000001')).toThrow(
      'price: is less than the smallest unit of USDC',
    )
  })

  it('refuses a price that needs a rate if there are no rates, and accepts it if there are', () => {
    const projects = [{ id: 'shop', merchant: { payTo: PAY_TO, crossCurrency: true } }]
    expect(() => open({ projects }).x402Protect('0.01 GBP')).toThrow(
      'price: no accepted token is pegged to GBP, and the gateway has no `rates` to convert the price',
    )
    const rates = { 'GBP/USD': '1.3' }
    expect(refusedOption('0.01 GBP', {}, { projects, rates })).toBe('none')
    expect(refusedOption('€0.01', {}, { projects })).toBe('none')
  })

  it('says how to price in a currency that no token is pegged to', () => {
    const networks = {
      'base-sepolia': { rpcUrl: 'http://127.0.0.1:9', relayerKeys: [`0x${'5e'.repeat(32)}`] },
    }
    expect(() => open({ networks }).x402Protect('0.01 EUR')).toThrow(
      'it takes USDC (USD) on Base Sepolia. To price in EUR, accept EURC (assets of the network, or X402_ASSET=USDC,EURC), or be paid at a rate: crossCurrency: true',
    )
    expect(() => open().x402Protect('100 JPY')).toThrow('To price in JPY, be paid at a rate: ')
  })

  it('accepts a price of zero that is marked as meant', () => {
    expect(refusedOption(0, { allowFree: true })).toBe('none')
  })

  it.each<[string, unknown]>([
    ['descripton', 'Weather'],
    ['paymentFlow', 'later'],
    ['maxTimeoutSeconds', 0],
    ['maxHeldBytes', -1],
    ['skip', true],
    ['resourceUrl', 'https://shop.example'],
    ['merchant', 'nobody'],
  ])('refuses the option %s: %j', (option, value) => {
    expect(refusedOption('$0.01', { [option]: value })).toBe(option)
  })

  it.each<[unknown, unknown, string, string]>([
    ['$0.01', { desc: 'x' }, 'unknown_option', "did you mean 'description'?"],
    ['$0.01', { maxHeldBytesTotal: 1 }, 'unknown_option', "did you mean 'maxHeldBytes'?"],
    ['$0.01', { signQuotes: true }, 'unknown_option', 'remove it'],
    ['$0.01', { maxTimeoutSeconds: 5 }, 'out_of_range', 'must be at least 10'],
    ['$0.01', { maxTimeoutSeconds: '60' }, 'invalid_type', 'must be a number'],
    ['$0.01', 'a report', 'invalid_type', 'must be an object'],
    ['$0.01', { payTo: PAY_TO }, 'unknown_option', 'belongs to a merchant: projects[].merchant'],
    ['0,01', {}, 'invalid_price', "write decimals with a point, not a comma: '0.01'"],
    ['1,000', {}, 'invalid_price', 'thousands without a comma'],
    ['$0.01', { merchant: 'shopp' }, 'unknown_project', "did you mean 'shop'?"],
    ['$0.01', { paymentFlow: 'up' }, 'invalid_value', "'authorization' or 'upfront'"],
    [{ amount: '1' }, {}, 'invalid_price', 'its currency is missing'],
    ['1 USDC', {}, 'unknown_currency', 'for the token USDC'],
    [{ asset: 'USDC', network: 'base-seplia', amount: '1' }, {}, 'unknown_network', 'base-sepolia'],
  ])('says what to write in place of %j with %j: %s', (price, options, code, words) => {
    const declare = () => open().x402Protect(price as Price, options as ProtectOptions)
    expect(issuesOf(declare)).toMatchObject([{ code, message: expect.stringContaining(words) }])
  })

  it('refuses a price beyond the merchant’s limits, and accepts one at them', () => {
    const limits = { minAmount: '0.50', maxAmount: '20' }
    const projects = [{ ...shop, merchant: { payTo: PAY_TO, ...limits } }]
    for (const price of [
      '$0.49',
      '$20.01',
      { asset: 'USDC', network: 'base-sepolia', amount: '1' },
    ])
      expect(refusedOption(price, {}, { projects })).toBe('price')
    for (const price of ['$0.50', '$20', '€0.01', () => '$1'])
      expect(refusedOption(price, {}, { projects })).toBe('none')
    expect(refusedOption(0, { allowFree: true }, { projects })).toBe('none')
  })

  it('must name the merchant if there are several', () => {
    const projects = [shop, { ...shop, id: 'other' }]
    expect(refusedOption('$0.01', {}, { projects })).toBe('merchant')
    expect(refusedOption('$0.01', { merchant: 'other' }, { projects })).toBe('none')
  })

  it('is refused if nobody could be paid', () => {
    expect(refusedOption('$0.01', {}, { projects: [{ id: 'shop' }] })).toBe('projects')
  })
})

describe('the offer of a route', () => {
  it('has its price in every token of that currency, rounded up', async () => {
    const document = paymentRequiredOf(await ask('$0.0000011'))
    expect(document.accepts).toMatchObject([{ amount: '2', extra: { name: 'USDC' } }])
    expect(paymentRequiredOf(await ask('€0.01')).accepts).toMatchObject([
      { amount: '10000', extra: { name: 'EURC' } },
    ])
  })

  it('is in the merchant’s currency if the price names none', async () => {
    const merchant = { payTo: PAY_TO, currency: 'EUR' }
    const response = await ask('0.01', {}, { projects: [{ id: 'shop', merchant }] })
    expect(paymentRequiredOf(response).accepts).toMatchObject([{ extra: { name: 'EURC' } }])
  })

  it('states maxTimeoutSeconds, the route’s before the merchant’s', async () => {
    const merchant = { payTo: PAY_TO, maxTimeoutSeconds: 120 }
    const gateway = { projects: [{ id: 'shop', merchant }] }
    const of = async (options: ProtectOptions) =>
      paymentRequiredOf(await ask('$0.01', options, gateway)).accepts[0]?.maxTimeoutSeconds
    expect(await of({})).toBe(120)
    expect(await of({ maxTimeoutSeconds: 30 })).toBe(30)
  })

  it('names the network as configured', async () => {
    const response = await ask('$0.01', {}, { networkNames: 'short' })
    expect(paymentRequiredOf(response).accepts[0]?.network).toBe('base-sepolia')
  })

  it('names the URL as its client sees it', async () => {
    const forwarded = { 'X-Forwarded-Proto': 'https', 'X-Forwarded-Host': 'shop.example' }
    const url = async (
      gateway: GatewayOptions,
      request: { path?: string; headers?: Record<string, string>; trustProxy?: boolean },
    ) => paymentRequiredOf(await ask('$0.01', {}, gateway, request)).resource.url

    expect(await url({}, { path: '/a?b=c' })).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/a\?b=c$/)
    expect(await url({}, { headers: forwarded, trustProxy: true })).toBe('https://shop.example/')
    expect(await url({}, { headers: forwarded })).toMatch(/^http:\/\/127\.0\.0\.1/)
    const publicUrl = 'https://pay.example/'
    expect(await url({ publicUrl }, { path: '/a' })).toBe('https://pay.example/a')
  })

  it('adds its headers to those that the app exposes already', async () => {
    const app = express()
    app.use((_req, res, next) => {
      res.set('Access-Control-Expose-Headers', 'ETag, payment-response')
      next()
    })
    app.use(open().x402Protect('$0.01'))
    const server = await listen(app)
    const response = await fetch(server.url)
    await server.close()
    expect(response.headers.get('access-control-expose-headers')).toBe(
      'ETag, payment-response, PAYMENT-REQUIRED, X-PAYMENT-RESPONSE',
    )
  })
})

describe('a price function', () => {
  it('can be asynchronous, and can let a request through', async () => {
    const free = await ask(async () => 0, { allowFree: true })
    expect(await free.text()).toBe('free')
    const priced = await ask(async (req) => (req.path === '/' ? '$0.02' : '$0.01'))
    expect(paymentRequiredOf(priced).accepts[0]?.amount).toBe('20000')
  })

  it.each<[string, PriceFunction, string]>([
    [
      'throws',
      () => {
        throw new Error('no price')
      },
      'no price',
    ],
    ['rejects', () => Promise.reject(new Error('no price yet')), 'no price yet'],
  ])('fails the request with an error of the app if it %s', async (_name, price, message) => {
    const response = await ask(price)
    expect(response.status).toBe(500)
    expect(response.problem).toMatchObject({ message })
  })

  it('fails the request with an error of the app if it gives no price', async () => {
    expect((await ask(() => '$-1')).problem).toMatchObject({ option: 'price' })
  })

  it('is answered 503 if its price is in a currency that no token takes', async () => {
    const response = await ask(() => '100 JPY')
    expect(response.status).toBe(503)
    expect(await response.json()).toMatchObject({ code: 'unsupported_currency' })
  })
})

describe('a route that official clients will not pay by themselves', () => {
  const warnings = async (price: Price | PriceFunction, times = 1): Promise<number> => {
    let count = 0
    const warn = (words: string): void => {
      if (words.includes('official clients')) count++
    }
    const logger = { debug() {}, info() {}, error() {}, warn }
    const app = express()
    app.use(open({ logger }).x402Protect(price))
    const server = await listen(app)
    for (let request = 0; request < times; request++) await fetch(server.url)
    await server.close()
    return count
  }

  it('is warned of once if it costs more than a dollar, or has another token', async () => {
    expect(await warnings('$1.01', 2)).toBe(1)
    expect(await warnings('€0.01', 2)).toBe(1)
    expect(await warnings(() => '$2', 2)).toBe(1)
  })

  it('is not warned of up to a dollar of a well-known token', async () => {
    expect(await warnings('$1.00', 2)).toBe(0)
  })
})
