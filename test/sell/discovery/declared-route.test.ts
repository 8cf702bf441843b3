/** Paid routes that declare what they take and give. */
import { isDeepStrictEqual } from 'node:util'
import { describe, expect, it } from '@jest/globals'
import { HTTPFacilitatorClient } from '@x402/core/server'
import express, { type ErrorRequestHandler } from 'express'
import { UptoEvmScheme } from '@x402/evm/upto/client'
import { privateKeyToAccount } from 'viem/accounts'
import { z } from 'zod'
import { payingFetch } from '../../../example-app/buy.js'
import { paidRequest } from '../../../src/sell/flow/paid-request.js'
import type { DeclaredPrice } from '../../../src/sell/route/up-to-price.js'
import { permit2Of } from '../../tools/devnet/permit2.js'
import { balanceOf, SHOP_TOKEN, useDevnet } from '../../support/devnet.js'
import { listen } from '../../support/http.js'
import { paymentRequiredOf, useShop } from '../../support/shop.js'

const devnet = useDevnet()
let runs = 0
const failures: unknown[] = []

const shop = useShop(
  devnet,
  (app, gateway) => {
    const x402Protect: typeof gateway.x402Protect = (price, options) =>
      gateway.x402Protect(price, { merchant: 'shop', ...options })
    const body = z.object({ text: z.string().max(20), times: z.number().int().default(1) })
    const said = { body, query: z.object({ loud: z.coerce.boolean().optional() }) }
    app.post('/say/:name', express.json(), x402Protect('$0.01', { input: said }), (req, res) => {
      runs++
      const { body, query } = paidRequest(req).input
      res.json({ said: body.text.repeat(body.times), loud: query.loud ?? false, raw: req.body })
    })
    app.post('/unparsed', x402Protect('$0.01', { input: { body } }), (_req, res) => {
      runs++
      res.send('never')
    })
    const page = { type: 'object', properties: { page: { type: 'integer', minimum: 1 } } }
    const paged = { input: { query: { ...page, required: ['page'] } } }
    app.get('/page', x402Protect('$0.01', paged), (req, res) => {
      res.json(req.x402?.input.query)
    })
    const names = Array.from({ length: 60 }, (_, index) => `m${index}`)
    const wide = z.object(Object.fromEntries(names.map((name) => [name, z.string()])))
    app.get('/wide', x402Protect('$0.01', { input: { query: wide } }), (_req, res) => {
      res.send('never')
    })
    const any = { type: 'object', properties: { 'x-lang': { type: 'string' } } }
    app.get('/headers', x402Protect('$0.01', { input: { headers: any } }), (req, res) => {
      res.json(req.x402?.input.headers)
    })
    const own = z.object({}).refine(() => false, 'Ask for a code first.')
    app.get('/own', x402Protect('$0.01', { input: { query: own } }))
    const throws = z.object({}).refine(() => {
      throw new Error('A check of the app.')
    })
    app.get('/throws', x402Protect('$0.01', { input: { query: throws } }))
    const later = z.object({ wait: z.string().optional() }).refine(async ({ wait }) => {
      if (wait === 'for ever') await new Promise(() => undefined)
      if (wait === 'in vain') throw new Error('A database of the app.')
      return wait === 'a moment'
    }, 'must be patient')
    app.get('/later', x402Protect('$0.01', { input: { query: later } }), (req, res) => {
      res.json(req.x402?.input.query)
    })
    const shown = { examples: { output: { forecast: 'sunny' } }, tags: ['weather'] }
    app.get('/weather', x402Protect('$0.01', shown), (_req, res) => {
      res.json({ forecast: 'sunny' })
    })
    app.get(
      '/priced',
      x402Protect(() => '$0.02', shown),
      (_req, res) => void res.send('priced'),
    )
    app.get('/plain', x402Protect('$0.01', { description: 'Plain' }), (_req, res) => {
      res.json({ input: _req.x402?.input ?? null })
    })
    app.get('/metered', x402Protect({ upTo: '$0.10' }), (req, res) => {
      paidRequest(req).charge(req.query['charge'] as string)
      res.send('metered')
    })
    app.get(
      '/hidden',
      x402Protect('$0.01', { merchant: 'hidden' }),
      (_req, res) => void res.send('ok'),
    )
    app.use(gateway.discovery(), gateway.gatewayRouter())
    const note: ErrorRequestHandler = (error, _req, res, _next) => {
      failures.push(error)
      res.status(500).end()
    }
    app.use(note)
  },
  () => {
    const { address: payTo } = devnet.merchant
    const origins = ['https://shop.example', 'https://metered.example', 'https://both.example']
    const projectOf = (id: string, listed: boolean | readonly string[] = origins) => ({
      id,
      tokens: [`${SHOP_TOKEN}-${id}`],
      merchant: { payTo, listed },
    })
    const projects = [projectOf('shop'), projectOf('other'), projectOf('hidden', false)]
    return { projects, rateLimit: false }
  },
)

