/** A shop's `complete` route, as the documentation writes it: real payments, and UCP's own schemas. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import express from 'express'
import { readFileSync } from 'node:fs'
import type {
  PaymentPayload,
  PaymentRequirements,
  UcpCompletion,
  UcpPayment,
} from '../../../../src/index.js'
import { createGateway, type Gateway } from '../../../../src/gateway/gateway.js'
import { createMemoryLedger } from '../../../../src/ledger/memory-ledger.js'
import { LedgerError } from '../../../../src/shared/errors.js'
import type { IdempotencyClaim, KeptAnswer } from '../../../../src/ledger/once/store.js'
import type { LedgerStore } from '../../../../src/ledger/index.js'
import { ADMIN_TOKEN } from '../../admin/admin.js'
import { recordLog } from '../../api.js'
import { balanceOf, SHOP_TOKEN, shopOptions, useDevnet } from '../../../support/devnet.js'
import { listen, type TestServer } from '../../../support/http.js'
import { emptyAccount, newPayer } from '../../../support/on-chain.js'
import { bound, patchedLedger } from '../../../support/patched-ledger.js'
import { permit2On } from '../../../support/permit2.js'
import { startRpcProxy } from '../../../support/rpc-proxy.js'
import { signPermit } from '../../../support/sign-permit.js'
import {
  signPayment,
  type SigningOverrides,
  type TestPayer,
} from '../../../support/sign-payment.js'
import { completeRoute } from './complete-route.js'
import { errorsOf, UCP_VERSIONS, ucpValidators } from './ucp-schemas.js'
import { useOpened } from '../../../support/use-opened.js'
import { stopMining, resumeMining } from '../../../support/mining.js'

const HANDLER = 'com.example.pay'
const PRICE = 15_000_000n

const devnet = useDevnet()
type Checkout = Awaited<ReturnType<Parameters<typeof completeRoute>[1]['findCheckout']>>
const validators = UCP_VERSIONS.map((version) => ucpValidators(version))

let store: LedgerStore
let patch: Parameters<typeof patchedLedger>[1]
let gateway: Gateway
let server: TestServer
/** Completes without HTTP. */
let complete: (checkout: Checkout, instrument: unknown) => Promise<UcpCompletion>
let log: ReturnType<typeof recordLog>
let count = 0
/** How far the clock of the ledger is ahead (ms). */
let ahead = 0
const checkouts = new Map<string, Checkout>()
/** What the shop did, in order. */
let done: string[] = []
/** The payment that an order was placed for. */
let taken: UcpPayment | undefined
/** What placing an order does besides. */
let onPlace: () => unknown = () => undefined

const proxy = useOpened(() => startRpcProxy(devnet.rpcUrl))
beforeAll(async () => {
  store = createMemoryLedger({ now: () => Date.now() + ahead })
  // Members are looked up when they are called, so that a test may fail some.
  const ledger = patchedLedger(store, {
    idempotency: {
      begin: (request) =>
        (patch?.idempotency?.begin ?? store.idempotency.begin.bind(store.idempotency))(request),
    },
    markDelivered: (...given) =>
      (patch?.markDelivered ?? store.payments.markDelivered.bind(store.payments))(...given),
  })
  log = recordLog()
  const options = shopOptions(devnet)
  gateway = createGateway({
    ...options,
    networks: {
      'base-sepolia': {
        rpcUrl: proxy.url,
        relayerKeys: devnet.relayerKeys,
        assets: [{ asset: 'USDC', permit2: true }],
      },
    },
    logger: log,
    ledger,
    handlerId: HANDLER,
    admin: { tokens: [ADMIN_TOKEN] },
    settleTimeoutMs: 3000,
  })
  const app = express()
  const shop: Parameters<typeof completeRoute>[1] = {
    findCheckout: async (id) => checkouts.get(id)!,
    saveCheckout: async (checkout) => void checkouts.set(checkout.id, checkout),
    placeOrder: async ({ id }) => {
      done.push(`place ${id}`)
      await onPlace()
    },
    cancelOrder: async ({ id }) => void done.push(`cancel ${id}`),
    describe: ({ id, status, order, x402: config }) => ({
      ...CHECKOUT,
      ...{ id, status, order },
      ucp: { ...CHECKOUT.ucp, payment_handlers: { [HANDLER]: [{ ...ENTRY, config }] } },
    }),
  }
  complete = ({ id, x402: config }, instrument) =>
    gateway.completeWithX402(instrument, {
      config,
      async placeOrder(payment) {
        done.push(`place ${id}`)
        taken = payment
        await onPlace()
      },
      cancelOrder: () => void done.push(`cancel ${id}`),
    })
  app.use(completeRoute(gateway, shop))
  app.use(gateway.gatewayRouter())
  server = await listen(app)
})
afterAll(async () => {
  await server.close()
  await gateway.close()
})
beforeEach(() => {
  done = []
})
afterEach(async () => {
  proxy.fault = undefined
  patch = undefined
  onPlace = () => undefined
  ahead = 0
})

