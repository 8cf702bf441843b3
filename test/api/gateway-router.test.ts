import { afterEach, describe, expect, it } from '@jest/globals'
import express from 'express'
import { MemoryStore, type Store } from 'express-rate-limit'
import { request } from 'node:http'
import { gzipSync } from 'node:zlib'
import { RateError } from '../../src/shared/errors.js'
import type { RateSource } from '../../src/shared/money/rates.js'
import type { GatewayOptions } from '../../src/gateway/config/options.js'
import { SHOP_TOKEN } from '../support/devnet.js'
import { problemOf, serveGateway, type ApiAnswer, type GatewayApi, type Mounting } from './api.js'
import { until } from '../support/until.js'

const PROFILE = '/api/v2/merchant/payment-profile'
const CHECKOUT = '/api/v2/merchant/checkout-prepare'
const REQUIREMENTS = '/api/v2/payment/requirements'
const HANDLER = 'xyz.vendor.gateway_payment'
const PAY_TO = '0x000000000000000000000000000000000000bEEF'
const OTHER_TOKEN = 'x402_token-of-another-shop'
const RPC_URL = 'http://127.0.0.1:9/v2/secret-provider-key'
const RELAYER_KEY = `0x${'5e'.repeat(32)}`
const CHECKOUT_BODY = {
  amount: '15.00',
  currency: 'USD',
  resource: { url: 'https://shop.example/checkout/42' },
}

const apis: GatewayApi[] = []

afterEach(async () => {
  for (const api of apis) expectNoSecret(api.log.lines.join('\n'))
  await Promise.all(apis.splice(0).map((api) => api.close()))
})

function expectNoSecret(text: string): void {
  for (const secret of [SHOP_TOKEN, OTHER_TOKEN, 'secret-provider-key', RELAYER_KEY.slice(2)])
    expect(text).not.toContain(secret)
}

/** A gateway that never has to ask its node. */
async function open(overrides: GatewayOptions = {}, mounting?: Mounting): Promise<GatewayApi> {
  const merchant = { payTo: PAY_TO }
  const api = await serveGateway(
    {
      networks: { 'base-sepolia': { rpcUrl: RPC_URL, relayerKeys: [RELAYER_KEY] } },
      projects: [
        { id: 'shop', tokens: [SHOP_TOKEN], merchant },
        { id: 'other', tokens: [OTHER_TOKEN], merchant },
      ],
      ...overrides,
    },
    mounting,
  )
  apis.push(api)
  return api
}

const merchantWith = (terms: object): GatewayOptions => ({
  networks: {
    'base-sepolia': { rpcUrl: RPC_URL, relayerKeys: [RELAYER_KEY], assets: ['USDC', 'EURC'] },
  },
  projects: [{ id: 'shop', tokens: [SHOP_TOKEN], merchant: { payTo: PAY_TO, ...terms } }],
})

function expectProblem(answer: ApiAnswer, problem: object): void {
  expect(answer.headers.get('content-type')).toBe('application/problem+json')
  expect(answer.headers.get('cache-control')).toBe('no-store')
  expect(answer.body).toStrictEqual(problem)
  expect(answer.status).toBe(answer.body.status)
}

describe('GET /api/v2/merchant/payment-profile', () => {
  it('answers with the whole block of the specification', async () => {
    const api = await open()
    const answer = await api.get(PROFILE)
    expect(answer.status).toBe(200)
    expect(answer.body).toStrictEqual({
      [HANDLER]: [
        {
          id: HANDLER,
          version: expect.stringMatching(/^\d{4}-\d{2}-\d{2}$/),
          spec: `${api.url}/ucp/gateway.md`,
          schema: `${api.url}/ucp/schema.json`,
          available_instruments: [{ type: 'x402' }],
          config: {},
        },
      ],
    })
  })
})

