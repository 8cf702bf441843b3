/** Wrong uses of the package. Each is told where it is, what is wrong, and what to write. */
import { describe, expect, it } from '@jest/globals'
import express, { type ErrorRequestHandler, type RequestHandler } from 'express'
import request from 'supertest'
import { z } from 'zod'
import {
  createGateway,
  fromEnvironment,
  httpFacilitator,
  memoryLedger,
  type Gateway,
  type ProtectOptions,
} from '../../src/index.js'
import { INPUT_PARTS } from '../../src/core/catalogue/declaration.js'
import { recordLog } from '../api/api.js'
import { useCleanup } from '../support/cleanup.js'
import { issuesOf } from '../support/issues.js'

const PAY_TO = '0x209693Bc6afc0C5328bA36FaF03C514EF312287C'
const KEY = `0x${'5e'.repeat(32)}`
const BASE = { rpcUrl: 'http://127.0.0.1:9', relayerKeys: [KEY] }
const FACILITATOR = 'http://127.0.0.1:9/facilitator'
const WEBHOOK = { url: 'https://shop.example/hooks', secret: `whsec_${'A'.repeat(32)}` }
const VARIABLES = {
  X402_PAY_TO: PAY_TO,
  X402_NETWORK: 'base',
  X402_RPC_URL: 'http://127.0.0.1:9',
  X402_RELAYER_KEY: KEY,
}

const ends = useCleanup()

function open(options: object = {}): Gateway {
  const { merchant, ...others } = options as { merchant?: object }
  const gateway = createGateway({
    networks: { base: BASE },
    projects: [{ id: 'shop', merchant: { payTo: PAY_TO, ...merchant } }],
    logger: recordLog(),
    ...others,
  })
  ends.push(() => gateway.close())
  return gateway
}

const protect = (price: unknown, options?: unknown) => () =>
  open().x402Protect(price as '$1', options as ProtectOptions)
const configure = (options: object) => () => open(options)
const merchant = (settings: object) => () => open({ merchant: settings })
const network = (settings: object) => () => open({ networks: { base: { ...BASE, ...settings } } })
const environment = (env: object) => () => open(fromEnvironment({ ...VARIABLES, ...env }))

/** What is done, where it is wrong, what is wrong there, and what to write. */
type Row = readonly [use: string, run: () => unknown, place: string, wrong: string, write: string]

const PRICE = "write '$0.01', '0.01 EUR', 0.01 or { amount: '0.01', currency: 'EUR' }"

/** A raw shape, as the SDK of MCP takes it: one of zod schemas, and one of the names of types. */
const shapes: readonly Row[] = INPUT_PARTS.flatMap((part) =>
  Object.entries({ zod: { city: z.string() }, names: { city: 'string' } }).map(
    ([what, shape]): Row => [
      `input.${part} is a raw shape of ${what}`,
      protect('$0.01', { input: { [part]: shape } }),
      `input.${part}`,
      'neither a schema of zod nor JSON Schema',
      'write z.object({ city: z.string() })',
    ],
  ),
)

/** The object that other x402 middleware takes. */
const habits: readonly Row[] = Object.entries({
  price: ['is the first argument', "x402Protect('$0.01')"],
  network: ['belongs to the gateway', 'networks, or X402_NETWORK'],
  payTo: ['belongs to a merchant', 'projects[].merchant.payTo, or X402_PAY_TO'],
  scheme: ['is exact', 'x402Protect({ upTo })'],
  accepts: ['is made of the price', "x402Protect('$0.01')"],
  description: ['does not belong beside the price', "x402Protect('$0.01', { … })"],
}).map(([member, [wrong = '', write = '']]) => [
  `the price is { price, ${member} }`,
  protect({ price: '$0.01', [member]: 'x' }),
  member,
  wrong,
  write,
])