/** What a checkout of UCP has besides. */
const CHECKOUT = {
  ucp: {
    version: '2026-04-08',
    capabilities: { 'dev.ucp.shopping.checkout': [{ version: '2026-04-08' }] },
  },
  currency: 'USD',
  line_items: [
    {
      id: 'line_1',
      item: { id: 'book_7', title: 'A book', price: 1500 },
      quantity: 1,
      totals: [{ type: 'total', amount: 1500 }],
    },
  ],
  totals: [
    { type: 'subtotal', amount: 1500 },
    { type: 'total', amount: 1500 },
  ],
  links: [{ type: 'terms_of_service', url: 'https://shop.example/terms' }],
}

const ENTRY = { id: HANDLER, version: '2026-11-30' }

/** A checkout over 15 dollars. */
async function openCheckout(id = `chk_${++count}`, token = SHOP_TOKEN): Promise<Checkout> {
  const response = await fetch(`${server.url}/api/v2/merchant/checkout-prepare`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', 'X-Project-Identify-Token': token },
    body: JSON.stringify({
      amount: '15.00',
      currency: 'USD',
      resource: { url: `https://shop.example/ucp/v1/checkout-sessions/${id}` },
    }),
  })
  const prepared = (await response.json()) as Record<string, { config: Checkout['x402'] }[]>
  const checkout = { id, status: 'ready_for_complete', x402: prepared[HANDLER]![0]!.config }
  checkouts.set(id, checkout)
  return checkout
}

/** The wallet pays the first way, as gateway.md says. */
async function sign(checkout: Checkout, payer: TestPayer, overrides: SigningOverrides = {}) {
  const { accepts, resource } = checkout.x402
  const offer = accepts[0]!
  const payload = { resource: { ...resource }, ...overrides.payload }
  return instrumentOf(await signPayment(payer, offer, { ...overrides, payload }), offer)
}

const instrumentOf = (
  paymentPayload: PaymentPayload,
  paymentRequirements: PaymentRequirements,
) => ({
  id: 'instrument_1',
  handler_id: HANDLER,
  type: 'x402',
  selected: true,
  credential: { type: 'x402', x402Version: 2, paymentPayload, paymentRequirements },
})

type Instrument = Awaited<ReturnType<typeof sign>>

/** The platform completes; what it gets is a checkout in every version of UCP. */
async function request({ id }: Checkout, instrument: unknown) {
  const response = await fetch(`${server.url}/checkout-sessions/${id}/complete`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ payment: { instruments: [instrument] } }),
  })
  const body = (await response.json()) as Checkout & {
    messages: { type: string; code: string; severity?: string; content: string }[]
  }
  for (const { checkout } of validators) expect(errorsOf(checkout, body)).toEqual([])
  return { httpStatus: response.status, ...body }
}

const income = () => balanceOf(devnet, devnet.merchant.address)

/** Runs a purchase, and tells how many were paid. */
async function paidBy(work: () => Promise<unknown>): Promise<bigint> {
  const before = await income()
  await work()
  return ((await income()) - before) / PRICE
}