const post = (path: string, body: unknown): RequestInit & { path: string } => ({
  path,
  method: 'POST',
  headers: { 'Content-Type': 'application/json' },
  body: JSON.stringify(body),
})
const pay = (path: string, init?: RequestInit, payer = devnet.payers[0]!) =>
  payingFetch(payer.privateKey)(shop.url + path, init)
const spent = async (work: () => Promise<unknown>): Promise<bigint> => {
  const before = await balanceOf(devnet, devnet.payers[0]!.address)
  await work()
  return before - (await balanceOf(devnet, devnet.payers[0]!.address))
}

describe('a route with input', () => {
  it('sells what its schemas make of the request', async () => {
    const response = await pay('/say/ann?loud=yes', post('', { text: 'ha', times: 2, more: 1 }))
    expect(response.status).toBe(200)
    expect(await response.json()).toEqual({
      said: 'haha',
      loud: true,
      raw: { text: 'ha', times: 2, more: 1 },
    })
  })

  it('refuses a request that does not fit with all its mistakes, before it asks for money', async () => {
    const before = runs
    const paid = await spent(async () => {
      const response = await pay('/say/ann', post('', { text: 7, times: 1.5 }))
      expect(response.status).toBe(400)
      expect(response.headers.get('content-type')).toBe('application/problem+json')
      expect(response.headers.has('payment-required')).toBe(false)
      expect(await response.json()).toEqual({
        type: 'urn:x402-gateway:problem:invalid_request',
        title: 'Bad Request',
        status: 400,
        code: 'invalid_request',
        detail:
          'body.text: must be a string (and 1 more, see errors). This request was not charged.',
        errors: [
          { path: 'body.text', message: 'must be a string' },
          { path: 'body.times', message: 'must be an integer' },
        ],
      })
    })
    expect({ runs, paid }).toEqual({ runs: before, paid: 0n })
  })

  it('charges nothing for a payment whose request does not fit, and takes it afterwards', async () => {
    const good = post('', { text: 'ok' })
    const offer = paymentRequiredOf(await shop.ask('/say/ann', good))
    const { signPayment } = await import('../../support/sign-payment.js')
    const payment = await signPayment(devnet.payers[0]!, offer.accepts[0]!)
    expect((await shop.pay('/say/ann', payment, post('', { text: 1 }))).status).toBe(400)
    expect((await shop.pay('/say/ann', payment, good)).status).toBe(200)
  })

  it('refuses a request without a body, and lists at most 50 mistakes', async () => {
    const response = await shop.ask('/say/ann', { method: 'POST' })
    expect(response.status).toBe(400)
    expect(await response.json()).toMatchObject({
      errors: [{ path: 'body', message: 'is missing' }],
    })
    const few = await shop.ask('/page?page=0')
    expect(await few.json()).toMatchObject({
      errors: [{ path: 'query.page', message: 'must be at least 1' }],
    })
    const { errors } = (await (await shop.ask('/wide')).json()) as { errors: readonly object[] }
    expect(errors).toHaveLength(50)
  })

  it("repeats the app's own sentence with one full stop", async () => {
    const { detail } = (await (await shop.ask('/own')).json()) as { detail: string }
    expect(detail).toBe('query: Ask for a code first. This request was not charged.')
  })

  it('reads numbers of a query by JSON Schema, and nothing else as a number', async () => {
    expect(await (await pay('/page?page=3')).json()).toEqual({ page: 3 })
    for (const page of ['', '1e3', '0x10', '3;', '1.5', '%00'])
      expect((await shop.ask(`/page?page=${page}`)).status).toBe(400)
    expect((await shop.ask('/page?page=1&page=2')).status).toBe(400)
  })

  it('shows no payment and no cookie among the headers', async () => {
    const headers = { 'X-Lang': 'de', Cookie: 'a=b' }
    const seen = (await (await pay('/headers', { headers })).json()) as Record<string, string>
    expect(seen['x-lang']).toBe('de')
    for (const name of ['payment-signature', 'x-payment', 'cookie'])
      expect(seen).not.toHaveProperty(name)
  })

  it('tells the developer of a body that was not parsed', async () => {
    const response = await shop.ask('/unparsed', post('', { text: 'x' }))
    expect(response.status).toBe(500)
    expect(failures.at(-1)).toMatchObject({
      code: 'config_invalid',
      issues: [{ option: 'input.body', message: expect.stringContaining('express.json()') }],
    })
    expect((await shop.ask('/unparsed', { method: 'POST' })).status).toBe(400)
  })

  it('leaves what a check throws to the app', async () => {
    for (const [path, message] of [
      ['/throws', 'A check of the app.'],
      ['/later?wait=in%20vain', 'A database of the app.'],
    ]) {
      expect((await shop.ask(path!)).status).toBe(500)
      expect(failures.at(-1)).toMatchObject({ message })
    }
  })

  it('waits for a check that is asynchronous', async () => {
    const refused = await shop.ask('/later?wait=not')
    expect(refused.status).toBe(400)
    expect(await refused.json()).toMatchObject({ errors: [{ message: 'must be patient' }] })
    const wait = 'a moment'
    expect(await (await pay('/later?wait=a%20moment')).json()).toEqual({ wait })
  })

  it('does not wait for ever, and charges nothing then', async () => {
    const payment = await shop.sign('/later?wait=a%20moment', devnet.payers[0]!)
    const before = await balanceOf(devnet, devnet.merchant.address)
    const response = await shop.pay('/later?wait=for%20ever', payment)
    expect(response.status).toBe(500)
    expect(failures.at(-1)).toMatchObject({
      issues: [{ option: 'input', message: expect.stringContaining('within 10 s') }],
    })
    expect(await balanceOf(devnet, devnet.merchant.address)).toBe(before)
    expect((await shop.pay('/later?wait=a%20moment', payment)).status).toBe(200)
  })
})