const declarations: readonly Row[] = [
  ...shapes,
  ...habits,
  ['no price', protect(undefined), 'price', 'undefined is not a price', PRICE],
  ['NaN', protect(Number.NaN), 'price', 'NaN is not a price', 'must be finite'],
  ['a negative price', protect('-1'), 'price', "'-1' is not a price", 'must not be negative'],
  ['a decimal comma', protect('0,01'), 'price', 'not a comma', "'0.01'"],
  ['a thousands comma', protect('1,000'), 'price', 'thousands without a comma', "'1000'"],
  ['a price of zero', protect(0), 'price', 'is zero', 'set allowFree: true'],
  ['native currency', protect('0.0001 ETH'), 'price', "'ETH' is not a currency", "'0.01 USD'"],
  ['a token', protect('1 USDC'), 'price', "'USDC' is not a currency", "asset: 'USDC'"],
  ['lower case', protect('1 usd'), 'price', 'written in upper case', "'USD'"],
  ['yen or yuan', protect('¥100'), 'price', 'may mean yen or yuan', "'100 JPY'"],
  ['no currency', protect({ amount: '1' }), 'price', 'currency is missing', "currency: 'EUR'"],
  ['upto', protect({ upto: '$1' }), 'upto', 'no such price', "did you mean 'upTo'?"],
  ['upTo beside an option', protect({ upTo: '$1', tags: [] }), 'tags', 'beside the price', '{ … }'],
  ['upTo as an option', protect('$1', { upTo: '$1' }), 'upTo', 'place of the price', 'upTo: '],
  ['a text as options', protect('$1', 'x'), 'options', 'must be an object', "{ description: '"],
  ['flow', protect('$1', { flow: 'x' }), 'flow', 'no such option', "did you mean 'paymentFlow'?"],
  ['desc', protect('$1', { desc: 'x' }), 'desc', 'no such option', "did you mean 'description'?"],
  ['an unknown option', protect('$1', { foo: 1 }), 'foo', 'no such option', 'remove it'],
  ['payTo as an option', protect('$1', { payTo: 'x' }), 'payTo', 'a merchant', 'X402_PAY_TO'],
  [
    'another paymentFlow',
    protect('$1', { paymentFlow: 'up' }),
    ...(['paymentFlow', 'must be', "'authorization' or 'upfront'"] as const),
  ],
  [
    'an unknown merchant',
    protect('$1', { merchant: 'shopp' }),
    ...(['merchant', "no project 'shopp'", "did you mean 'shop'?"] as const),
  ],
  [
    'chargeIf with upfront',
    protect('$1', { chargeIf: () => true, paymentFlow: 'upfront' }),
    ...(['chargeIf', 'settled before', 'remove one of the two'] as const),
  ],
  [
    'upTo with upfront',
    protect({ upTo: '$1' }, { paymentFlow: 'upfront' }),
    ...(['upTo', 'settled before', 'remove one of the two'] as const),
  ],
  [
    'a currency that no token is pegged to',
    protect('1 GBP'),
    ...(['price', 'it takes USDC (USD) on Base', 'crossCurrency: true'] as const),
  ],
  [
    'a path as resourceUrl',
    protect('$1', { resourceUrl: '/a' }),
    ...(['resourceUrl', 'must be', 'a function'] as const),
  ],
  [
    'an unknown event',
    () => open().on('setled' as 'settled', () => undefined),
    ...(["on('setled')", 'is no event', "did you mean 'settled'?"] as const),
  ],
  [
    'a listener that is none',
    () => open().on('settled', undefined as never),
    ...(["on('settled')", 'listener', 'needs a function'] as const),
  ],
  [
    'metricsRouter without metrics',
    () => open().metricsRouter(),
    ...(['metrics', 'is not set', 'set metrics: true'] as const),
  ],
  [
    'a facilitator without its scheme',
    () => httpFacilitator({ url: 'facilitator.example' }),
    ...(['facilitator.url', 'must be', 'an absolute http(s) URL'] as const),
  ],
  ['networks as a list', configure({ networks: [] }), 'networks', 'must be', '{ base: { rpcUrl'],
  [
    'an unknown network',
    configure({ networks: { 'base-seplia': BASE }, projects: [] }),
    ...(['networks.base-seplia', 'not a known network', "did you mean 'base-sepolia'?"] as const),
  ],
  [
    'no node',
    network({ rpcUrl: undefined }),
    ...(['networks.base.rpcUrl', 'is missing', 'the URL of a JSON-RPC node'] as const),
  ],
  [
    'a key in place of a list',
    network({ relayerKeys: KEY }),
    ...(['networks.base.relayerKeys', 'must be an array', "['0x…']"] as const),
  ],
  [
    'an address in place of a key',
    network({ relayerKeys: [PAY_TO] }),
    ...(['networks.base.relayerKeys.0', 'is an address', 'write its private key'] as const),
  ],
  [
    'a token in lower case',
    network({ assets: ['usdc'] }),
    ...(['networks.base.assets.0', "'usdc' is not a known token", "did you mean 'USDC'?"] as const),
  ],
  [
    'a name of ENS',
    merchant({ payTo: 'acme.eth' }),
    ...(['projects.0.merchant.payTo', 'not looked up', 'must be an address'] as const),
  ],
  [
    'an address with a typing error',
    merchant({ payTo: PAY_TO.replace('B', 'b') }),
    ...(['projects.0.merchant.payTo', 'wrong checksum', 'check it'] as const),
  ],
  [
    'the contract of the token as payee',
    merchant({ payTo: '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913' }),
    ...(['projects.0.merchant.payTo', 'contract of USDC', 'an address of your own'] as const),
  ],
  [
    'payTo as an option of the gateway',
    configure({ payTo: PAY_TO }),
    ...(['payTo', 'belongs to a merchant', 'projects[].merchant.payTo'] as const),
  ],
  [
    'webhooks as a URL',
    configure({ webhooks: 'https://shop.example' }),
    ...(['webhooks', 'must be a list', "[{ url: 'https://shop.example/hooks', secret }]"] as const),
  ],
  [
    'a webhook without a secret',
    configure({ webhooks: [{ url: 'https://shop.example' }] }),
    ...(['webhooks.0.secret', 'is missing', 'what deliveries are signed with'] as const),
  ],
  [
    'a webhook with a short secret',
    configure({ webhooks: [{ ...WEBHOOK, secret: 'whsec_c2hvcnQ=' }] }),
    ...(['webhooks.0.secret', "must be 'whsec_' and 24 to 64 bytes", 'openssl rand'] as const),
  ],
  [
    'a webhook with a secret that is not base64',
    configure({ webhooks: { endpoints: [{ ...WEBHOOK, secret: `whsec_${'-'.repeat(40)}` }] } }),
    ...(['webhooks.endpoints.0.secret', "must be 'whsec_'", 'in base64'] as const),
  ],
  [
    'a webhook at this machine',
    configure({ webhooks: [{ ...WEBHOOK, url: 'https://127.0.0.1/hooks' }] }),
    ...(['webhooks.0.url', 'not on the public Internet', 'webhooks.allowPrivate'] as const),
  ],
  [
    'a webhook that is declared twice',
    configure({ webhooks: [WEBHOOK, { ...WEBHOOK, url: 'https://SHOP.example:443/hooks' }] }),
    ...(['webhooks.1.url', 'is there already', 'already'] as const),
  ],
  [
    'a webhook with an unknown event',
    configure({ webhooks: [{ ...WEBHOOK, events: ['payment.paid'] }] }),
    ...(['webhooks.0.events.0', 'must be', "'payment.settled'"] as const),
  ],
  [
    'eleven webhooks',
    configure({
      webhooks: Array.from({ length: 11 }, (_, index) => ({
        ...WEBHOOK,
        url: `https://shop.example/${index}`,
      })),
    }),
    ...(['webhooks', 'at most 10', 'entries'] as const),
  ],
  [
    'a webhook and two merchants',
    configure({
      webhooks: [WEBHOOK],
      projects: ['one', 'two'].map((id) => ({ id, merchant: { payTo: PAY_TO } })),
    }),
    ...(['webhooks', 'there are several', 'register them by the API'] as const),
  ],
  [
    'a webhook and no merchant',
    configure({ webhooks: [WEBHOOK], projects: [{ id: 'one' }] }),
    ...(['webhooks', 'need a project with a merchant', 'projects'] as const),
  ],
  [
    'a token as admin',
    configure({ admin: 'secret' }),
    ...(['admin', 'must be an object', "{ tokens: ['…'] }"] as const),
  ],
  [
    'a console without admin',
    configure({ console: true }),
    ...(['console', 'needs the option admin', 'whose tokens open the console'] as const),
  ],
  [
    'a URL as ledger',
    configure({ ledger: 'sqlite:./a.db' }),
    ...(['ledger', 'must come from', 'sqliteLedger(file)'] as const),
  ],
  [
    'a URL as facilitator',
    configure({ facilitator: FACILITATOR }),
    ...(['facilitator', 'must be', 'httpFacilitator({ url })'] as const),
  ],
  [
    'a function as logger',
    configure({ logger: () => undefined }),
    ...(['logger', 'must be an object', 'debug, info, warn, error'] as const),
  ],
  [
    'a host as publicUrl',
    configure({ publicUrl: 'shop.example' }),
    ...(['publicUrl', 'must be', 'an absolute http(s) URL'] as const),
  ],
  [
    'a short token',
    configure({ projects: [{ id: 'shop', tokens: ['short'] }] }),
    ...(['projects.0.tokens.0', 'must be', 'npx express-x402-gateway token'] as const),
  ],
  [
    'a token in lower case in its variable',
    environment({ X402_ASSET: 'usdc' }),
    ...(['X402_ASSET', 'not a known token', "did you mean 'USDC'?"] as const),
  ],
  [
    'a variable with a typing error',
    environment({ X402_PAY_TO: undefined, X402_PAYTO: PAY_TO }),
    ...(['X402_PAY_TO', 'X402_PAYTO is set', 'did you mean X402_PAY_TO?'] as const),
  ],
  [
    'a database of another kind',
    environment({ X402_DATABASE_URL: 'mysql://localhost/a' }),
    ...([
      'X402_DATABASE_URL',
      'must be a URL like postgres://',
      'sqlite:./data/ledger.db',
    ] as const),
  ],
]

