/** What paid routes answer to requests that bring no payment, or none that can be read. */
import { encode, type RecordedShop, type RecordedWorld } from './world.js'

const ACCEPTS = ['application/json', 'text/html', 'text/event-stream', 'image/png, */*;q=0.1']

/** Each answer of `x402Protect` before there is a payment. */
export async function askUnpaid(world: RecordedWorld, shop: RecordedShop): Promise<void> {
  for (const path of ['/fixed', '/described', '/fiat', '/atomic', '/short-lived', '/elsewhere'])
    await world.ask(`402 of ${path}`, shop, { path })
  await world.ask('402 of a price function', shop, { path: '/dynamic?price=0.03' })
  await world.ask('402 of a price function for a user', shop, {
    path: '/personal',
    headers: { 'X-User': 'ada' },
  })
  await world.ask('402 of the upfront flow', shop, { path: '/upfront' })
  for (const method of ['HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS'])
    await world.ask(`402 of ${method}`, shop, { method, path: '/fixed' })
  for (const Accept of ACCEPTS)
    await world.ask(`402 for Accept: ${Accept}`, shop, { path: '/fixed', headers: { Accept } })
  await world.ask('402 of a path with a query', shop, { path: '/fixed?b=2&a=%20' })
  await world.ask('402 beside headers that the app exposes', shop, { path: '/cors' })
  await world.ask('402 to a request with an Origin', shop, {
    path: '/fixed',
    headers: { Origin: 'https://page.example' },
  })
  await world.ask('OPTIONS of a browser', shop, {
    method: 'OPTIONS',
    path: '/fixed',
    headers: { Origin: 'https://page.example', 'Access-Control-Request-Method': 'GET' },
  })
  await askUncharged(world, shop)
  await askUnreadable(world, shop)
}

async function askUncharged(world: RecordedWorld, shop: RecordedShop): Promise<void> {
  await world.ask('a price of zero', shop, { path: '/free' })
  await world.ask('a request that is skipped', shop, {
    path: '/members',
    headers: { 'X-Member': 'yes' },
  })
  await world.ask('402 of a request that is not skipped', shop, { path: '/members' })
  await world.ask('a price in a currency without a rate', shop, { path: '/unpriced' })
  await world.ask('a price that cannot be read', shop, { path: '/mispriced' })
}

async function askUnreadable(world: RecordedWorld, shop: RecordedShop): Promise<void> {
  const payment = await world.sign(shop, '/fixed')
  const { authorization } = payment.payload as { authorization: object }
  const headers: Readonly<Record<string, string | readonly string[]>> = {
    'that is empty': '',
    'that is not base64': '{"x402Version":2}',
    'without JSON': Buffer.from('no JSON').toString('base64'),
    'that is there twice': [encode(payment), encode(payment)],
    'that is too long': 'A'.repeat(17_000),
    'that is nested too deep': Buffer.from('['.repeat(200) + ']'.repeat(200)).toString('base64'),
    'that is no object': encode([1]),
    'without members': encode({}),
    'of version 1': encode({ ...payment, x402Version: 1 }),
    'of version 3': encode({ x402Version: 3 }),
    'of a version that is text': encode({ ...payment, x402Version: '2' }),
    'without an accepted entry': encode({ ...payment, accepted: undefined }),
    'whose amount has a sign': encode({
      ...payment,
      accepted: { ...payment.accepted, amount: '+1' },
    }),
    'whose signature is no hex': encode({
      ...payment,
      payload: { authorization, signature: 'no' },
    }),
    'without a signature': encode({ ...payment, payload: { authorization } }),
    'with an id that is too short': encode({
      ...payment,
      extensions: { 'payment-identifier': { info: { id: 'short' } } },
    }),
  }
  for (const [what, value] of Object.entries(headers))
    await world.ask(`a PAYMENT-SIGNATURE ${what}`, shop, {
      path: '/fixed',
      headers: { 'PAYMENT-SIGNATURE': value },
    })
  await world.ask('an X-PAYMENT that is not base64', shop, {
    path: '/fixed',
    headers: { 'X-PAYMENT': '*' },
  })
  await world.ask('an unreadable payment for a price that has no rate', shop, {
    path: '/unpriced',
    headers: { 'PAYMENT-SIGNATURE': '*' },
  })
}
