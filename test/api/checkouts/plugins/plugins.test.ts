/**
 * The shops' plugins, as their public sources send their requests: paths, headers, bodies and retries.
 *
 * Each shop discovers the handler, prepares a checkout, gets a wallet's payment for it, and settles.
 */
import { describe, expect, it } from '@jest/globals'
import type {
  PaymentPayload,
  PaymentRequirements,
} from '../../../../src/shared/protocol/payment.js'
import { balanceOf, SHOP_TOKEN, shopOptions, useDevnet } from '../../../support/devnet.js'
import { signPayment } from '../../../support/sign-payment.js'
import { until } from '../../../support/until.js'
import { problemOf, serveGateway, type ApiAnswer } from '../../api.js'
import { useOpened } from '../../../support/use-opened.js'
import { stopMining, resumeMining, untilSent } from '../../../support/mining.js'

/** The name that all of these plugins expect. */
const HANDLER = 'xyz.fd.prism_payment'
const ORDER = 'https://shop.example/checkout/42'
const HASH = /^0x[0-9a-f]{64}$/
const VERIFY = '/api/v2/payment/verify'
const SETTLE = '/api/v2/payment/settle'
const USED = 'invalid_exact_evm_nonce_already_used'

const devnet = useDevnet()
const api = useOpened(() => serveGateway({ ...shopOptions(devnet), handlerId: HANDLER }))

interface Config {
  readonly x402Version: 2
  readonly resource: { readonly url: string; readonly description?: string }
  readonly accepts: readonly PaymentRequirements[]
  readonly extensions: Readonly<Record<string, unknown>>
}

/** A plugin's HTTP client: nothing but its own headers. */
const clientOf = (headers: Record<string, string>) => ({
  get: (path: string) => api.send('GET', path, { headers }),
  post: (path: string, body: unknown) =>
    api.send('POST', path, {
      headers: { 'Content-Type': 'application/json', ...headers },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    }),
})

/** What `json_encode(json_decode($json, true))` makes of a document. */
function throughPhp<T>(document: T): T {
  const lists = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(lists)
    if (typeof value !== 'object' || value === null) return value
    const members = Object.entries(value)
    if (members.length === 0) return []
    return Object.fromEntries(members.map(([name, member]) => [name, lists(member)]))
  }
  return lists(document) as T
}

/** `json_encode` escapes slashes. */
const phpJson = (document: unknown): string =>
  JSON.stringify(throughPhp(document)).replaceAll('/', String.raw`\/`)

/** The wallet pays the first way, and echoes what it was offered. */
async function authorize(config: Config, payer = 0) {
  const { accepts, resource } = config
  const paymentRequirements = accepts[0]!
  const paymentPayload = await signPayment(devnet.payers[payer]!, paymentRequirements, {
    payload: { resource, extensions: {} },
  })
  return { x402Version: 2, paymentPayload, paymentRequirements }
}

const order = (amount = '15.00') => ({
  amount,
  currency: 'USD',
  resource: { url: ORDER, description: 'Purchase from Example' },
})

const income = () => balanceOf(devnet, devnet.merchant.address)

/** The order costs 15 dollars; they arrive once. */
async function expectPaid(settled: ApiAnswer, before: bigint, payer = 0): Promise<void> {
  expect([settled.status, settled.body]).toStrictEqual([
    200,
    {
      success: true,
      transaction: expect.stringMatching(HASH),
      network: 'eip155:84532',
      payer: devnet.payers[payer]!.address,
    },
  ])
  expect((await income()) - before).toBe(15_000_000n)
}

/** An answer with what every one of them demands of a descriptor. */
const described = (): unknown => [
  200,
  {
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
  },
]

const seen = ({ status, body }: ApiAnswer): unknown => [status, body]

const acpHandler = (config: object) => ({
  id: HANDLER,
  name: HANDLER,
  version: expect.any(String),
  spec: `${api.url}/ucp/gateway.md`,
  requires_delegate_payment: false,
  requires_pci_compliance: false,
  psp: 'x402',
  config_schema: `${api.url}/ucp/schema.json`,
  instrument_schemas: [`${api.url}/ucp/instrument_schema.json`],
  config,
})