describe('POST /api/v2/merchant/checkout-prepare', () => {
  it('answers with the whole block of the specification', async () => {
    const api = await open({ handlerId: 'com.example.pay' })
    const answer = await api.post(CHECKOUT, {
      ...CHECKOUT_BODY,
      resource: { url: 'https://shop.example/checkout/42?x=%7e', description: 'Two books' },
    })
    expect(answer.status).toBe(200)
    expect(answer.body).toStrictEqual({
      'com.example.pay': [
        {
          id: 'com.example.pay',
          version: expect.stringMatching(/^\d{4}-\d{2}-\d{2}$/),
          config: {
            x402Version: 2,
            resource: { url: 'https://shop.example/checkout/42?x=%7e', description: 'Two books' },
            accepts: [
              {
                scheme: 'exact',
                network: 'eip155:84532',
                amount: '15000000',
                payTo: PAY_TO,
                maxTimeoutSeconds: 300,
                asset: '0x036CbD53842c5426634e7929541eC2318f3dCF7e',
                extra: {
                  name: 'USDC',
                  version: '2',
                  offerId: expect.stringMatching(/^checkout\.[\w-]{22}$/),
                },
              },
            ],
            extensions: { 'payment-identifier': expect.any(Object) },
          },
        },
      ],
    })
  })

  it('leaves the description out if none was given', async () => {
    const api = await open()
    for (const resource of [{}, { description: null }]) {
      const answer = await api.post(CHECKOUT, {
        ...CHECKOUT_BODY,
        resource: { ...CHECKOUT_BODY.resource, ...resource },
      })
      expect(answer.body[HANDLER][0].config.resource).toStrictEqual(CHECKOUT_BODY.resource)
    }
  })

  it.each<[string, unknown, string[]]>([
    ['an empty object', {}, ['resource', 'currency']],
    ['null', 'null', ['']],
    ['an amount that is a number', { ...CHECKOUT_BODY, amount: 15 }, ['amount']],
    ['an amount of nothing', { ...CHECKOUT_BODY, amount: '0.00' }, ['amount']],
    ['more digits than the currency has', { ...CHECKOUT_BODY, amount: '1.001' }, ['amount']],
    ['more than a token can hold', { ...CHECKOUT_BODY, amount: '9'.repeat(80) }, ['amount']],
    ['a currency in lower case', { ...CHECKOUT_BODY, currency: 'usd' }, ['currency']],
    [
      'a relative URL and no amount',
      { currency: 'USD', resource: { url: '/checkout/42' } },
      ['resource.url', 'amount'],
    ],
  ])('refuses %s, naming each member', async (_name, body, paths) => {
    const answer = await (await open()).post(CHECKOUT, body)
    expect(answer.status).toBe(400)
    expectProblem(answer, {
      ...problemOf(400, 'invalid_request', 'Bad Request'),
      errors: paths.map((path) => ({ path, message: expect.any(String) })),
    })
  })

  it('refuses a currency that no token of the merchant is pegged to', async () => {
    const answer = await (
      await open()
    ).post(CHECKOUT, { ...CHECKOUT_BODY, currency: 'JPY', amount: '15' })
    expectProblem(answer, problemOf(400, 'unsupported_currency', 'Bad Request'))
    expect(answer.headers.get('retry-after')).toBeNull()
  })

  it('quotes tokens of other currencies at a rate', async () => {
    const api = await open({
      ...merchantWith({ crossCurrency: true, fxBufferBps: 50 }),
      rates: { 'EUR/USD': '1.08' },
    })
    const answer = await api.post(CHECKOUT, CHECKOUT_BODY)
    const { accepts } = answer.body[HANDLER][0].config
    expect(accepts.map(({ amount }: { amount: string }) => amount)).toStrictEqual([
      '15000000',
      // ceil(15 ÷ 1.08 × 1.005 × 10⁶)
      '13958334',
    ])
  })
})

