/** Payments that are refused: by paid routes, and by verify and settle of the API. */
import type { PaymentRequirements } from '../../../src/index.js'
import { encodeHeader } from '../../../src/shared/protocol/headers.js'
import { operate } from '../../support/on-chain.js'
import { pauper, type PayOptions, type RecordedShop, type RecordedWorld } from './world.js'

const STRANGER = '0x00000000000000000000000000000000000000aa'
const EURC = '0x808456652fdb597867f38412077A9182bf77359F'
const PAST = '4102444000'
const FUTURE = '4102500000'
const ERC6492_MAGIC = '6492'.repeat(16)

type Refused = PayOptions & { readonly required?: Partial<PaymentRequirements> }

/** What is wrong with a payment of one cent, by what it is called. */
function refusals(): Readonly<Record<string, Refused>> {
  return {
    'of another version': { payload: { x402Version: 1 } },
    'of another scheme': { required: { scheme: 'batch-settlement' } },
    'accepted for another scheme': { accepted: { scheme: 'batch-settlement' } },
    'on a network nobody knows': { required: { network: 'eip155:999999' } },
    'on a network that is not accepted': { required: { network: 'eip155:8453' } },
    'in a token that is not accepted': { required: { asset: STRANGER } },
    'in a token without code': {
      required: { asset: EURC, extra: { name: 'EURC', version: '2' } },
    },
    'accepted for another amount': { accepted: { amount: '9999' } },
    'for another payee than the merchant': { required: { payTo: STRANGER } },
    'that pays somebody else': { to: STRANGER },
    'of another value': { value: '9999' },
    'that is not valid yet': { validAfter: FUTURE, validBefore: '4102600000' },
    'that has lapsed': { validBefore: PAST },
    'signed for another domain': { domain: { name: 'USD Coin' } },
    'of a payer without money': { payer: pauper },
    'without a payload': { payload: { payload: {} } },
    'without an accepted entry': { payload: { accepted: {} } },
  }
}

/** Each refusal of verify and settle. */
export async function askRefused(world: RecordedWorld, shop: RecordedShop): Promise<void> {
  for (const endpoint of ['verify', 'settle']) {
    const path = `/api/v2/payment/${endpoint}`
    for (const [what, options] of Object.entries(refusals()))
      await world.api(`${endpoint}: a payment ${what}`, shop, {
        path,
        body: await world.submission(options),
      })
    const wrapped = await world.submission()
    const { payload } = wrapped.paymentPayload
    await world.api(`${endpoint}: a payment with an ERC-6492 signature`, shop, {
      path,
      body: {
        ...wrapped,
        paymentPayload: {
          ...wrapped.paymentPayload,
          payload: { ...payload, signature: `${String(payload['signature'])}${ERC6492_MAGIC}` },
        },
      },
    })
    await askOperated(world, shop, path)
  }
  await refuseAtRoutes(world, shop)
}

/** While the token's operator stops transfers. */
async function askOperated(world: RecordedWorld, shop: RecordedShop, path: string): Promise<void> {
  const { devnet } = world
  const payer = devnet.payers[9]!
  const stops = [
    ['payer', payer.address],
    ['payee', devnet.merchant.address],
  ] as const
  for (const [who, address] of stops) {
    await operate(devnet, 'blacklist', address)
    const body = await world.submission({ payer })
    await world.api(`${path}: the ${who} is on the token's blacklist`, shop, { path, body })
    await operate(devnet, 'unBlacklist', address)
  }
  await operate(devnet, 'pause')
  await world.api(`${path}: the token is paused`, shop, {
    path,
    body: await world.submission({ payer }),
  })
  await operate(devnet, 'unpause')
}

async function refuseAtRoutes(world: RecordedWorld, shop: RecordedShop): Promise<void> {
  const path = '/fixed'
  for (const [what, { required, ...options }] of Object.entries(refusals())) {
    const accepted = { ...required, ...options.accepted }
    await world.buy(`a route: a payment ${what}`, shop, { ...options, accepted, path })
  }
  await world.buy('a route: a payment for another resource', shop, {
    path,
    payload: { resource: { url: 'https://other.example/' } },
  })
  await world.buy('a route: a quote that is not ours', shop, {
    path: '/fiat',
    accepted: { extra: { name: 'USDC', version: '2', quote: 'v1.e30.x' } },
  })
  const quoted = await world.sign(shop, '/personal', { ask: { headers: { 'X-User': 'ada' } } })
  await world.present('a route: a quote for somebody else', shop, {
    path: '/personal',
    payment: quoted,
    headers: { 'X-User': 'bob' },
  })
  const dynamic = await world.sign(shop, '/dynamic?price=0.03')
  await world.present('a route: a price that has moved', shop, {
    path: '/dynamic?price=0.04',
    payment: { ...dynamic, resource: undefined },
  })
  await world.ask('a route: the older header, refused', shop, {
    path,
    headers: {
      'X-PAYMENT': encodeHeader(await world.sign(shop, path, { value: '1' })),
    },
  })
}

/** Quotes whose time is over; puts the clock forward. */
export async function askExpired(world: RecordedWorld, shop: RecordedShop): Promise<void> {
  const payment = await world.sign(shop, '/fiat', { validBefore: FUTURE })
  world.pass(301)
  await world.present('a route: a quote that has expired', shop, { path: '/fiat', payment })
}
