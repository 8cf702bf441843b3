import express, { type Express } from 'express'
import { describe, expect, it } from '@jest/globals'
import request from 'supertest'
import {
  defaultGateway,
  gatewayRouter,
  paidRequest,
  ucpProfile,
  x402Protect,
} from '../../../src/index.js'
import type { Gateway } from '../../../src/gateway/gateway.js'
import {
  startTestShop,
  type PurchaseError,
  type TestShop,
} from '../../../src/tools/testing/index.js'
import { useCleanup, closedBy } from '../../support/cleanup.js'

const toEnd = useCleanup()

async function open(...args: Parameters<typeof startTestShop>): Promise<TestShop> {
  return closedBy(toEnd, await startTestShop(...args))
}

/** An app on the gateway that it is given. */
function createApp({ x402Protect }: Pick<Gateway, 'x402Protect'>): Express {
  const app = express()
  app.get('/free', (_req, res) => void res.send('free'))
  app.get('/report', x402Protect('$0.25'), (req, res) => {
    res.json({ paidBy: req.x402?.payer })
  })
  app.post('/echo', express.json(), x402Protect('$0.50'), (req, res) => void res.json(req.body))
  app.get('/fails', x402Protect('$0.25'), (_req, res) => void res.status(500).send('no report'))
  app.get('/moved', x402Protect('$0.25'), (_req, res) => res.redirect('/free'))
  app.get('/story', x402Protect('$0.25', { paymentFlow: 'upfront' }), (req, res) => {
    res.send(req.x402?.transaction)
  })
  return app
}

describe('a test shop', () => {
  it('sells for real tokens, and returns how the payment was settled', async () => {
    const shop = await open((gateway) => createApp(gateway))
    expect(await shop.balances()).toEqual({ payer: '1000', merchant: '0' })
    const response = await shop.buy('/report')
    expect(response.status).toBe(200)
    expect(await response.json()).toEqual({ paidBy: shop.payer.address })
    const { address: payer } = shop.payer
    expect(response.settlement).toMatchObject({ success: true, amount: '250000', payer })
    expect(response.settlement.transaction).toMatch(/^0x[0-9a-f]{64}$/)
    expect(await shop.balances()).toEqual({ payer: '999.75', merchant: '0.25' })
  })

  it('sells for what was used, up to a maximum, and tells what was charged', async () => {
    const shop = await open(({ x402Protect }) => {
      const app = express()
      app.get('/metered/:charge', x402Protect({ upTo: '$0.10' }), (req, res) => {
        paidRequest(req).charge(`$${req.params.charge}`)
        res.json({ maximum: paidRequest(req).amount })
      })
      return app
    })
    const first = await shop.buy('/metered/0.0234')
    expect(await first.json()).toEqual({ maximum: '100000' })
    expect(first.settlement).toMatchObject({ success: true, amount: '23400' })
    expect(first.settlement.transaction).toMatch(/^0x[0-9a-f]{64}$/)
    const nothing = await shop.buy('/metered/0')
    expect(nothing.settlement).toMatchObject({ amount: '0', transaction: '' })
    await shop.buy('/metered/0.1')
    expect(await shop.balances()).toEqual({ payer: '999.8766', merchant: '0.1234' })
    for (const failure of ['insufficient_funds', 'revert'] as const) {
      shop.failNext(failure)
      await shop.buy('/metered/0.01', { expect: 402 })
    }
    await shop.buy('/metered/0.01')
    expect(await shop.balances()).toMatchObject({ merchant: '0.1334' })
  })

  it('sends method, headers and body with both requests', async () => {
    const shop = await open(createApp)
    const headers = { 'content-type': 'application/json' }
    const response = await shop.buy('/echo', { method: 'POST', headers, body: '{"words":3}' })
    expect(await response.json()).toEqual({ words: 3 })
    const body = new Blob(['{}']).stream()
    await expect(shop.buy('/echo', { method: 'POST', headers, body })).rejects.toThrow(TypeError)
    expect(await shop.balances()).toMatchObject({ merchant: '0.5' })
  })

  it('follows no redirect that was bought, and buys before the handler runs', async () => {
    const shop = await open(createApp)
    const moved = await shop.buy('/moved')
    expect([moved.status, moved.headers.get('location')]).toEqual([302, '/free'])
    const story = await shop.buy('/story')
    expect(await story.text()).toBe(story.settlement.transaction)
  })

  it('rejects a purchase with an unexpected end, and charges nothing for a handler that fails', async () => {
    const shop = await open(createApp)
    const error = await shop.buy('/fails').catch((thrown: PurchaseError) => thrown)
    expect(error).toMatchObject({ name: 'PurchaseError', status: 500 })
    expect((error as PurchaseError).message).toContain('no report')
    expect((await shop.buy('/fails', { expect: 500 })).status).toBe(500)
    await expect(shop.buy('/report', { expect: 500 })).rejects.toMatchObject({ status: 200 })
    expect(await shop.balances()).toEqual({ payer: '999.75', merchant: '0.25' })
  })

  it('describes the routes of an app on the default gateway, in each shop', async () => {
    const app = express().get('/report', x402Protect('$0.25'), (_req, res) => void res.send('sold'))
    app.use(defaultGateway().discovery())
    for (const shop of [await open(app), await open(app)]) {
      const served = (await (await shop.fetch('/openapi.json')).json()) as { paths: object }
      expect(Object.keys(served.paths)).toEqual(['/report'])
      for (const { openapi } of [shop.gateway, defaultGateway()])
        expect(Object.keys((await openapi(app)).paths)).toEqual(['/report'])
    }
  })

  it('rejects the purchase of a free resource unless that is expected', async () => {
    const shop = await open(createApp)
    await expect(shop.buy('/free')).rejects.toMatchObject({ status: 200 })
    await expect(shop.paymentFor('/free')).rejects.toMatchObject({ status: 200 })
    const free = await shop.buy('/free', { expect: 200 })
    expect([await free.text(), free.settlement]).toEqual(['free', undefined])
  })

  it('offers one URL to supertest, which listens on another port for each request', async () => {
    const shop = await open(createApp)
    await request(shop.app).get('/report').expect(402)
    const paid = await request(shop.app)
      .get('/report')
      .set(await shop.paymentFor('/report'))
    expect([paid.status, paid.body]).toEqual([200, { paidBy: shop.payer.address }])
  })

  it('accepts a payment once', async () => {
    const shop = await open(createApp)
    const headers = await shop.paymentFor('/report')
    expect((await shop.fetch('/report', { headers })).status).toBe(200)
    expect((await shop.fetch('/report', { headers })).status).toBe(402)
    expect(await shop.balances()).toMatchObject({ merchant: '0.25' })
  })

  it('is separate from another shop on the same chain', async () => {
    const [one, other] = await Promise.all([open(createApp), open(createApp)])
    await Promise.all([one.buy('/report'), one.buy('/report'), other.buy('/report')])
    expect(await one.balances()).toEqual({ payer: '999.5', merchant: '0.5' })
    expect(await other.balances()).toEqual({ payer: '999.75', merchant: '0.25' })
    await one.close()
    expect((await other.buy('/report')).status).toBe(200)
    await expect(one.fetch('/free')).rejects.toThrow('fetch failed')
  })

  it('emits events, and serves the API of its gateway to its token', async () => {
    const shop = await open(({ gatewayRouter }) => express().use(gatewayRouter()))
    const path = '/api/v2/payment/supported'
    const headers = { 'X-Project-Identify-Token': shop.token }
    expect((await shop.fetch(path, { headers })).status).toBe(200)
    expect((await shop.fetch(path)).status).toBe(401)
  })

  it('accepts options of its gateway', async () => {
    const build = ({ x402Protect }: Gateway) =>
      express().get('/euro', x402Protect('€1.00'), (_req, res) => void res.send('sold'))
    const merchant = { crossCurrency: true }
    const options = { merchant, rates: { 'EUR/USD': '2' }, projects: undefined }
    const shop = await open(build, options)
    await shop.buy('/euro')
    expect(await shop.balances()).toEqual({ payer: '998', merchant: '2' })
    await expect(open(build)).rejects.toMatchObject({ code: 'config_invalid' })
    await expect(open(build, { ...options, projects: [] })).rejects.toThrow(
      "merchant: completes the shop's own project, which `projects` replaces: write it there",
    )
  })
})