describe('a rate that is needed', () => {
  const needed = merchantWith({
    crossCurrency: true,
    accepts: [{ network: 'base-sepolia', asset: 'EURC' }],
  })
  const source = (getRate: RateSource['getRate']): RateSource => ({ getRate })

  it.each<[string, RateSource | undefined]>([
    ['is not configured', undefined],
    ['is not known', source(async () => undefined)],
  ])('is answered 400 where it %s, because a retry would not help', async (_name, rates) => {
    const api = await open({ ...needed, ...(rates && { rates }) })
    const answer = await api.post(CHECKOUT, CHECKOUT_BODY)
    expectProblem(answer, problemOf(400, 'unsupported_currency', 'Bad Request'))
    expect(answer.headers.get('retry-after')).toBeNull()
  })

  it.each<[string, RateSource]>([
    [
      'is of zero',
      source(async () => ({ rate: { units: 0n, scale: 0 }, asOf: 0, source: 'broken' })),
    ],
    [
      'cannot be asked for',
      source(async () => {
        throw new RateError('rate_unavailable', 'The source of rates is away.')
      }),
    ],
  ])('is answered 502 with Retry-After where it %s', async (_name, rates) => {
    const api = await open({ ...needed, rates })
    const requirements = { resourceUrl: 'https://shop.example/', requestedAmount: 1 }
    for (const [path, body] of [
      [CHECKOUT, CHECKOUT_BODY],
      [REQUIREMENTS, requirements],
    ] as const) {
      const answer = await api.post(path, body)
      expectProblem(answer, problemOf(502, 'rate_unavailable', 'Bad Gateway'))
      expect(answer.headers.get('retry-after')).toMatch(/^[1-9]\d*$/)
    }
  })

  it('does not matter to tokens that need none', async () => {
    const rates = source(async () => {
      throw new RateError('rate_unavailable', 'The source of rates is away.')
    })
    const api = await open({ ...merchantWith({ crossCurrency: true }), rates })
    const answer = await api.post(CHECKOUT, CHECKOUT_BODY)
    expect(answer.body[HANDLER][0].config.accepts).toHaveLength(1)
  })

  it('is answered 500 without internals if its source has a bug', async () => {
    const rates = source(async () => {
      throw new TypeError('cannot read properties of internals')
    })
    const api = await open({ ...needed, rates })
    const answer = await api.post(CHECKOUT, CHECKOUT_BODY)
    expectProblem(answer, problemOf(500, 'internal_error', 'Internal Server Error'))
    expect(answer.text).not.toContain('internals')
    expect(answer.text).not.toContain('TypeError')
    expect(answer.headers.get('retry-after')).toBeNull()
    expect(api.log.lines.join()).toContain('internals')
  })
})

const AUTHENTICATED = [
  ['POST', REQUIREMENTS],
  ['POST', '/api/v2/payment/verify'],
  ['POST', '/api/v2/payment/settle'],
  ['GET', '/api/v2/payment/supported'],
  ['GET', PROFILE],
  ['POST', CHECKOUT],
] as const

describe('the identify token', () => {
  it.each(AUTHENTICATED)('is required by %s %s', async (method, path) => {
    const api = await open()
    for (const token of [undefined, '', 'x402_wrong', SHOP_TOKEN.toUpperCase(), `${SHOP_TOKEN}x`]) {
      const headers: Record<string, string> =
        token === undefined ? {} : { 'X-Project-Identify-Token': token }
      const answer = await api.send(method, path, { headers })
      expectProblem(answer, problemOf(401, 'unauthorized', 'Unauthorized'))
      expect(answer.headers.get('www-authenticate')).toContain('X-Project-Identify-Token')
      if (token) expect(answer.text).not.toContain(token)
    }
  })

  it('is refused before any exists, and the answer says how to create one', async () => {
    const detailOf = async (options: GatewayOptions): Promise<string> => {
      const api = await serveGateway(options)
      const { status, body } = await api.post(
        CHECKOUT,
        {},
        { 'X-Project-Identify-Token': undefined },
      )
      await api.close()
      expect(status).toBe(401)
      return body.detail
    }
    const missing = 'The header X-Project-Identify-Token is missing.'
    expect(await detailOf({ projects: [{ id: 'shop', tokens: [SHOP_TOKEN] }] })).toBe(missing)
    expect(await detailOf({ projects: [{ id: 'shop' }] })).toBe(
      `${missing} No project has a token yet: make one with \`npx express-x402-gateway token\`, and set it as X402_PROJECT_TOKEN or in \`tokens\` of a project.`,
    )
  })

  it('is not needed for the public documents', async () => {
    const api = await open()
    for (const path of ['/ucp/schema.json', '/ucp/gateway.md'])
      expect((await api.send('GET', path)).status).toBe(200)
  })

  it('works from a browser, and the operator is warned once a project', async () => {
    const api = await open()
    const origin = { Origin: 'https://shop.example' }
    expect((await api.get(PROFILE, origin)).status).toBe(200)
    expect((await api.get(PROFILE, origin)).status).toBe(200)
    const other = { ...origin, 'X-Project-Identify-Token': OTHER_TOKEN }
    expect((await api.get(PROFILE, other)).status).toBe(200)
    const warnings = api.log.lines.filter((line) => line.startsWith('warn'))
    expect(warnings).toHaveLength(2)
    expect(warnings[0]).toContain('"project":"shop"')
    expect(warnings[1]).toContain('"project":"other"')
  })

  it('forbids other origins to read and caches to keep the answers', async () => {
    const api = await open()
    for (const [method, path] of AUTHENTICATED) {
      const headers = { Origin: 'https://evil.example', 'X-Project-Identify-Token': SHOP_TOKEN }
      for (const answer of [
        await api.send(method, path, { headers }),
        await api.send('OPTIONS', path, { headers: { Origin: 'https://evil.example' } }),
      ])
        expect(
          [...answer.headers.keys()].filter((name) => name.startsWith('access-control')),
        ).toStrictEqual([])
    }
    expect((await api.get(PROFILE)).headers.get('cache-control')).toBe('no-store')
  })
})