describe('a wrong use that is refused at once', () => {
  it.each(declarations)('%s', (_use, run, place, wrong, write) => {
    const found = issuesOf(run).find(({ option }) => option === place)
    expect(found?.message).toContain(wrong)
    expect(found?.message).toContain(write)
  })
})

/** The error that a request gives to the app, which answers nothing else. */
async function errorOf(handlers: RequestHandler | RequestHandler[]): Promise<string> {
  let told = ''
  const note: ErrorRequestHandler = (error, _req, res, _next) => {
    told = String(error)
    res.status(500).end()
  }
  const app = express().get('/report/:id', handlers).use(note)
  await request(app).get('/report/1').expect(500)
  return told
}

const priced = (price: unknown, options?: ProtectOptions) => () =>
  open().x402Protect(price as () => '$1', options)
const AT = 'GET /report/:id'
const routers = ['gatewayRouter', 'discovery', 'healthRouter', 'metricsRouter'] as const

const requests: ReadonlyArray<
  readonly [use: string, open: () => unknown, place: string, wrong: string, write: string]
> = [
  ...routers.map(
    (name) =>
      [
        `${name} without parentheses`,
        () => open()[name],
        ...([name, 'makes a router', `write app.use(${name}())`] as const),
      ] as const,
  ),
  [
    'x402Protect without its call',
    () => open().x402Protect,
    ...(['price', 'is called with a price', "x402Protect('$0.01')"] as const),
  ],
  ...Object.entries({ undefined, "'$NaN'": '$NaN', null: null, NaN: Number.NaN }).map(
    ([shown, value]) =>
      [
        `a price function that returns ${shown}`,
        priced(function byPages() {
          return value
        }),
        ...([`${AT}: its price function byPages`, `${shown} is not a price`, ''] as const),
      ] as const,
  ),
  [
    'a price function that answers nothing later',
    priced(async () => undefined),
    ...([`${AT}: its price function returned`, 'undefined is not a price', PRICE] as const),
  ],
  [
    'a function upTo that returns nothing',
    priced({ upTo: () => undefined }),
    ...([`${AT}: its price function upTo`, 'undefined is not a price', PRICE] as const),
  ],
  [
    'a quoteFor that returns nothing',
    priced(() => '$1', { quoteFor: () => undefined as never }),
    ...([AT, 'quoteFor', 'must return a string'] as const),
  ],
  [
    'a merchant function that returns nothing',
    priced('$1', { merchant: () => undefined as never }),
    ...([AT, 'merchant', 'must return the id of a project'] as const),
  ],
]

