/** The payment gateway API: good answers, and problems of requests. */
import { headerOf } from './exchange.js'
import { named, TOKENS, type RecordedShop, type RecordedWorld } from './world.js'

const REQUIREMENTS = '/api/v2/payment/requirements'
const CHECKOUT = '/api/v2/merchant/checkout-prepare'
const SETTLEMENTS = '/api/v2/merchant/settlements'
const SETTLE = '/api/v2/payment/settle'
const VERIFY = '/api/v2/payment/verify'
const SUPPORTED = '/api/v2/payment/supported'
const PROFILE = '/api/v2/merchant/payment-profile'

/** Every endpoint with a request that is in order. */
export async function askEndpoints(world: RecordedWorld, shop: RecordedShop): Promise<void> {
  await world.api('supported', shop, { path: SUPPORTED })
  await world.api('supported, asked with HEAD', shop, { method: 'HEAD', path: SUPPORTED })
  await world.api('payment-profile', shop, { path: PROFILE })
  await world.api('payment-profile with a slash at its end', shop, { path: `${PROFILE}/` })
  const resource = { url: 'https://shop.example/order/1', description: 'An order' }
  const priced = { resourceUrl: resource.url, requestedAmount: '0.01' }
  for (const [what, body] of Object.entries({
    'in the currency of the merchant': priced,
    'in another currency': { ...priced, currency: 'EUR' },
    'of a number': { ...priced, requestedAmount: 0.5 },
    'with everything': { ...priced, description: 'An order', mimeType: 'text/html' },
    'with nulls': { ...priced, currency: null, description: null, mimeType: null },
  }))
    await world.api(`requirements ${what}`, shop, { path: REQUIREMENTS, body })
  for (const [what, body] of Object.entries({
    'in the currency of the merchant': { amount: '12.34', currency: 'USD', resource },
    'in another currency': { amount: '12.34', currency: 'EUR', resource },
    'without a description': { amount: '1', currency: 'USD', resource: { url: resource.url } },
  }))
    await world.api(`checkout-prepare ${what}`, shop, { path: CHECKOUT, body })
  await askSettle(world, shop)
  await askSettlements(world, shop)
}

async function askSettle(world: RecordedWorld, shop: RecordedShop): Promise<void> {
  const body = await world.submission()
  await world.api('verify of a good payment', shop, { path: VERIFY, body })
  await world.api('settle of a good payment', shop, { path: SETTLE, body })
  await world.api('verify of a payment that was settled', shop, { path: VERIFY, body })
  await world.api('settle of a payment that was settled', shop, { path: SETTLE, body })
  await world.api('settle in the short name of the network', shop, {
    path: SETTLE,
    body: await world.submission({ required: { network: 'base-sepolia' } }),
  })
  const headers = { 'Idempotency-Key': 'recorded-key' }
  const keyed = await world.submission()
  for (const what of ['with a key', 'with the same key again'])
    await world.api(`settle ${what}`, shop, { path: SETTLE, headers, body: keyed })
  await world.api('settle of another payment with the same key', shop, {
    path: SETTLE,
    headers,
    body: await world.submission(),
  })
  await world.api('settle with a key that is no key', shop, {
    path: SETTLE,
    headers: { 'Idempotency-Key': 'x'.repeat(256) },
    body: keyed,
  })
  const payload = named('recorded-id-at-the-api')
  const identified = await world.submission({ payload })
  for (const what of ['with an id', 'with the same id again'])
    await world.api(`settle ${what}`, shop, { path: SETTLE, body: identified })
  for (const [name, path] of Object.entries({ settle: SETTLE, verify: VERIFY }))
    await world.api(`${name} of another payment with an id that is taken`, shop, {
      path,
      body: await world.submission({ payload }),
    })
}

async function askSettlements(world: RecordedWorld, shop: RecordedShop): Promise<void> {
  const page = await world.api('settlements, the first two', shop, {
    path: `${SETTLEMENTS}?limit=2`,
  })
  const { settlements, nextCursor } = JSON.parse(page.body) as {
    settlements: { id: string }[]
    nextCursor: string
  }
  const next = await world.askUnrecorded(shop, {
    path: `${SETTLEMENTS}?limit=1&cursor=${nextCursor}`,
    headers: { 'X-Project-Identify-Token': TOKENS.shop },
  })
  await world.api('settlements, one in full', shop, {
    path: `${SETTLEMENTS}/${(JSON.parse(next.body) as typeof settlements & { settlements: { id: string }[] }).settlements[0]?.id}`,
  })
  for (const query of [
    '',
    '?status=settled&limit=1',
    '?status=failed',
    '?from=2100-01-01&to=2100-01-02T00:00:00Z&limit=3',
  ])
    await world.api(`settlements${query}`, shop, { path: SETTLEMENTS + query })
  for (const query of ['?limit=0', '?cursor=x', '?status=open', '?from=yesterday', '?limt=1'])
    await world.api(`settlements${query}`, shop, { path: SETTLEMENTS + query })
  await world.api('a settlement that is not there', shop, {
    path: `${SETTLEMENTS}/${'0'.repeat(32)}`,
  })
  await world.api('a settlement whose id is no id', shop, { path: `${SETTLEMENTS}/abc` })
  await world.api('a settlement of another project', shop, {
    path: `${SETTLEMENTS}/${settlements[0]?.id}`,
    token: TOKENS.other,
  })
}