describe('Medusa before May 2026', () => {
  const shop = clientOf({ 'X-API-Key': SHOP_TOKEN })

  it('sells by payment-profile and checkout-prepare', async () => {
    expect(seen(await shop.get('/api/v2/merchant/payment-profile'))).toStrictEqual(described())
    const { body } = await shop.post('/api/v2/merchant/checkout-prepare', order())
    const authorization = await authorize(body[HANDLER][0].config)
    expect((await shop.post(VERIFY, authorization)).body).toMatchObject({ isValid: true })
    const before = await income()
    await expectPaid(await shop.post(SETTLE, authorization), before)
  })

  it('shows its buyer why a payment is refused', async () => {
    const { body } = await shop.post('/api/v2/merchant/checkout-prepare', order())
    const { paymentPayload, ...authorization } = await authorize(body[HANDLER][0].config)
    const { payload } = paymentPayload as unknown as { payload: { authorization: object } }
    const changed = { ...payload, authorization: { ...payload.authorization, value: '1' } }
    const refused = await shop.post(VERIFY, {
      ...authorization,
      paymentPayload: { ...paymentPayload, payload: changed },
    })
    // It reads `error`, or `reason`, and nothing else.
    const { error, invalidMessage } = refused.body
    expect(refused.body).toMatchObject({ isValid: false, error: expect.any(String) })
    expect(error).toBe(invalidMessage)
  })
})

describe('Medusa 0.3.3', () => {
  const shop = clientOf({ 'X-API-Key': SHOP_TOKEN })

  it('sells by UCP and ACP, and prepares both at once', async () => {
    const [ucp, acp] = await Promise.all([
      shop.get('/api/v2/merchant/ucp/handlers'),
      shop.get('/api/v2/merchant/acp/handlers'),
    ])
    expect(seen(ucp)).toStrictEqual(described())
    expect([acp.status, acp.body]).toStrictEqual([200, [acpHandler({})]])

    // `String(Number(cart.total))`, of a cart that added up floats.
    const cart = order(String(4.999999999999999 + 10))
    expect(cart.amount).toBe('15')
    const [forUcp, forAcp] = await Promise.all([
      shop.post('/api/v2/merchant/ucp/payment-requirements', cart),
      shop.post('/api/v2/merchant/acp/payment-requirements', cart),
    ])
    const [entry] = forUcp.body[HANDLER]
    expect(entry).toStrictEqual({ id: HANDLER, version: expect.any(String), config: entry.config })
    // A payment for the one is good for the other.
    expect(forAcp.body).toStrictEqual(acpHandler(entry.config))
    const authorization = await authorize(forAcp.body.config, 1)
    const before = await income()
    await expectPaid(await shop.post(SETTLE, authorization), before, 1)
  })

  it('prepares a cart whose total carries the noise of floats, and no other fraction of a cent', async () => {
    const path = '/api/v2/merchant/ucp/payment-requirements'
    const noisy = await shop.post(path, order(String(0.1 + 0.2)))
    expect(noisy.body[HANDLER][0].config.accepts[0].amount).toBe('300000')
    const refused = await shop.post(path, order('0.304'))
    expect([refused.status, refused.body.errors]).toMatchObject([400, [{ path: 'amount' }]])
  })
})

describe('WooCommerce', () => {
  // As `wp_remote_post` sends it, with a type even on GET.
  const shop = clientOf({
    'X-API-Key': SHOP_TOKEN,
    'Content-Type': 'application/json',
    'User-Agent': 'WordPress/6.8; https://shop.example',
  })

  it('sells, and settles without naming a version', async () => {
    expect(seen(await shop.get('/api/v2/merchant/ucp/handlers'))).toStrictEqual(described())
    const { body } = await shop.post('/api/v2/merchant/ucp/payment-requirements', phpJson(order()))
    const authorization = await authorize(throughPhp(body[HANDLER][0].config), 2)
    expect((await shop.post(VERIFY, phpJson(authorization))).body).toMatchObject({ isValid: true })
    const { x402Version: _version, ...settlement } = authorization
    const before = await income()
    await expectPaid(await shop.post(SETTLE, phpJson(settlement)), before, 2)
  })
})

describe('PrestaShop', () => {
  const shop = clientOf({
    'X-API-Key': SHOP_TOKEN,
    'Content-Type': 'application/json',
    Accept: 'application/json',
  })

  it('sells, though PHP writes each empty object as an empty list', async () => {
    expect(seen(await shop.get('/api/v2/merchant/ucp/handlers'))).toStrictEqual(described())
    const { body } = await shop.post('/api/v2/merchant/ucp/payment-requirements', phpJson(order()))
    const config = body[HANDLER][0].config as Config
    const paymentRequirements = config.accepts[0]!
    const paymentPayload = await signPayment(devnet.payers[3]!, paymentRequirements, {
      payload: { resource: {}, extensions: { 'payment-identifier': {}, other: {} } },
    })
    const settlement = phpJson({ paymentPayload, paymentRequirements })
    expect(settlement).toContain('"extensions":{"payment-identifier":[],"other":[]}')
    expect(settlement).toContain('"resource":[]')
    const before = await income()
    await expectPaid(await shop.post(SETTLE, settlement), before, 3)
  })
})