describe('a wrong use that its first request shows', () => {
  it.each(requests)('%s', async (_use, make, place, wrong, write) => {
    const told = await errorOf(make() as RequestHandler)
    for (const words of [place, wrong, write]) expect(told).toContain(words)
  })
})

/** What a gateway logs, once somebody has asked for `/report`. */
async function logOf(
  options: object,
  handlers = (gateway: Gateway): RequestHandler | RequestHandler[] => gateway.x402Protect('$0.01'),
): Promise<string> {
  const logger = recordLog()
  const gateway = open({ ...options, logger })
  const app = express().use(gateway.discovery()).get('/report', handlers(gateway))
  for (const path of ['/report', '/report', '/openapi.json', '/openapi.json'])
    await request(app).get(path)
  return logger.lines.join('\n')
}

const ownAddress = (digit: string) => ({ merchant: { payTo: `0x${digit.repeat(40)}` } })

const logged: ReadonlyArray<
  readonly [use: string, log: () => Promise<string>, place: string, wrong: string, write: string]
> = [
  [
    'a middleware that nobody waits for',
    () =>
      logOf({}, ({ x402Protect }) => {
        const charge = x402Protect('$0.01')
        return (req, res, next) => {
          charge(req, res, next)
          res.json({ good: 'sold' })
        }
      }),
    ...(['error GET /report', 'was free', "app.get('/path', x402Protect('$0.01'), "] as const),
  ],
  [
    'a price that official clients do not pay',
    () => logOf({}, ({ x402Protect }) => x402Protect('$5')),
    ...(['GET /report costs $5.00', 'official clients refuse', 'raises the limit'] as const),
  ],
  [
    'relayers beside a facilitator',
    () => logOf({ facilitator: httpFacilitator({ url: FACILITATOR }) }),
    ...(['relayerKeys (X402_RELAYER_KEY)', 'send nothing', 'Remove'] as const),
  ],
  [
    'a token without its facilitator',
    () => logOf(fromEnvironment({ ...VARIABLES, X402_FACILITATOR_TOKEN: 'x'.repeat(16) })),
    ...(['X402_FACILITATOR_TOKEN', 'nothing reads', 'set X402_FACILITATOR_URL'] as const),
  ],
  [
    'a variable in place of an option',
    () => logOf(fromEnvironment({ ...VARIABLES, X402_METRICS_HOST: '::1' })),
    ...(['X402_METRICS_HOST', 'nothing reads', 'set the option metrics.host'] as const),
  ],
  [
    'two gateways with one payee',
    async () => {
      open({ ...ownAddress('a'), ledger: memoryLedger() })
      return logOf(ownAddress('a'))
    },
    ...(['0xaaaa', 'could buy once at each', 'give both the same ledger'] as const),
  ],
  [
    'a merchant whose currency no token has',
    () => logOf({ merchant: { currency: 'GBP' } }, ({ x402Protect }) => x402Protect('$0.01')),
    ...(['"project":"shop"', 'prices in that currency are refused', 'crossCurrency'] as const),
  ],
  [
    'paid middleware in a wrapper of another framework',
    () =>
      logOf({}, ({ x402Protect }) => {
        const charge = x402Protect('$0.01')
        return (req, res, next) => charge(req, res, next)
      }),
    ...(['any paid route', 'cannot list', "app.use('/path', x402Protect('$0.01'))"] as const),
  ],
]

describe('a wrong use that works, and is logged once', () => {
  it.each(logged)('%s', async (_use, log, place, wrong, write) => {
    const text = await log()
    for (const words of [place, wrong, write]) expect(text).toContain(words)
    expect(text.split(wrong)).toHaveLength(2)
  })
})
