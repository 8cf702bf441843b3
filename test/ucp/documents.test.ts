import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import addFormats from 'ajv-formats'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import { handlerDescriptor, HANDLER_VERSION } from '../../src/ucp/handler.js'
import { handlerSchema } from '../../src/ucp/schema.js'
import { handlerSpecification } from '../../src/ucp/specification.js'
import { reasons } from '../../src/protocol/reasons.js'
import { SHOP_TOKEN } from '../support/devnet.js'
import { serveGateway, type GatewayApi } from '../router/api.js'

const HANDLER = 'com.example.pay'

/** Compiles the published schema, strictly. */
function compile(schema: object): ValidateFunction {
  const ajv = new Ajv2020({ strict: true, strictRequired: false, allErrors: true })
  addFormats.default(ajv)
  ajv.addVocabulary(['name', 'version'])
  return ajv.compile(schema)
}

describe.each(['caip2', 'short'] as const)('the schema, with networkNames %s', (networkNames) => {
  let api: GatewayApi
  let validate: ValidateFunction
  // oxlint-disable-next-line typescript/no-explicit-any -- documents to be damaged
  let entry: any

  beforeAll(async () => {
    api = await serveGateway({
      handlerId: HANDLER,
      networkNames,
      networks: {
        base: { rpcUrl: 'http://127.0.0.1:9', relayerKeys: [`0x${'5e'.repeat(32)}`] },
        'eip155:31337': {
          rpcUrl: 'http://127.0.0.1:9',
          relayerKeys: [`0x${'5e'.repeat(32)}`],
          assets: [
            {
              address: '0x000000000000000000000000000000000000f00d',
              symbol: 'FOO',
              decimals: 18,
              currency: 'USD',
              eip712: { name: 'Foo', version: '1' },
            },
          ],
        },
      },
      projects: [
        {
          id: 'shop',
          tokens: [SHOP_TOKEN],
          merchant: { payTo: '0x000000000000000000000000000000000000bEEF' },
        },
      ],
    })
    const schema = await api.send('GET', '/ucp/schema.json')
    validate = compile(schema.body)
    const checkout = await api.post('/api/v2/merchant/checkout-prepare', {
      amount: '15.00',
      currency: 'USD',
      resource: { url: 'https://shop.example/checkout/42', description: 'Two books' },
    })
    entry = checkout.body[HANDLER][0]
  })
  afterAll(() => api.close())

  it('takes what checkout-prepare answers', () => {
    expect(entry.config.accepts).toHaveLength(2)
    expect(validate(entry)).toBe(true)
    expect(validate({ ...entry, available_instruments: [{ type: 'x402' }] })).toBe(true)
  })

  it('takes what payment-profile answers, once it has a config', async () => {
    const profile = await api.get('/api/v2/merchant/payment-profile')
    const [descriptor] = profile.body[HANDLER]
    expect(validate(descriptor)).toBe(false)
    expect(validate({ ...descriptor, config: entry.config })).toBe(true)
  })

  const damaged: ReadonlyArray<readonly [string, (copy: typeof entry) => void]> = [
    ['no id', (copy) => delete copy.id],
    ['another id', (copy) => (copy.id = 'com.example.other')],
    ['a version that is no date', (copy) => (copy.version = '2026-13-40')],
    ['no config', (copy) => delete copy.config],
    ['nothing accepted', (copy) => (copy.config.accepts = [])],
    ['another x402Version', (copy) => (copy.config.x402Version = 1)],
    ['no resource', (copy) => delete copy.config.resource],
    ['no payTo', (copy) => delete copy.config.accepts[0].payTo],
    ['a payTo that is cut short', (copy) => (copy.config.accepts[0].payTo = '0xbEEF')],
    ['a decimal amount', (copy) => (copy.config.accepts[0].amount = '15.00')],
    ['an amount that is a number', (copy) => (copy.config.accepts[0].amount = 15)],
    ['an amount of zero', (copy) => (copy.config.accepts[0].amount = '0')],
    ['another scheme', (copy) => (copy.config.accepts[0].scheme = 'upto')],
    ['no EIP-712 domain', (copy) => delete copy.config.accepts[0].extra],
    ['an instrument of another type', (copy) => (copy.available_instruments = [{ type: 'card' }])],
    ['a network in capitals', (copy) => (copy.config.accepts[0].network = 'EIP155:8453')],
  ]

  it.each(damaged)('refuses an entry with %s', (_name, damage) => {
    const copy = structuredClone(entry)
    damage(copy)
    expect(validate(copy)).toBe(false)
  })

  it('takes short names only where they are written', () => {
    const copy = structuredClone(entry)
    copy.config.accepts[0].network = 'base'
    expect(validate(copy)).toBe(networkNames === 'short')
    copy.config.accepts[0].network = 'eip155:8453'
    expect(validate(copy)).toBe(true)
  })

  it('may be read by browsers and kept by caches', async () => {
    for (const path of ['/ucp/schema.json', '/ucp/gateway.md']) {
      const { headers } = await api.send('GET', path)
      expect(headers.get('access-control-allow-origin')).toBe('*')
      expect(headers.get('cache-control')).toBe('public, max-age=3600')
    }
  })

  it('is beside a specification in Markdown', async () => {
    const answer = await api.send('GET', '/ucp/gateway.md')
    expect(answer.status).toBe(200)
    expect(answer.headers.get('content-type')).toBe('text/markdown; charset=utf-8')
    expect(answer.text).toMatch(new RegExp(`^# ${HANDLER}\n`))
    expect(answer.text).toContain(`${api.url}/ucp/schema.json`)
    expect(answer.text).not.toContain('xyz.vendor')
  })
})

describe('the documents', () => {
  const handler = { id: HANDLER, docsUrl: 'https://example.com' }

  it('agree about the version and about each other’s addresses', () => {
    const descriptor = handlerDescriptor(handler)
    const schema = handlerSchema(handler, 'caip2') as Record<string, unknown>
    expect(descriptor.version).toBe(HANDLER_VERSION)
    expect(schema).toMatchObject({
      $id: descriptor.schema,
      name: HANDLER,
      version: HANDLER_VERSION,
    })
    expect(handlerSpecification(handler)).toContain(`Version ${HANDLER_VERSION}`)
  })

  it('explain only reasons that there are', () => {
    const explained = [...handlerSpecification(handler).matchAll(/^\| `(\w+)` \|/gm)]
      .map(([, reason]) => reason)
      .filter((reason) => reason !== 'errorReason')
    expect(explained.length).toBeGreaterThan(3)
    expect(reasons).toEqual(expect.arrayContaining(explained))
  })
})