describe('Shopware 0.7', () => {
  const shop = clientOf({ 'X-API-Key': SHOP_TOKEN, Accept: 'application/json' })
  const PREPARE = '/api/v2/merchant/payment-requirements'

  it.each([
    '/api/v2/ucp/2026-08-25/handlers',
    '/api/v2/merchant/ucp/2026-04-08/handlers',
    '/api/v2/merchant/ucp/2026-08-25/handlers',
  ])('discovers the handler at %s, and its instrument in its schema', async (path) => {
    const answer = await shop.get(path)
    expect(seen(answer)).toStrictEqual(described())
    const schema = await clientOf({ Accept: 'application/json' }).get(
      answer.body[HANDLER][0].schema.replace(api.url, ''),
    )
    expect(schema.body.$defs[HANDLER].instrument.$ref).toBe(`${api.url}/ucp/instrument_schema.json`)
  })

  it('discovers it without a key from 0.7.6 on', async () => {
    const keyless = clientOf({ 'User-Agent': 'fd-shopware-prism/0.7.6' })
    expect(seen(await keyless.get('/ucp/2026-08-25/handlers'))).toStrictEqual(described())
  })

  it.each(['/api/v2/merchant/ucp', '/api/v2/ucp', '/ucp'])(
    'is told at %s which versions of UCP there are',
    async (prefix) => {
      const { status, body } = await shop.get(`${prefix}/2031-01-01/handlers`)
      expect([status, body]).toStrictEqual([404, problemOf(404, 'not_found', 'Not Found')])
      expect(body.detail).toContain('2026-04-08, 2026-08-25')
    },
  )

  it('sells with the x402 envelope alone, and settles the whole credential', async () => {
    const prepared = await shop.post(PREPARE, phpJson(order()))
    expect(prepared.body).toStrictEqual({
      x402Version: 2,
      resource: order().resource,
      accepts: expect.any(Array),
      extensions: { 'payment-identifier': expect.any(Object) },
    })
    // It compares what was signed with the stored offer, deeply.
    expect((await shop.post(PREPARE, phpJson(order()))).body).toStrictEqual(prepared.body)
    const credential = { type: 'x402', ...(await authorize(throughPhp(prepared.body), 4)) }
    const before = await income()
    await expectPaid(await shop.post(SETTLE, phpJson(credential)), before, 4)
  })

  it('settles once more with the same signature when the answer was lost, and is told of it', async () => {
    const { body } = await shop.post(PREPARE, phpJson(order()))
    const credential = phpJson(await authorize(body, 5))
    const before = await income()
    await stopMining(devnet)
    const lost = new AbortController()
    const first = fetch(api.url + SETTLE, {
      method: 'POST',
      headers: { 'X-API-Key': SHOP_TOKEN, 'Content-Type': 'application/json' },
      body: credential,
      signal: lost.signal,
    })
    await untilSent(devnet)
    lost.abort()
    await expect(first).rejects.toThrow(/abort/)
    await resumeMining(devnet)

    let again: ApiAnswer | undefined
    await until(async () => {
      again = await shop.post(SETTLE, credential)
      return !['duplicate_settlement', 'settlement_pending'].includes(again.body.errorReason)
    })
    await expectPaid(again!, before, 5)
    const third = await shop.post(SETTLE, credential)
    expect([third.status, third.body]).toMatchObject([
      200,
      { success: false, errorReason: USED, transaction: '', settledBy: again!.body.transaction },
    ])
    expect((await income()) - before).toBe(15_000_000n)
  })
})

describe('Saleor', () => {
  const shop = clientOf({ 'X-API-Key': SHOP_TOKEN })

  it.each(['2026-04-08', '2026-08-25'])('discovers the handler for UCP %s', async (version) => {
    expect(seen(await shop.get(`/api/v2/merchant/ucp/${version}/handlers`))).toStrictEqual(
      described(),
    )
  })

  it('sells by the envelope or by ACP, and picks the entry that was signed', async () => {
    const [config, acp] = await Promise.all([
      shop.post('/api/v2/merchant/payment-requirements', order()),
      shop.post('/api/v2/merchant/acp/payment-requirements', order()),
    ])
    expect(acp.body).toStrictEqual(acpHandler(config.body))
    const { paymentPayload } = await authorize(config.body, 6)
    const { network, asset } = paymentPayload.accepted
    const { accepts } = config.body as Config
    const paymentRequirements = accepts.find(
      (entry) => entry.network === network && entry.asset === asset,
    )
    const before = await income()
    const settlement = { x402Version: 2, paymentPayload, paymentRequirements }
    await expectPaid(await shop.post(SETTLE, settlement), before, 6)
  })
})