const REFUSED = {
  httpStatus: 200,
  status: 'ready_for_complete',
  messages: [
    { type: 'error', code: 'payment_failed', severity: 'recoverable', content: expect.any(String) },
  ],
}
const UNAVAILABLE = { ...REFUSED, httpStatus: 503 }
const IN_PROGRESS = {
  httpStatus: 200,
  status: 'complete_in_progress',
  messages: [{ type: 'info', code: 'payment_in_progress' }],
}
const COMPLETED = { httpStatus: 200, status: 'completed', order: {}, messages: [] }

const payer = () => devnet.payers[0]!

describe('a checkout that is completed', () => {
  it('has its order placed, and is then paid; a repeat does neither again', async () => {
    const checkout = await openCheckout()
    const before = await income()
    onPlace = async () => expect(await income()).toBe(before)
    const instrument = await sign(checkout, payer())
    const paid = await paidBy(async () => {
      expect(await request(checkout, instrument)).toMatchObject(COMPLETED)
      expect(await request(checkout, instrument)).toMatchObject(COMPLETED)
      // Whoever comes later does not pay it a second time.
      expect(await request(checkout, await sign(checkout, payer()))).toMatchObject(COMPLETED)
    })
    expect([paid, done]).toEqual([1n, [`place ${checkout.id}`]])
    const { settlements } = (await (
      await fetch(`${server.url}/api/v2/merchant/settlements?limit=1`, {
        headers: { 'X-Project-Identify-Token': SHOP_TOKEN },
      })
    ).json()) as { settlements: object[] }
    const { url } = checkout.x402.resource
    expect(settlements[0]).toMatchObject({ resource: url, askedPrice: '15.00 USD' })
  })

  it('is paid once by two payments at the same moment', async () => {
    const checkout = await openCheckout()
    const instruments = [await sign(checkout, payer()), await sign(checkout, devnet.payers[1]!)]
    const paid = await paidBy(async () => {
      const all = await Promise.all(instruments.map((one) => request(checkout, one)))
      expect(all).toMatchObject([COMPLETED, COMPLETED])
    })
    expect([paid, done]).toEqual([1n, [`place ${checkout.id}`]])
  })

  it('pays for no other checkout', async () => {
    const [first, second] = [await openCheckout(), await openCheckout()]
    const instrument = await sign(first, payer())
    expect(await request(first, instrument)).toMatchObject(COMPLETED)
    // The offers differ by their ids alone: here the thief writes the one of the second.
    const { paymentPayload } = instrument.credential
    const [offer] = second.x402.accepts
    const stolen = {
      ...instrument,
      credential: {
        ...instrument.credential,
        paymentPayload: { ...paymentPayload, accepted: offer, resource: undefined },
        paymentRequirements: offer,
      },
    }
    const paid = await paidBy(async () => {
      expect(await request(second, instrument)).toMatchObject(REFUSED)
      expect(await request(second, stolen)).toMatchObject(REFUSED)
    })
    expect([paid, done]).toEqual([0n, [`place ${first.id}`]])
  })
})