describe('paths', () => {
  it.each([
    '/api/v2/payment',
    '/api/v2/payment/refund',
    '/api/v2/merchant/',
    '/api/v2/payment/verify/more',
    '/api/v2/payment/supported//',
    '/ucp',
    '/ucp/other.json',
    '/ucp/constructor',
  ])('answers 404 to %s under the prefix', async (path) => {
    const api = await open()
    for (const answer of [await api.get(path), await api.send('GET', path)]) {
      expect(answer.status).toBe(404)
      expectProblem(answer, problemOf(404, 'not_found', 'Not Found'))
    }
  })

  it.each(['/own', '/api/v2', '/api/v2/payments', '/api/v2/other', '/ucpx', '/'])(
    'leaves %s to the app',
    async (path) => {
      const answer = await (await open()).get(path)
      expect(answer.headers.get('content-type')).not.toContain('problem')
      expect(answer.headers.get('ratelimit')).toBeNull()
      expect(answer.status).toBe(path === '/own' ? 200 : 404)
    },
  )

  it.each(['/api/v2/payment/supported/', '/ucp/schema.json/'])(
    'serves %s with its trailing slash',
    async (path) => {
      expect((await (await open()).get(path)).status).toBe(200)
    },
  )
})

describe('methods', () => {
  it.each([
    ['GET', REQUIREMENTS, 'POST, OPTIONS'],
    ['HEAD', '/api/v2/payment/settle', 'POST, OPTIONS'],
    ['DELETE', CHECKOUT, 'POST, OPTIONS'],
    ['POST', PROFILE, 'GET, HEAD, OPTIONS'],
    ['PUT', '/ucp/schema.json', 'GET, HEAD, OPTIONS'],
  ])('answers %s %s with 405 and Allow', async (method, path, allow) => {
    const answer = await (await open()).send(method, path)
    expect(answer.status).toBe(405)
    expect(answer.headers.get('allow')).toBe(allow)
    if (method !== 'HEAD')
      expectProblem(answer, problemOf(405, 'method_not_allowed', 'Method Not Allowed'))
  })

  it('answers OPTIONS with the allowed methods', async () => {
    const answer = await (await open()).send('OPTIONS', REQUIREMENTS)
    expect([answer.status, answer.headers.get('allow'), answer.text]).toStrictEqual([
      204,
      'POST, OPTIONS',
      '',
    ])
  })

  it('answers HEAD as GET, without the body', async () => {
    const api = await open()
    const answer = await api.send('HEAD', PROFILE, {
      headers: { 'X-Project-Identify-Token': SHOP_TOKEN },
    })
    expect([answer.status, answer.text]).toStrictEqual([200, ''])
  })
})