/** Requests that are out of order. */
export async function askProblems(world: RecordedWorld, shop: RecordedShop): Promise<void> {
  const resource = { url: 'https://shop.example/order/1' }
  const bodies: Readonly<Record<string, readonly [path: string, body: unknown]>> = {
    'requirements without members': [REQUIREMENTS, {}],
    'requirements with a typing error': [
      REQUIREMENTS,
      { resourceUrl: resource.url, requestedAmout: 1 },
    ],
    'requirements for no URL': [REQUIREMENTS, { resourceUrl: '/x', requestedAmount: 'much' }],
    'requirements in no currency': [
      REQUIREMENTS,
      { resourceUrl: resource.url, requestedAmount: '1', currency: 'usd' },
    ],
    'requirements in a currency without a rate': [
      REQUIREMENTS,
      { resourceUrl: resource.url, requestedAmount: '1', currency: 'CHF' },
    ],
    'checkout-prepare without members': [CHECKOUT, {}],
    'checkout-prepare of too many digits': [
      CHECKOUT,
      { amount: '1.001', currency: 'USD', resource },
    ],
    'checkout-prepare of nothing': [CHECKOUT, { amount: '0', currency: 'USD', resource }],
    'checkout-prepare of a number': [CHECKOUT, { amount: 1, currency: 'USD', resource }],
    'checkout-prepare of too much': [
      CHECKOUT,
      { amount: `1${'0'.repeat(75)}`, currency: 'USD', resource },
    ],
    'a body that is null': [REQUIREMENTS, 'null'],
    'a body that is a list': [VERIFY, []],
    'a body that is no JSON': [VERIFY, '{'],
    'a body that is empty': [SETTLE, ''],
    'a body that is nested too deep': [SETTLE, '['.repeat(500) + ']'.repeat(500)],
    'verify without a payment': [VERIFY, {}],
    'settle without requirements': [SETTLE, { paymentPayload: { x402Version: 2 } }],
    'settle with an id that is too short': [
      SETTLE,
      await world.submission({
        payload: { extensions: { 'payment-identifier': { info: { id: 'short' } } } },
      }),
    ],
  }
  const headers = { 'Content-Type': 'application/json' }
  for (const [what, [path, body]] of Object.entries(bodies))
    await world.api(what, shop, { path, headers, body })
  await world.api('a body that is too large', shop, {
    path: SETTLE,
    headers,
    body: `"${'x'.repeat(70_000)}"`,
  })
  await world.api('a body that is no JSON by its type', shop, {
    path: SETTLE,
    headers: { 'Content-Type': 'text/plain' },
    body: '{}',
  })
  await world.api('a body in an unknown encoding', shop, {
    path: SETTLE,
    headers: { ...headers, 'Content-Encoding': 'zip' },
    body: '{}',
  })
  await world.api('a body that is not gzip as announced', shop, {
    path: SETTLE,
    headers: { ...headers, 'Content-Encoding': 'gzip' },
    body: '{}',
  })
  await askMisplaced(world, shop)
}

async function askMisplaced(world: RecordedWorld, shop: RecordedShop): Promise<void> {
  await world.ask('no token', shop, { path: SUPPORTED })
  await world.api('a token of nobody', shop, { path: SUPPORTED, token: 'x402_nobody' })
  await world.api('a token from a browser', shop, {
    path: SUPPORTED,
    headers: { Origin: 'https://page.example' },
  })
  for (const path of [SUPPORTED, PROFILE, SETTLEMENTS])
    await world.api(`${path} of a project without a merchant`, shop, { path, token: TOKENS.empty })
  for (const [method, path] of [
    ['GET', SETTLE],
    ['POST', SUPPORTED],
    ['DELETE', SETTLEMENTS],
    ['PUT', '/ucp/schema.json'],
    ['OPTIONS', SETTLE],
    ['OPTIONS', SUPPORTED],
    ['OPTIONS', '/ucp/schema.json'],
  ] as const)
    await world.api(`${method} ${path}`, shop, { method, path })
  for (const path of [
    '/api/v2/payment',
    '/api/v2/payment/refund',
    '/ucp/none.json',
    '/api/v2/payment/%zz',
  ])
    await world.api(`${path} is no endpoint`, shop, { path })
  await world.api('a path that is the app’s', shop, { path: '/api/v2/paymentx' })
  await world.api('a query where none is taken', shop, {
    path: `${REQUIREMENTS}?currency=EUR`,
    body: { resourceUrl: 'https://shop.example/', requestedAmount: '1' },
  })
}

/** The public documents of the UCP handler. */
export async function askDocuments(
  world: RecordedWorld,
  shop: RecordedShop,
  name: string,
): Promise<void> {
  const prefix = name === 'mounted' ? '/pay' : ''
  const documents = ['schema.json', 'instrument_schema.json', 'gateway.md']
  const profile = await world.askUnrecorded(shop, {
    path: prefix + PROFILE,
    headers: { 'X-Project-Identify-Token': TOKENS.shop },
  })
  const version = /"version":"([^"]+)"/.exec(profile.body)?.[1] ?? ''
  for (const document of documents)
    for (const path of [`/ucp/${document}`, `/ucp/${version}/${document}`])
      await world.ask(`${name}: ${path}`, shop, { path: prefix + path })
  const path = `${prefix}/ucp/schema.json`
  const first = await world.ask(`${name}: a document, asked with HEAD`, shop, {
    method: 'HEAD',
    path,
  })
  await world.ask(`${name}: a document that the client has`, shop, {
    path,
    headers: { 'If-None-Match': `"other", W/${headerOf(first, 'ETag')}` },
  })
  await world.ask(`${name}: a version that is not there`, shop, {
    path: `${prefix}/ucp/2020-01-01/schema.json`,
  })
}
