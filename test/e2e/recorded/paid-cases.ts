/** Payments that are good, at paid routes. */
import type { Gate } from './routes.js'
import { encode, named, type RecordedShop, type RecordedWorld } from './world.js'

/** `/film` is too large to be kept. */
const KEPT = ['/fixed', '/upfront', '/stream', '/cors', '/redirect', '/film']
const PATHS = ['/fixed', '/described', '/fiat', '/atomic', '/elsewhere', '/upfront', '/stream']
const HANDLERS = [
  '/held-stream',
  '/created',
  '/nothing',
  '/redirect',
  '/cors',
  '/cached',
  '/missing',
  '/unmodified',
  '/precondition',
  '/throws',
  '/large',
  '/upfront-fails',
]

/** Each kind of answer to a good payment. */
export async function askPaid(world: RecordedWorld, shop: RecordedShop, gate: Gate): Promise<void> {
  for (const path of [...PATHS, ...HANDLERS]) await world.buy(`paid ${path}`, shop, { path })
  for (const method of ['HEAD', 'POST'])
    await world.buy(`paid ${method}`, shop, { path: '/fixed', ask: { method } })
  await world.buy('paid at a price of a function', shop, { path: '/dynamic?price=0.03' })
  await world.buy('paid at a signed price', shop, {
    path: '/personal',
    ask: { headers: { 'X-User': 'ada', 'X-Member': 'yes' } },
  })
  await world.buy('paid with the If- headers of a cache', shop, {
    path: '/fixed',
    ask: { headers: { 'If-None-Match': '*' } },
  })
  await world.ask('paid by the older header', shop, {
    path: '/fixed',
    headers: { 'X-PAYMENT': encode(await world.sign(shop, '/fixed')) },
  })
  const unpadded = encode(await world.sign(shop, '/fixed'))
  await world.ask('paid in base64url without padding', shop, {
    path: '/fixed',
    headers: { 'PAYMENT-SIGNATURE': Buffer.from(unpadded, 'base64').toString('base64url') },
  })
  await askAgain(world, shop)
  await askTogether(world, shop, gate)
}

async function askAgain(world: RecordedWorld, shop: RecordedShop): Promise<void> {
  const path = '/fixed'
  const used = await world.buy('a payment before it is used again', shop, { path })
  await world.present('a payment that was used', shop, { path, payment: used })
  await world.present('a payment that was used, elsewhere', shop, {
    path: '/cached',
    payment: { ...used, resource: undefined },
  })
  for (const kept of KEPT) {
    const payload = named(`recorded-id-of-${kept.slice(1)}`)
    const payment = await world.buy(`${kept} with an id`, shop, { path: kept, payload })
    await world.present(`${kept} with the same id again`, shop, { path: kept, payment })
  }
  await world.buy('another payment with an id that is taken', shop, {
    path,
    payload: named('recorded-id-of-fixed'),
  })
  const returned = await world.buy('uncharged, with an id', shop, {
    path: '/missing',
    payload: named('recorded-id-of-missing'),
  })
  await world.present('uncharged, and presented again', shop, {
    path: '/missing',
    payment: returned,
  })
}

/** A payment that comes again while its handler is at work. */
async function askTogether(world: RecordedWorld, shop: RecordedShop, gate: Gate): Promise<void> {
  const payment = await world.sign(shop, '/slow')
  const first = world.askUnrecorded(shop, {
    path: '/slow',
    headers: { 'PAYMENT-SIGNATURE': encode(payment) },
  })
  await gate.reached
  await world.present('a payment that another request is working on', shop, {
    path: '/slow',
    payment,
  })
  gate.open()
  await first
}
