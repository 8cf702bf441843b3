/** A payment buys what it was offered for: its route at its declared price, in every process. */
import { describe, expect, it } from '@jest/globals'
import { generatePaymentId } from '@x402/extensions'
import express, { type RequestHandler } from 'express'
import express4 from 'express4'
import { createGateway, type Gateway } from '../../../src/gateway/gateway.js'
import type { DeclaredPrice } from '../../../src/sell/route/up-to-price.js'
import type { ProtectOptions } from '../../../src/sell/route/options.js'
import type { PaymentPayload } from '../../../src/shared/protocol/payment.js'
import { storeMakers } from '../../hostile/stores.js'
import { useCleanup } from '../../support/cleanup.js'
import { balanceOf, shopOptions, useDevnet } from '../../support/devnet.js'
import { permit2On } from '../../support/permit2.js'
import { paymentRequiredOf } from '../../support/shop.js'
import { useShopsInTurn, type Routes } from '../../support/shops-in-turn.js'
import { signUpTo } from '../../support/sign-up-to.js'

const devnet = useDevnet()
const toEnd = useCleanup()
const earned = () => balanceOf(devnet, devnet.merchant.address)

/** Handlers that ran. */
let runs = 0
const sell: RequestHandler = (_req, res) => void res.send(`run ${++runs}`)

const { openStore, open, leavePaid, redeem } = useShopsInTurn(devnet)

const errorOf = (response: Response) => [response.status, paymentRequiredOf(response).error]
const CHANGED = [402, 'price_changed']
const USED = [402, 'invalid_exact_evm_nonce_already_used']
const withId = (payment: PaymentPayload): PaymentPayload => ({
  ...payment,
  extensions: { 'payment-identifier': { info: { required: false, id: generatePaymentId() } } },
})

const at =
  (price: DeclaredPrice, options?: ProtectOptions): Routes =>
  (app, protect) =>
    void app.all('/good', protect(price, options), sell)

describe.each(storeMakers.filter(([name]) => name !== 'memory'))('in %s', (_name, make) => {
  it.each<[string, DeclaredPrice, DeclaredPrice, ProtectOptions]>([
    ['a dearer price', '$0.01', '$1.00', {}],
    ['a cheaper price', '$0.02', '$0.01', {}],
    ['another currency', '€0.01', '$1.00', {}],
    [
      'the same amount, declared otherwise',
      '$0.01',
      { amount: '10000', asset: 'USDC', network: 'base-sepolia' },
      {},
    ],
    ['a function that asks the same', '$0.01', () => '$0.01', {}],
    ['a fixed price in place of a function', () => '$0.01', '$0.01', {}],
    ['a function for another plan', () => '$0.01', () => '$0.01', { quoteFor: () => 'gold' }],
  ])('buys nothing in another process at %s', async (_what, before, after, options) => {
    const store = await openStore(make)
    const shop = open(store, at(before))
    const other = open(store, at(after, options))
    const payment = withId(await shop.sign('/good'))
    await leavePaid(shop, '/good', payment)
    const [ranBefore, earnedBefore] = [runs, await earned()]
    const { extensions: _id, ...plain } = payment
    for (const one of [payment, plain])
      expect(errorOf(await redeem(other, '/good', one))).toEqual(CHANGED)
    expect([runs, await earned()]).toEqual([ranBefore, earnedBefore])
    // It is paid, and still good at its own price.
    expect((await redeem(shop, '/good', payment)).status).toBe(200)
    // What was stored for it there is not served here.
    expect((await redeem(other, '/good', payment)).status).toBe(402)
    expect(await earned()).toBe(earnedBefore)
  })

  it.each<[string, DeclaredPrice, DeclaredPrice]>([
    ['a dearer price', '$0.01', '$1.00'],
    ['the same amount, declared otherwise', '$0.01', () => '$0.01'],
  ])('buys at a price that is listed: %s', async (_what, before, after) => {
    const store = await openStore(make)
    const shop = open(store, at(before))
    const payment = withId(await shop.sign('/good'))
    await leavePaid(shop, '/good', payment)
    const next = open(store, at(after, { earlierPrices: ['$0.01'] }))
    const sold = await redeem(next, '/good', payment)
    expect(sold.status).toBe(200)
    const again = await redeem(next, '/good', payment)
    expect([again.status, await again.text()]).toEqual([200, await sold.text()])
    // Nothing new is sold at it.
    const fresh = await redeem(next, '/good', await shop.sign('/good'))
    expect(fresh.status).toBe(typeof after === 'function' ? 200 : 402)
  })

  it('a signed quote is honoured at its own price, or where that is listed', async () => {
    const store = await openStore(make)
    const shop = open(store, at('€0.01'))
    const dear = open(store, at('€1.00'))
    const listed = open(store, at('€1.00', { earlierPrices: ['€0.01'] }))
    const asking = open(
      store,
      at(() => '€0.01', { quoteFor: () => '' }),
    )
    const [ranBefore, earnedBefore] = [runs, await earned()]
    const quoted = await shop.sign('/good')
    expect(errorOf(await redeem(dear, '/good', quoted))).toEqual(CHANGED)
    expect(errorOf(await redeem(asking, '/good', quoted))).toEqual([402, 'quote_mismatch'])
    const fromFunction = await asking.sign('/good')
    expect(errorOf(await redeem(dear, '/good', fromFunction))).toEqual([402, 'quote_mismatch'])
    expect([runs, await earned()]).toEqual([ranBefore, earnedBefore])
    expect((await redeem(listed, '/good', quoted)).status).toBe(200)
    expect(await earned()).toBe(earnedBefore + 12_500n)
  })

  it('an earlier price that is metered is another price, too', async () => {
    const store = await openStore(make)
    const shop = open(store, at({ upTo: '$0.01' }))
    const dear = open(store, at({ upTo: '$0.10' }))
    const listed = open(store, at({ upTo: '$0.10' }, { earlierPrices: ['$0.01'] }))
    const approved = await permit2On(devnet).approvedPayer()
    const payment = await signUpTo(await shop.ask('/good'), approved)
    await leavePaid(shop, '/good', payment)
    const ranBefore = runs
    expect(errorOf(await redeem(dear, '/good', payment))).toEqual(CHANGED)
    expect(runs).toBe(ranBefore)
    expect((await redeem(listed, '/good', payment)).status).toBe(200)
  })
})