describe('the extension bazaar of a 402', () => {
  it('is there for a route that declares something, with a fixed price or none', async () => {
    for (const path of ['/weather', '/priced']) {
      const document = paymentRequiredOf(await shop.ask(path))
      expect(document.resource).toMatchObject({ tags: ['weather'] })
      expect(document.extensions).toMatchObject({
        'payment-identifier': { info: { required: false } },
        bazaar: { info: { output: { type: 'json', example: { forecast: 'sunny' } } } },
      })
    }
  })

  it('is not there for a route that declares nothing, and its handler has no input', async () => {
    const document = paymentRequiredOf(await shop.ask('/plain'))
    expect(Object.keys(document.extensions ?? {})).toEqual(['payment-identifier'])
    expect(Object.keys(document.resource)).toEqual(['url', 'description'])
    expect(await (await pay('/plain')).json()).toEqual({ input: null })
  })

  it.each(['/weather', '/priced'])('has to come back unchanged, if at all: %s', async (path) => {
    const [payer] = devnet.payers
    const { extensions } = paymentRequiredOf(await shop.ask(path))
    const other = { bazaar: { info: { input: { type: 'http', method: 'POST' } } } }
    const refused = await shop.buy(path, payer!, { payload: { extensions: other } })
    expect(refused.status).toBe(402)
    expect(paymentRequiredOf(refused)).toMatchObject({
      error: 'extension_echo_mismatch',
      extensions: { bazaar: expect.anything() },
    })
    expect((await shop.buy(path, payer!, { payload: { extensions } })).status).toBe(200)
    expect((await shop.buy(path, payer!)).status).toBe(200)
    expect((await pay(path)).status).toBe(200)
  })
})