describe('the Prism SDK', () => {
  const server = clientOf({ 'X-API-Key': SHOP_TOKEN })

  it('asks for the requirements twice, verifies and settles', async () => {
    const request = {
      resourceUrl: ORDER,
      requestedAmount: 15,
      description: 'Payment required',
      mimeType: 'application/json',
    }
    const ask = () => server.post('/api/v2/payment/requirements', request)
    const { body: offered } = await ask()
    const paymentPayload = await signPayment(devnet.payers[7]!, offered.accepts[0])
    // It reads the payment, and looks for the entry in requirements that are new.
    const { body: asked } = await ask()
    const submission = { paymentPayload, paymentRequirements: asked.accepts[0] }
    expect((await server.post(VERIFY, submission)).body).toMatchObject({ isValid: true })
    const before = await income()
    await expectPaid(await server.post(SETTLE, submission), before, 7)
  })
})

describe('the key of a plugin', () => {
  const PATHS = [
    ['GET', '/api/v2/merchant/ucp/handlers'],
    ['GET', '/api/v2/merchant/ucp/2026-08-25/handlers'],
    ['GET', '/api/v2/ucp/2026-08-25/handlers'],
    ['GET', '/api/v2/merchant/acp/handlers'],
    ['POST', '/api/v2/merchant/ucp/payment-requirements'],
    ['POST', '/api/v2/merchant/payment-requirements'],
    ['POST', '/api/v2/merchant/acp/payment-requirements'],
    ['POST', VERIFY],
    ['POST', SETTLE],
  ] as const

  it.each(PATHS)('is demanded by %s %s', async (method, path) => {
    for (const headers of [{}, { 'X-API-Key': 'x402_nobody-has-this-token' }])
      expect((await api.send(method, path, { headers })).status).toBe(401)
  })

  it('is named in the refusal by the header that it came in', async () => {
    const { body } = await api.send('GET', PATHS[0][1], { headers: { 'X-API-Key': 'x402_wrong' } })
    expect(body.detail).toMatch(/^The token in X-API-Key belongs to no project/)
  })

  it('does not count beside an identify token, which says by itself whose request it is', async () => {
    const headers = { 'X-Project-Identify-Token': 'x402_wrong', 'X-API-Key': SHOP_TOKEN }
    expect((await api.send('GET', PATHS[0][1], { headers })).status).toBe(401)
    const { status } = await api.send('GET', PATHS[0][1], {
      headers: { 'X-Project-Identify-Token': SHOP_TOKEN, 'X-API-Key': 'of a proxy in front' },
    })
    expect(status).toBe(200)
  })

  it('is of no use to a page in a browser: nothing allows another origin, and the operator is warned', async () => {
    const headers = { Origin: 'https://shop.example', 'X-API-Key': SHOP_TOKEN }
    for (const [method, path] of PATHS) {
      const preflight = await api.send('OPTIONS', path, {
        headers: {
          Origin: headers.Origin,
          'Access-Control-Request-Method': method,
          'Access-Control-Request-Headers': 'x-api-key',
        },
      })
      const asked = await api.send(method, path, { headers })
      for (const answer of [preflight, asked])
        expect(
          [...answer.headers.keys()].filter((name) => name.startsWith('access-control')),
        ).toEqual([])
    }
    expect(api.log.lines.join('\n')).toMatch(/identify token was sent by a browser/)
    expect(api.log.lines.join('\n')).not.toContain(SHOP_TOKEN)
  })
})

it('keeps no payment that a stranger could use: a payload of the wrong shape is refused by each member', async () => {
  const shop = clientOf({ 'X-API-Key': SHOP_TOKEN })
  const { body } = await shop.post('/api/v2/merchant/payment-requirements', order())
  const { paymentPayload, paymentRequirements } = await authorize(body, 8)
  // An empty list is an empty object only where an object may be left out.
  for (const changed of [
    { payload: [] },
    { accepted: [] },
    { extensions: [1] },
    { resource: [{}] },
  ]) {
    const payload = { ...paymentPayload, ...changed } as unknown as PaymentPayload
    const answer = await shop.post(SETTLE, { paymentPayload: payload, paymentRequirements })
    const [member] = Object.keys(changed)
    expect([answer.status, answer.body.errors?.[0]?.path]).toEqual([
      400,
      `paymentPayload.${member}`,
    ])
  }
})