describe('an app on the default gateway', () => {
  const app = createApp({ x402Protect })
  app.use(gatewayRouter())

  it('sells unchanged in one shop after the other, without any variable', async () => {
    const first = await open(app)
    expect((await first.buy('/report')).status).toBe(200)
    expect(await first.balances()).toMatchObject({ merchant: '0.25' })
    await first.close()
    const second = await open({ app })
    expect(await second.balances()).toMatchObject({ merchant: '0' })
    expect((await second.buy('/report')).status).toBe(200)
    expect(await second.balances()).toMatchObject({ merchant: '0.25' })
    const headers = { 'X-Project-Identify-Token': second.token }
    expect((await second.fetch('/api/v2/payment/supported', { headers })).status).toBe(200)
  })

  it('pays the shop through which it is called while it is in two', async () => {
    const [one, other] = [await open(async () => app), await open({ default: { app } })]
    await one.buy('/report')
    await other.buy('/report')
    await other.buy('/report')
    expect(await one.balances()).toMatchObject({ merchant: '0.25' })
    expect(await other.balances()).toMatchObject({ merchant: '0.5' })
  })

  it('keeps its listeners, UCP handler, metrics, and the options of its goods', async () => {
    const gateway = defaultGateway({ rates: { 'EUR/USD': '2' }, handlerId: 'org.example.pay' })
    const settled: string[] = []
    gateway.on('settled', ({ amount }) => void settled.push(amount))
    const profile = ucpProfile(gateway, { services: {}, capabilities: {} })
    expect(JSON.stringify(profile)).toContain('org.example.pay')
    const payTo = '0x1CBd3b2770909D4e10f157cABC84C7264073C9Ec'
    const shop = await open(
      () =>
        express()
          .get('/euro', x402Protect('€1.00'), (_req, res) => void res.send('sold'))
          .use(defaultGateway().metricsRouter())
          .use(defaultGateway().healthRouter()),
      { projects: [{ id: 'shop', merchant: { payTo, crossCurrency: true, fxBufferBps: 0 } }] },
    )
    await shop.buy('/euro')
    expect(settled).toEqual(['2000000'])
    expect((await shop.fetch('/metrics')).status).toBe(200)
    expect((await shop.fetch('/livez')).status).toBe(200)
    await gateway.close()
    expect((await shop.buy('/euro')).status).toBe(200)
  })

  it('accepts no payment outside a shop', async () => {
    const outside = await request(app).get('/report')
    expect(outside.status).toBe(500)
    expect(outside.text).toContain('no test shop is open')
  })

  it('is refused by a shop if a price on it cannot work', async () => {
    const build = () => express().get('/wrong', x402Protect('1,000'))
    await expect(startTestShop(build)).rejects.toMatchObject({ code: 'config_invalid' })
    // It is told once; other apps of the process are not concerned.
    expect((await (await open(createApp)).buy('/report')).status).toBe(200)
  })

  it('is required by a shop', async () => {
    for (const wrong of [() => 'app', {}, { default: 1 }, 'app'])
      await expect(startTestShop(wrong as never)).rejects.toMatchObject({ code: 'config_invalid' })
  })
})