describe('the catalogue', () => {
  interface Listed {
    readonly resource: string
    readonly sales: { readonly count: number }
    readonly [member: string]: unknown
  }
  const catalogue = async (query = ''): Promise<readonly Listed[]> => {
    const response = await fetch(`${shop.url}/discovery/resources?limit=100${query}`)
    expect(response.status).toBe(200)
    return ((await response.json()) as { items: Listed[] }).items
  }
  const until = async <T>(read: () => Promise<T>, holds: (value: T) => boolean): Promise<T> => {
    for (const end = Date.now() + 5000; ;) {
      const value = await read()
      if (holds(value) || Date.now() > end) return value
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  }
  const facilitator = (id: string) => {
    const headers = { 'X-Project-Identify-Token': `${SHOP_TOKEN}-${id}` }
    return new HTTPFacilitatorClient({
      url: `${shop.url}/api/v2/payment`,
      createAuthHeaders: async () => ({ verify: headers, settle: headers, supported: headers }),
    })
  }
  /** Settles a payment as an official server does, whose buyer has echoed this. */
  const settle = async (project: string, resource: object, bazaar: unknown) => {
    const offer = await shop.ask('/plain')
    const [entry] = paymentRequiredOf(offer).accepts
    const { signPayment } = await import('../../support/sign-payment.js')
    const payload = { resource: { ...resource }, extensions: { bazaar } }
    const payment = await signPayment(devnet.payers[1]!, entry!, { payload })
    return facilitator(project).settle(payment as never, entry as never)
  }
  const bazaar = { info: { input: { type: 'http', method: 'GET' } }, schema: { type: 'object' } }

  it('counts sales, with the last time, within five seconds', async () => {
    const countOf = (items: readonly Listed[]) =>
      items.find(({ resource }) => resource === `${shop.url}/weather`)?.sales.count ?? 0
    const before = countOf(await catalogue())
    await pay('/weather?a=secret')
    await pay('/weather?b=secret')
    const items = await until(catalogue, (all) => countOf(all) === before + 2)
    expect(countOf(items)).toBe(before + 2)
    expect(JSON.stringify(items)).not.toMatch(/secret|offerId/)
  })

  it('leaves out who opts out, also for payments of the API', async () => {
    await pay('/hidden')
    const settled = await settle('hidden', { url: 'https://hidden.example/one' }, bazaar)
    expect(settled).toMatchObject({
      success: true,
      extensionResponses: {
        bazaar: { status: 'rejected', rejectedReason: 'the project is not listed' },
      },
    })
    await pay('/weather')
    const items = await until(catalogue, (all) =>
      all.some((one) => one.resource.endsWith('/weather')),
    )
    expect(items.filter(({ resource }) => resource.includes('hidden'))).toEqual([])
  })

  it('lists what an official server has sold, and tells it', async () => {
    const url = 'https://shop.example/report?id=7'
    const settled = await settle('shop', { url, description: 'A report' }, bazaar)
    expect(settled).toMatchObject({
      success: true,
      extensionResponses: { bazaar: { status: 'success' } },
    })
    const listed = (all: readonly Listed[]) =>
      all.filter(({ resource }) => resource === 'https://shop.example/report')
    const items = listed(await until(catalogue, (all) => listed(all).length > 0))
    expect(items).toMatchObject([{ sales: { count: 1 }, method: 'GET' }])
    // The buyer's own words: nobody has checked them.
    expect(items[0]).not.toHaveProperty('description')
  })

  it('lists a metered sale with its maximum, and not what was charged nothing', async () => {
    const payer = devnet.payers[2]!
    await permit2Of(devnet).approve(payer.address)
    const [accepted] = paymentRequiredOf(await shop.ask('/metered')).accepts
    const sign = async (rest?: object) => {
      const client = new UptoEvmScheme(privateKeyToAccount(payer.privateKey))
      const { payload } = await client.createPaymentPayload(2, accepted as never)
      return { x402Version: 2, accepted, payload, ...rest }
    }
    const own = async (charge: string) => {
      const response = await shop.pay(`/metered?charge=${charge}`, await sign())
      expect(response.status).toBe(200)
    }
    const ofApi = async (amount: string) => {
      const resource = { url: 'https://metered.example/' }
      const payment = await sign({ resource, extensions: { bazaar } })
      return facilitator('shop').settle(payment as never, { ...accepted, amount } as never)
    }
    await own('0')
    expect(await ofApi('0')).toMatchObject({
      success: true,
      extensionResponses: {
        bazaar: { status: 'rejected', rejectedReason: 'nothing was charged' },
      },
    })
    await own('0.02')
    await own('0')
    await ofApi('30000')
    const metered = (all: readonly Listed[]) =>
      all.filter(({ resource }) => resource.includes('metered'))
    const items = metered(await until(catalogue, (all) => metered(all).length === 2))
    const maximum = { scheme: 'upto', amount: '100000' }
    expect(items).toMatchObject([0, 1].map(() => ({ sales: { count: 1 }, accepts: [maximum] })))
  })

  it('keeps two projects apart that claim one URL', async () => {
    const url = 'https://both.example/'
    await settle('shop', { url }, bazaar)
    await settle('other', { url }, bazaar)
    const both = (all: readonly Listed[]) => all.filter(({ resource }) => resource === url)
    expect(both(await until(catalogue, (all) => both(all).length === 2))).toHaveLength(2)
  })

  it.each([
    ['an origin that the project does not name', { url: 'https://evil.example/' }, bazaar],
    ['a URL with credentials', { url: 'https://a:b@shop.example/' }, bazaar],
    ['a script', { url: 'javascript:alert(1)' }, bazaar],
    [
      'a huge extension',
      { url: 'https://x.example/' },
      { ...bazaar, x: 1, schema: { x: 'x'.repeat(5000) } },
    ],
    ['an extension that is none', { url: 'https://x.example/' }, 'bazaar'],
  ])('settles a payment with %s, and does not list it', async (_what, resource, extension) => {
    const settled = await settle('shop', resource, extension)
    expect(settled).toMatchObject({
      success: true,
      extensionResponses: { bazaar: { status: 'rejected', rejectedReason: expect.any(String) } },
    })
  })

  it('answers 100 readers of its pages, and refuses parameters that it does not have', async () => {
    const page = (n: number) => fetch(`${shop.url}/discovery/resources?limit=1&offset=${n % 3}`)
    const answers = await Promise.all(Array.from({ length: 100 }, (_, n) => page(n)))
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
    const search = `${shop.url}/discovery/search`
    for (const path of ['?query=', '', '?query=a&cursor=!', '?query=a&limit=1000', '?query=a&x=1'])
      expect((await fetch(search + path)).status).toBe(400)
    const found = async (parameters: string) => {
      const response = await fetch(`${search}?query=example${parameters}`)
      return (await response.json()) as { resources: Listed[]; pagination: { cursor: string } }
    }
    // What was sold last comes first: a sale that is read between two pages moves them.
    const pages = await until(
      async () => {
        const first = await found('&limit=1')
        const next = await found(`&limit=1&cursor=${first.pagination.cursor}`)
        return [[...first.resources, ...next.resources], (await found('&limit=2')).resources]
      },
      ([one, other]) => isDeepStrictEqual(one, other),
    )
    expect(pages[0]).toHaveLength(2)
    expect(pages[0]).toEqual(pages[1])
  })

  it('filters', async () => {
    const all = await catalogue()
    expect(await catalogue(`&payTo=${devnet.merchant.address.toLowerCase()}`)).toHaveLength(
      all.length,
    )
    expect(await catalogue(`&payTo=${devnet.payers[0]!.address}`)).toEqual([])
    const metered = await catalogue('&network=base-sepolia&scheme=upto')
    expect(metered.map(({ resource }) => resource)).toContain(`${shop.url}/metered`)
    const exact = await catalogue('&network=base-sepolia&scheme=exact')
    expect(exact).toHaveLength(all.length - metered.length)
    expect(await catalogue('&network=base')).toEqual([])
    const described = await catalogue('&extensions=bazaar')
    expect(described.length).toBeGreaterThan(0)
    expect(described.length).toBeLessThan(all.length)
    expect(await catalogue('&type=mcp')).toEqual([])
  })
})

describe('gateway.openapi', () => {
  it('describes an app without HTTP', async () => {
    const app = express().get('/one', shop.gateway.x402Protect('$0.01', { merchant: 'shop' }))
    expect(await shop.gateway.openapi(app)).toMatchObject({
      openapi: '3.1.1',
      paths: { '/one': { get: { 'x-payment-info': { price: { amount: '0.01' } } } } },
    })
    expect((await shop.gateway.openapi(express())).paths).toEqual({})
  })

  it('shows the range that a price function names, and holds the function to it', async () => {
    const { x402Protect } = shop.gateway
    const merchant = 'shop'
    let asked = '$0.02'
    const app = express()
      .get(
        '/any',
        x402Protect(() => asked, { merchant }),
      )
      .get(
        '/range',
        x402Protect(() => asked, { merchant, priceRange: ['$0.01', 2] }),
      )
      .get(
        '/most',
        x402Protect({ upTo: () => asked }, { merchant, priceRange: ['$0.01', '2 USD'] }),
      )
      .get(
        '/whose',
        x402Protect(() => asked, { merchant: () => 'shop', priceRange: [0, '$2'] }),
      )
      .use(shop.gateway.discovery())
    const { paths } = await shop.gateway.openapi(app)
    const priceAt = (path: string): unknown =>
      (paths as Record<string, { get: { 'x-payment-info': { price: object } } }>)[path]?.get[
        'x-payment-info'
      ].price
    const range = { mode: 'dynamic', currency: 'USD', min: '0.01', max: '2' }
    expect(priceAt('/any')).toEqual({ mode: 'dynamic', min: '0' })
    expect(priceAt('/range')).toEqual(range)
    for (const path of ['/most', '/whose']) expect(priceAt(path)).toEqual({ ...range, min: '0' })

    const { url, close } = await listen(app)
    try {
      const words = await (await fetch(`${url}/llms.txt`)).text()
      expect(words).toContain('/range` (0.01 to 2 USD, by the request)')
      expect(words).toContain('/most` (up to 2 USD, by the request)')
      for (const [price, status] of [
        ['$2', 402],
        ['$0.01', 402],
        ['$0.009', 500],
        ['$2.01', 500],
        ['€1', 500],
      ] as const) {
        asked = price
        expect([price, (await fetch(`${url}/range`)).status]).toEqual([price, status])
      }
    } finally {
      await close()
    }
  })

  it.each<[string, object, unknown]>([
    ['beside a fixed price', { price: '$0.01' }, ['$0.01', '$2']],
    ['upside down', {}, ['$2', '$0.01']],
    ['in two currencies', {}, ['$0.01', '€2']],
    ['of one price', {}, ['$0.01']],
    ['of token units', {}, [{ asset: 'USDC', network: 'base-sepolia', amount: '1' }, '$2']],
    ['of words', {}, ['cheap', 'dear']],
  ])(
    'refuses a range %s',
    (_how, { price = () => '$0.01' }: { price?: DeclaredPrice }, priceRange) => {
      const declare = () =>
        shop.gateway.x402Protect(price, { merchant: 'shop', priceRange: priceRange as never })
      expect(declare).toThrow(/^priceRange/)
    },
  )

  it('gives each operation an id of its own', async () => {
    const { x402Protect } = shop.gateway
    const sell = (operationId?: string) =>
      x402Protect('$0.01', { merchant: 'shop', ...(operationId && { operationId }) })
    const app = express().get('/a-b', sell()).get('/a/b', sell()).get('/c', sell('get_a_b'))
    const { paths } = await shop.gateway.openapi(app)
    const ids = Object.values(paths).map(({ get }) => (get as { operationId: string }).operationId)
    expect(ids).toEqual(['get_a_b', 'get_a_b_2', 'get_a_b_3'])
  })

  it('leaves the paths of an app without paid routes to the app', async () => {
    const { listen } = await import('../../support/http.js')
    const app = express().use(shop.gateway.discovery())
    app.get('/openapi.json', (_req, res) => void res.send('mine'))
    const server = await listen(app)
    expect(await (await fetch(`${server.url}/openapi.json`)).text()).toBe('mine')
    expect((await fetch(`${server.url}/llms.txt`)).status).toBe(404)
    await server.close()
  })
})