describe('bodies', () => {
  it.each([
    ['{"resourceUrl":', 'cut short'],
    ["{'resourceUrl': 1}", 'in single quotes'],
    ['', 'empty', 'invalid_request'],
  ])('refuses malformed JSON: %s (%s)', async (body, _name, code = 'invalid_json') => {
    const answer = await (await open()).post(REQUIREMENTS, body)
    expect(answer.status).toBe(400)
    expectProblem(answer, {
      ...problemOf(400, code, 'Bad Request'),
      errors: expect.arrayContaining([{ path: expect.any(String), message: expect.any(String) }]),
    })
  })

  it.each(['text/plain', 'application/x-www-form-urlencoded', 'application/jsonp'])(
    'refuses a body of the type %s',
    async (type) => {
      const answer = await (await open()).post(REQUIREMENTS, '{}', { 'Content-Type': type })
      expect(answer.status).toBe(415)
      expectProblem(answer, problemOf(415, 'unsupported_media_type', 'Unsupported Media Type'))
    },
  )

  it.each([
    ['a character set', { 'Content-Type': 'application/json; charset=latin1' }],
    ['an encoding', { 'Content-Encoding': 'zip' }],
  ])('refuses a body with %s that it cannot read', async (_name, headers) => {
    const answer = await (await open()).post(REQUIREMENTS, '{}', headers)
    expect(answer.status).toBe(415)
    expectProblem(answer, problemOf(415, 'unsupported_media_type', 'Unsupported Media Type'))
  })

  it('refuses a body over 64 KB, even if it is small until it is decompressed', async () => {
    const api = await open()
    const large = JSON.stringify({ ...CHECKOUT_BODY, filler: 'x'.repeat(70_000) })
    expectProblem(
      await api.post(CHECKOUT, large),
      problemOf(413, 'payload_too_large', 'Payload Too Large'),
    )
    const headers = {
      'X-Project-Identify-Token': SHOP_TOKEN,
      'Content-Type': 'application/json',
      'Content-Encoding': 'gzip',
    }
    const packed = await api.send('POST', CHECKOUT, { headers, body: gzipSync(large) })
    expectProblem(packed, problemOf(413, 'payload_too_large', 'Payload Too Large'))
    const small = gzipSync(JSON.stringify(CHECKOUT_BODY))
    expect((await api.send('POST', CHECKOUT, { headers, body: small })).status).toBe(200)
  })

  it('refuses a body that is not compressed as declared', async () => {
    const answer = await (await open()).post(REQUIREMENTS, '{}', { 'Content-Encoding': 'gzip' })
    expect(answer.status).toBe(400)
    expectProblem(answer, {
      ...problemOf(400, 'invalid_request', 'Bad Request'),
      errors: [{ path: '', message: expect.any(String) }],
    })
  })

  it('accepts JSON that the app has parsed, and the types that the app has added', async () => {
    const api = await open({}, { prepare: (app) => app.use(express.json()) })
    expect((await api.post(CHECKOUT, CHECKOUT_BODY)).status).toBe(200)
    expect((await api.post(CHECKOUT, {})).status).toBe(400)
    const charset = { 'Content-Type': 'application/json; charset=UTF-8' }
    expect((await api.post(CHECKOUT, CHECKOUT_BODY, charset)).status).toBe(200)
  })
})

describe('the URL of the documents', () => {
  const specOf = async (api: GatewayApi, headers?: Record<string, string>): Promise<string> =>
    (await api.get(PROFILE, headers)).body[HANDLER][0].spec

  it('follows the prefix', async () => {
    const api = await open({}, { prefix: '/gate/way' })
    expect(await specOf(api)).toBe(`${api.url}/gate/way/ucp/gateway.md`)
    expect((await fetch(await specOf(api))).status).toBe(200)
  })

  it('follows publicUrl and the prefix', async () => {
    const api = await open({ publicUrl: 'https://pay.example.com/v1/' }, { prefix: '/gate' })
    expect(await specOf(api)).toBe('https://pay.example.com/v1/gate/ucp/gateway.md')
  })

  it('follows ucp.docsUrl first', async () => {
    const api = await open({
      publicUrl: 'https://pay.example.com',
      ucp: { docsUrl: 'https://vendor.xyz/docs/' },
    })
    expect(await specOf(api)).toBe('https://vendor.xyz/docs/ucp/gateway.md')
    const schema = await api.send('GET', '/ucp/schema.json')
    expect(schema.body.$id).toBe('https://vendor.xyz/docs/ucp/schema.json')
  })

  const forwarded = { 'X-Forwarded-Proto': 'https', 'X-Forwarded-Host': 'pay.example.com' }

  it('follows a proxy that the app trusts', async () => {
    const api = await open({}, { prepare: (app) => app.set('trust proxy', 'loopback') })
    expect(await specOf(api, forwarded)).toBe('https://pay.example.com/ucp/gateway.md')
  })

  it('ignores forwarded headers of anybody else', async () => {
    const api = await open()
    expect(await specOf(api, forwarded)).toBe(`${api.url}/ucp/gateway.md`)
  })
})