describe('a payment that is refused', () => {
  const changed = (part: object) => (one: object) => ({ ...one, ...part })
  const inCredential =
    (change: (credential: Instrument['credential']) => object) => (one: Instrument) => ({
      ...one,
      credential: change(one.credential),
    })
  const withOffer = (part: object) =>
    inCredential(({ paymentPayload, paymentRequirements, ...credential }) => ({
      ...credential,
      paymentPayload: { ...paymentPayload, accepted: { ...paymentPayload.accepted, ...part } },
      paymentRequirements: { ...paymentRequirements, ...part },
    }))
  const cases: [string, (instrument: Instrument) => unknown, string?][] = [
    ['nothing', () => null],
    ['no object', () => 'x402'],
    ['another handler', changed({ handler_id: 'com.example.card' }), HANDLER],
    ['another type', changed({ type: 'card' }), HANDLER],
    ['no credential', changed({ credential: undefined }), 'credential'],
    ['no payment', inCredential(() => ({ type: 'x402' })), 'paymentPayload'],
    ['a lower price', withOffer({ amount: '1' }), 'offer of this checkout'],
    ['another merchant', withOffer({ payTo: `0x${'12'.repeat(20)}` }), 'offer of this checkout'],
    ['another chain', withOffer({ network: 'eip155:8453' }), 'offer of this checkout'],
    [
      'an offer that it does not accept',
      inCredential(({ paymentPayload, ...credential }) => ({
        ...credential,
        paymentPayload: {
          ...paymentPayload,
          accepted: { ...paymentPayload.accepted, amount: '1' },
        },
      })),
      'offer of this checkout',
    ],
    [
      'another resource',
      inCredential(({ paymentPayload, ...credential }) => ({
        ...credential,
        paymentPayload: { ...paymentPayload, resource: { url: 'https://shop.example/other' } },
      })),
      'another checkout',
    ],
    [
      'a signature of somebody else',
      inCredential(({ paymentPayload, ...credential }) => ({
        ...credential,
        paymentPayload: {
          ...paymentPayload,
          payload: { ...paymentPayload.payload, signature: `0x${'11'.repeat(65)}` },
        },
      })),
      'signature',
    ],
  ]
  it.each(cases)('for %s has no order placed', async (_what, change, words = '') => {
    const checkout = await openCheckout()
    const instrument = await sign(checkout, payer())
    const paid = await paidBy(async () => {
      const answer = await request(checkout, change(instrument))
      expect(answer).toMatchObject(REFUSED)
      expect(answer.messages[0]!.content).toContain(words)
      expect(done).toEqual([])
      expect(await request(checkout, instrument)).toMatchObject(COMPLETED)
    })
    expect(paid).toBe(1n)
  })

  it('for a nonce of Permit2 that the payer has burnt has no order placed', async () => {
    const { newPayer, approve, invalidate } = permit2On(devnet)
    const checkout = await openCheckout()
    const [, offer] = checkout.x402.accepts
    const payer = await newPayer()
    await devnet.mint(payer.address, PRICE)
    await approve(payer.address, devnet.asset, PRICE)
    const [burnt, good] = [await signPermit(payer, offer!), await signPermit(payer, offer!)]
    await invalidate(payer, burnt)
    const paid = await paidBy(async () => {
      expect(await request(checkout, instrumentOf(burnt, offer!))).toMatchObject(REFUSED)
      expect(done).toEqual([])
      expect(await request(checkout, instrumentOf(good, offer!))).toMatchObject(COMPLETED)
    })
    expect(paid).toBe(1n)
  })

  it('for want of money, time or a new price has no order placed', async () => {
    const checkout = await openCheckout()
    const poor = await sign(checkout, await newPayer(devnet))
    const late = await sign(checkout, payer(), { validBefore: '1' })
    for (const instrument of [poor, late])
      expect(await request(checkout, instrument)).toMatchObject(REFUSED)
    const instrument = await sign(checkout, payer())
    const config = checkout.x402
    const dearer = config.accepts.map((entry) => ({ ...entry, amount: '16000000' }))
    Object.assign(config, { accepts: dearer })
    expect(await request(checkout, instrument)).toMatchObject(REFUSED)
    expect(done).toEqual([])
  })
})