describe('two routes with one resource URL', () => {
  const price = '$0.01'
  const shared = { resourceUrl: () => 'https://shop.example/good' }
  const router = (protect: Gateway['x402Protect'], path: string) => {
    const below = express.Router()
    below.get(path, protect(price, shared), sell)
    return below
  }
  it.each<[string, Routes]>([
    [
      'of one app',
      (app, protect) =>
        ['/one', '/two'].forEach((path) => app.get(path, protect(price, shared), sell)),
    ],
    [
      'in routers with the same path',
      (app, protect) => ['/one', '/two'].forEach((path) => app.use(path, router(protect, '/'))),
    ],
    [
      'behind middleware at a path',
      (app, protect) => {
        app.use((_req, _res, next) => next())
        app.all('/{*all}', (_req, _res, next) => next())
        for (const path of ['/one', '/two']) app.use(path, protect(price, shared), sell)
      },
    ],
    [
      'with patterns for paths',
      (app, protect) =>
        [/^\/one\/?$/, /^\/two\/?$/].forEach((path) => app.get(path, protect(price, shared), sell)),
    ],
  ])('are two goods %s', async (_what, routes) => {
    const store = await openStore(storeMakers[1]![1])
    const shop = open(store, routes)
    const { resource: _resource, ...payment } = await shop.sign('/one')
    await leavePaid(shop, '/one', payment)
    const ranBefore = runs
    for (const one of [payment, withId(payment)])
      expect(errorOf(await redeem(shop, '/two', one))).toEqual(USED)
    expect(errorOf(await redeem(open(store, routes), '/two', payment))).toEqual(USED)
    expect(runs).toBe(ranBefore)
    expect((await redeem(shop, '/one', payment)).status).toBe(200)
  })

  it.each([
    ['4', express4],
    ['5', express],
  ])(
    'are one where only a parameter of the router differs, on Express %s',
    async (_version, of) => {
      const routes: Routes = (app, protect) => {
        const [outer, inner] = [of.Router(), of.Router()]
        inner.get('/good', protect(price, shared), sell)
        outer.use('/shops/:shop', inner)
        app.use('/:language', outer)
      }
      const [, make] = storeMakers[1]!
      const store = (await make())!
      toEnd.push(() => store.drop())
      const shop = open(store, routes, of)
      const payment = await shop.sign('/en/shops/1/good')
      await leavePaid(shop, '/en/shops/1/good', payment)
      // After a restart, in another language.
      const next = open(store, routes, of)
      expect((await redeem(next, '/de/shops/2/good', payment)).status).toBe(200)
    },
  )
})

it('a HEAD request redeems what GET has bought', async () => {
  const store = await openStore(storeMakers[1]![1])
  const shop = open(store, at('$0.01'))
  const payment = await shop.sign('/good')
  await leavePaid(shop, '/good', payment)
  expect((await redeem(shop, '/good', payment, { method: 'HEAD' })).status).toBe(200)
})

it.each([['cheap'], [['$0.01', '']], [['1 EURO']]])(
  'refuses earlier prices that are none: %p',
  async (earlierPrices) => {
    const gateway = createGateway(shopOptions(devnet))
    toEnd.push(() => gateway.close())
    const declare = () => gateway.x402Protect('$1', { earlierPrices } as unknown as ProtectOptions)
    expect(declare).toThrow(expect.objectContaining({ code: 'config_invalid' }))
    expect(declare).toThrow(/earlierPrices/)
  },
)