describe('networkNames: short', () => {
  it('writes short network names in everything that it quotes', async () => {
    const api = await open({ networkNames: 'short' })
    const requirements = await api.post(REQUIREMENTS, {
      resourceUrl: 'https://shop.example/',
      requestedAmount: 1,
    })
    expect(requirements.body.accepts[0].network).toBe('base-sepolia')
    const checkout = await api.post(CHECKOUT, CHECKOUT_BODY)
    expect(checkout.body[HANDLER][0].config.accepts[0].network).toBe('base-sepolia')
  })
})

describe('the rate limit', () => {
  const limited = (limit: number, store?: Store): GatewayOptions => ({
    rateLimit: { windowMs: 60_000, limit, ...(store && { store }) },
  })

  it('states the remaining requests in each answer as draft 8 does', async () => {
    const answer = await (await open(limited(5))).get(PROFILE)
    expect(answer.headers.get('ratelimit-policy')).toMatch(/^"[^"]+"; q=5; w=60/)
    expect(answer.headers.get('ratelimit')).toMatch(/^"[^"]+"; r=4; t=\d+/)
    expect(answer.headers.get('x-ratelimit-limit')).toBeNull()
  })

  it('refuses the requests beyond it for that project alone', async () => {
    const api = await open(limited(2))
    expect((await api.get(PROFILE)).status).toBe(200)
    expect((await api.get('/ucp/schema.json')).status).toBe(200)
    const answer = await api.get(PROFILE)
    expectProblem(answer, problemOf(429, 'rate_limited', 'Too Many Requests'))
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0)
    expect(answer.headers.get('ratelimit')).toMatch(/r=0; t=\d+/)
    expect((await api.get(PROFILE, { 'X-Project-Identify-Token': OTHER_TOKEN })).status).toBe(200)
    expect((await api.send('GET', '/own')).status).toBe(200)
  })

  it('counts requests without a valid token by their address', async () => {
    const api = await open(limited(2), { prepare: (app) => app.set('trust proxy', 'loopback') })
    const from = (address: string, token?: string): Promise<ApiAnswer> =>
      api.get(PROFILE, { 'X-Forwarded-For': address, 'X-Project-Identify-Token': token })
    expect((await from('203.0.113.1', 'x402_guess-one')).status).toBe(401)
    expect((await from('203.0.113.1')).status).toBe(401)
    expect((await from('203.0.113.1', 'x402_guess-two')).status).toBe(429)
    expect((await from('203.0.113.2')).status).toBe(401)
    expect((await from('203.0.113.1', SHOP_TOKEN)).status).toBe(200)
  })

  it('keeps its counts in the store it is given', async () => {
    const store = new MemoryStore()
    const api = await open(limited(100, store))
    await api.get(PROFILE)
    await api.get(PROFILE)
    expect((await store.get('project:shop'))?.totalHits).toBe(2)
  })

  it('lets requests through and logs that while its store does not answer', async () => {
    const store: Store = {
      increment: () => Promise.reject(new Error('the store is away')),
      decrement: () => undefined,
      resetKey: () => undefined,
    }
    const api = await open(limited(1, store))
    expect((await api.get(PROFILE)).status).toBe(200)
    expect(api.log.lines.join()).toContain('the store is away')
  })

  it('warns if two limits share one store', async () => {
    const api = await open(limited(100, new MemoryStore()))
    api.gateway.gatewayRouter()
    await until(() => api.log.lines.length > 0)
    expect(api.log.lines.join()).toMatch(/error The rate limiter is misconfigured.*STORE_REUSE/)
  })

  it('can be turned off', async () => {
    const answer = await (await open({ rateLimit: false })).get(PROFILE)
    expect(answer.status).toBe(200)
    expect(answer.headers.get('ratelimit')).toBeNull()
  })

  it('is 600 a minute by default', async () => {
    const answer = await (await open()).get(PROFILE)
    expect(answer.headers.get('ratelimit-policy')).toMatch(/q=600; w=60/)
  })
})

describe('a body that ends early', () => {
  it('does not affect other requests', async () => {
    const api = await open()
    const { port } = new URL(api.url)
    await new Promise<void>((resolve) => {
      const req = request({
        port,
        method: 'POST',
        path: CHECKOUT,
        headers: {
          'X-Project-Identify-Token': SHOP_TOKEN,
          'Content-Type': 'application/json',
          'Content-Length': 1000,
        },
      })
      req.on('error', () => resolve())
      req.write('{"amount":', () => req.destroy())
    })
    expect((await api.post(CHECKOUT, CHECKOUT_BODY)).status).toBe(200)
  })
})