describe('an order', () => {
  it('that cannot be placed is not charged for, and the same payment is good later', async () => {
    const checkout = await openCheckout()
    const instrument = await sign(checkout, payer())
    const soldOut = new Error('sold out')
    onPlace = () => {
      throw soldOut
    }
    const paid = await paidBy(async () => {
      await expect(complete(checkout, instrument)).rejects.toBe(soldOut)
    })
    onPlace = () => undefined
    expect(paid).toBe(0n)
    expect(await request(checkout, instrument)).toMatchObject(COMPLETED)
    expect(done).toEqual([`place ${checkout.id}`, `place ${checkout.id}`])
  })

  it('is cancelled if its payment fails on chain, and another payment may be made', async () => {
    const checkout = await openCheckout()
    const payer = await newPayer(devnet)
    await devnet.mint(payer.address, PRICE - 1n)
    onPlace = () => emptyAccount(devnet, payer)
    const instrument = await sign(checkout, payer)
    expect(await request(checkout, instrument)).toMatchObject(REFUSED)
    expect(done).toEqual([`place ${checkout.id}`, `cancel ${checkout.id}`])
    onPlace = () => undefined
    const other = await sign(checkout, devnet.payers[1]!)
    expect(await request(checkout, other)).toMatchObject(COMPLETED)
  })

  it('is paid before another payment is tried, while its own is pending', async () => {
    const checkout = await openCheckout()
    const [first, second] = [await sign(checkout, payer()), await sign(checkout, devnet.payers[1]!)]
    await stopMining(devnet)
    const paid = await paidBy(async () => {
      expect(await request(checkout, first)).toMatchObject(IN_PROGRESS)
      expect(await request(checkout, second)).toMatchObject(IN_PROGRESS)
      ahead = 120_000
      await resumeMining(devnet)
      // Whoever asks is told of the first.
      const completed = await complete(checkout, second)
      expect(completed).toMatchObject({ settlement: { payer: payer().address } })
      expect(await complete(checkout, first)).toEqual(completed)
    })
    expect([paid, done]).toEqual([1n, [`place ${checkout.id}`]])
  })
})

describe('a failure outside', () => {
  it('of the node leaves the checkout as it was', async () => {
    const checkout = await openCheckout()
    const instrument = await sign(checkout, devnet.payers[2]!)
    proxy.fault = () => ({ kind: 'drop_request' })
    const paid = await paidBy(async () => {
      expect(await request(checkout, instrument)).toMatchObject(UNAVAILABLE)
      expect(done).toEqual([])
      proxy.fault = undefined
      expect(await request(checkout, instrument)).toMatchObject(COMPLETED)
    })
    expect(paid).toBe(1n)
    expect(log.lines.join('\n')).not.toContain(
      instrument.credential.paymentPayload.payload['signature'],
    )
  })

  it('of the ledger says that the outcome is not known', async () => {
    const checkout = await openCheckout()
    const instrument = await sign(checkout, payer())
    const down = () => Promise.reject(new LedgerError('ledger_unavailable', 'It is down.'))
    patch = { idempotency: { begin: down } }
    expect(await request(checkout, instrument)).toMatchObject({ ...IN_PROGRESS, httpStatus: 503 })
    patch = { markDelivered: down }
    const paid = await paidBy(async () => {
      expect(await request(checkout, instrument)).toMatchObject({ ...IN_PROGRESS, httpStatus: 503 })
      patch = undefined
      // The transfer is mined. Nothing is sent for whom comes next, and the order is not placed again.
      const other = await sign(checkout, devnet.payers[1]!)
      expect(await request(checkout, other)).toMatchObject(COMPLETED)
    })
    expect([paid, done]).toEqual([1n, [`place ${checkout.id}`]])
  })
})

/** Has the store of answers fail when one is kept or removed, before or after it has done so. */
function failToKeep(
  isHit: (kept: KeptAnswer | undefined) => boolean,
  when: 'before' | 'after' = 'before',
): void {
  patchClaim((claim) => ({
    ...claim,
    async keep(kept) {
      if (!isHit(kept)) return claim.keep(kept)
      if (when === 'after') await claim.keep(kept)
      throw new LedgerError('ledger_unavailable', 'It is down.')
    },
  }))
}

function patchClaim(change: (claim: IdempotencyClaim) => IdempotencyClaim): void {
  patch = {
    idempotency: {
      async begin(asked) {
        const begun = await store.idempotency.begin(asked)
        return begun.state === 'fresh' ? { ...begun, claim: change(bound(begun.claim)) } : begun
      },
    },
  }
}

it.each(['before', 'after'] as const)(
  'whose payment cannot be kept (%s it is) has nothing sent, and is paid once',
  async (when) => {
    const checkout = await openCheckout()
    const [first, second] = [await sign(checkout, payer()), await sign(checkout, devnet.payers[1]!)]
    await stopMining(devnet)
    failToKeep((kept) => kept !== undefined, when)
    const paid = await paidBy(async () => {
      expect(await request(checkout, first)).toMatchObject({ ...IN_PROGRESS, httpStatus: 503 })
      patch = undefined
      await resumeMining(devnet)
      expect(await request(checkout, second)).toMatchObject(COMPLETED)
      expect(await request(checkout, first)).toMatchObject(COMPLETED)
    })
    expect(paid).toBe(1n)
    expect(done).not.toContain(`cancel ${checkout.id}`)
  },
)

it('whose failed payment cannot be forgotten keeps its order until it is', async () => {
  const checkout = await openCheckout()
  const payer = await newPayer(devnet)
  await devnet.mint(payer.address, PRICE - 1n)
  onPlace = () => emptyAccount(devnet, payer)
  failToKeep((kept) => kept === undefined)
  const instrument = await sign(checkout, payer)
  expect(await request(checkout, instrument)).toMatchObject({ ...IN_PROGRESS, httpStatus: 503 })
  expect(done).toEqual([`place ${checkout.id}`])
  patch = undefined
  expect(await request(checkout, instrument)).toMatchObject(REFUSED)
  expect(done).toEqual([`place ${checkout.id}`, `cancel ${checkout.id}`])
})

it('whose answer was lost is told again, also to another payment', async () => {
  const checkout = await openCheckout()
  patchClaim((claim) => ({ ...claim, finish: claim.pause, abandon: claim.pause }))
  const paid = await paidBy(async () => {
    const instrument = await sign(checkout, payer())
    const completed = await complete(checkout, instrument)
    expect(completed).toMatchObject({ status: 'completed' })
    expect(taken).toEqual({ payer: payer().address, offer: checkout.x402.accepts[0] })
    expect(await complete(checkout, instrument)).toEqual(completed)
    expect(await complete(checkout, await sign(checkout, payer()))).toEqual(completed)
  })
  expect([paid, done]).toEqual([1n, [`place ${checkout.id}`]])
})

it.each([
  [{ config: undefined }, 'config'],
  [{ config: { resource: {}, accepts: [{}] } }, 'config.resource.url'],
  [{ config: { resource: { url: 'a' }, accepts: [] } }, 'config.accepts'],
  [{ placeOrder: undefined }, 'placeOrder'],
  [{ merchant: 'nobody' }, 'merchant'],
])('throws for the options %j', async (wrong, option) => {
  const checkout = await openCheckout()
  const options = { config: checkout.x402, placeOrder: () => undefined, merchant: 'shop' }
  const completing = gateway.completeWithX402({}, { ...options, ...wrong } as never)
  await expect(completing).rejects.toMatchObject({ code: 'config_invalid', option })
})

it('for a merchant who is paused is good again later', async () => {
  const admin = (method: string, path: string, body: object) =>
    fetch(`${server.url}/api/v2/admin/${path}`, {
      method,
      headers: { Authorization: `Bearer ${ADMIN_TOKEN}`, 'Content-Type': 'application/json' },
      body: JSON.stringify(body),
    })
  const created = await admin('POST', 'projects', {
    id: 'acme',
    merchant: { payTo: devnet.merchant.address },
  })
  const { token } = (await created.json()) as { token: string }
  const checkout = await openCheckout(undefined, token)
  const instrument = await sign(checkout, payer())
  const options = {
    merchant: 'acme',
    config: checkout.x402,
    placeOrder: () => done.push(''),
  }
  await admin('PATCH', 'projects/acme', { paused: true })
  const paid = await paidBy(async () => {
    expect(await gateway.completeWithX402(instrument, options)).toMatchObject({
      ...REFUSED,
      reason: 'merchant_paused',
    })
    expect(done).toEqual([])
    await admin('PATCH', 'projects/acme', { paused: false })
    const completed = await gateway.completeWithX402(instrument, options)
    expect(completed).toMatchObject({ status: 'completed', settlement: { success: true } })
  })
  expect(paid).toBe(1n)
})

it('is what the documentation shows', () => {
  const read = (path: string) => readFileSync(new URL(path, import.meta.url), 'utf8')
  const example = read('complete-route.ts').replace(
    '../../../../src/index.js',
    'express-x402-gateway',
  )
  expect(read('../../../../example-app/docs/shop.md')).toContain(example)
})
