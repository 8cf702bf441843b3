import { afterEach, describe, expect, it } from '@jest/globals'
import type { ErrorRequestHandler, Request, Response } from 'express'
import { isConfigError } from '../../../src/shared/errors.js'
import { createGateway } from '../../../src/gateway/gateway.js'
import { paidRequest } from '../../../src/sell/flow/paid-request.js'
import { balanceOf, SHOP_TOKEN, shopOptions, useDevnet } from '../../support/devnet.js'
import { settlementOf, useShop } from '../../support/shop.js'

const devnet = useDevnet()
let errors: unknown[] = []
afterEach(() => {
  errors = []
})

/** Answers as JSON-RPC does: errors have status 200. */
const asRpc = (_req: Request, res: Response): void =>
  void res.json({ error: { message: 'no such method' } })

const hasNoError = (_res: Response, body: Buffer): boolean =>
  (JSON.parse(body.toString()) as { error?: unknown }).error === undefined

const shop = useShop(devnet, (app, gateway) => {
  const { x402Protect } = gateway
  app.get('/waived', x402Protect('$0.01'), (req, res) => {
    const { waive } = paidRequest(req)
    waive(typeof req.query['why'] === 'string' ? req.query['why'] : undefined)
    res.set('Cache-Control', 'public, max-age=60').json({ error: 'the tool has failed' })
  })
  app.get('/late', x402Protect('$0.01'), (req, res) => {
    res.json({ sold: true })
    paidRequest(req).waive()
  })
  app.get('/failed', x402Protect('$0.01'), (req, res) => {
    paidRequest(req).waive('not_counted')
    res.status(404).end()
  })
  app.get('/upfront', x402Protect('$0.01', { paymentFlow: 'upfront' }), (req, res) => {
    paidRequest(req).waive()
    res.json({ sold: true })
  })
  app.get('/rpc', x402Protect('$0.01', { chargeIf: hasNoError }), asRpc)
  app.get('/rpc/good', x402Protect('$0.01', { chargeIf: hasNoError }), (_req, res) => {
    res.write('{"result":')
    res.end('"sunny"}')
  })
  app.get('/not-asked', x402Protect('$0.01', { chargeIf: hasNoError }), (_req, res) => {
    res.status(500).send('no JSON')
  })
  app.get('/throws', x402Protect('$0.01', { chargeIf: hasNoError }), (_req, res) => {
    res.send('no JSON')
  })
  const async = (() => Promise.resolve(false)) as unknown as () => boolean
  app.get('/promise', x402Protect('$0.01', { chargeIf: async }), asRpc)
  app.use(gateway.gatewayRouter())
  const note: ErrorRequestHandler = (error, _req, res, _next) => {
    errors.push(error)
    if (!res.headersSent && !res.writableEnded) res.status(500).send('failed')
  }
  app.use(note)
})
const payer = () => devnet.payers[0]!
const earned = (): Promise<bigint> => balanceOf(devnet, devnet.merchant.address)

const codes = (): string[] =>
  errors.flatMap((error) => (isConfigError(error) ? error.issues.map(({ code }) => code) : []))

async function counted(): Promise<Record<'waivedFor' | 'reasons', Record<string, number>>> {
  const response = await shop.ask('/api/v2/merchant/funnel', {
    headers: { 'X-Project-Identify-Token': SHOP_TOKEN },
  })
  const { total } = (await response.json()) as { total: Awaited<ReturnType<typeof counted>> }
  return total
}
const waivedFor = async () => (await counted()).waivedFor

/** Buys an answer, and expects that nothing was charged for it and that its payment can be used again. */
async function expectFree(path: string, status = 200): Promise<FetchResponse> {
  const before = await earned()
  const payment = await shop.sign(path, payer())
  const response = await shop.pay(path, payment)
  expect(response.status).toBe(status)
  expect(response.headers.get('payment-response')).toBeNull()
  expect(response.headers.get('x-payment-response')).toBeNull()
  const again = await shop.pay(path, payment)
  expect(again.status).toBe(status)
  expect(await earned()).toBe(before)
  return response
}
type FetchResponse = Awaited<ReturnType<typeof fetch>>

describe('a handler can say that its answer is free', () => {
  it('waives the payment, which is released, and the buyer is told of no settlement', async () => {
    const response = await expectFree('/waived')
    expect(await response.json()).toEqual({ error: 'the tool has failed' })
    expect(response.headers.get('cache-control')).toBe('private, max-age=60')
  })

  it('counts the reason if it is a short name, and every other text as one', async () => {
    const before = await waivedFor()
    for (const why of ['tool_error', 'Tool failed: <script>', 'x'.repeat(41), 'constructor'])
      await shop.buy(`/waived?why=${encodeURIComponent(why)}`, payer())
    const after = await waivedFor()
    const grown = Object.fromEntries(
      Object.entries(after).map(([name, count]) => [
        name,
        count - (Object.hasOwn(before, name) ? before[name]! : 0),
      ]),
    )
    expect(grown).toMatchObject({ tool_error: 1, constructor: 1, other: 2 })
  })

  it('counts a bounded number of reasons, whatever text the app passes', async () => {
    for (let turn = 0; turn < 50; turn++) await shop.buy(`/waived?why=made_up_${turn}`, payer())
    expect(Object.keys(await waivedFor()).length).toBeLessThanOrEqual(32)
  })

  it('refuses to waive once the response has ended, and charges for it', async () => {
    const before = await earned()
    const response = await shop.buy('/late', payer())
    expect(response.status).toBe(200)
    expect(settlementOf(response).success).toBe(true)
    expect(codes()).toEqual(['waived_too_late'])
    expect(await earned()).toBe(before + 10_000n)
  })

  it('does not count an answer as waived that is free by its status', async () => {
    await expectFree('/failed', 404)
    expect(await waivedFor()).not.toHaveProperty('not_counted')
  })

  it('refuses to waive a payment that was settled up front', async () => {
    expect((await shop.buy('/upfront', payer())).status).toBe(500)
    expect(codes()).toEqual(['conflicting_options'])
  })
})

describe('chargeIf decides whether an answer is charged for', () => {
  it('lets an answer out free of charge if its body has an error', async () => {
    const response = await expectFree('/rpc')
    expect(await response.json()).toEqual({ error: { message: 'no such method' } })
    expect(await waivedFor()).toHaveProperty('charge_if')
  })

  it('sees the whole body, and charges for other answers', async () => {
    const before = await earned()
    const response = await shop.buy('/rpc/good', payer())
    expect([response.status, await response.json()]).toEqual([200, { result: 'sunny' }])
    expect(settlementOf(response).success).toBe(true)
    expect(await earned()).toBe(before + 10_000n)
  })

  it('is not asked about a response of 400 or more', async () => {
    const response = await expectFree('/not-asked', 500)
    expect(await response.text()).toBe('no JSON')
    expect(errors).toEqual([])
    // Nothing was sold to a buyer who came with a payment.
    expect((await counted()).reasons).toMatchObject({ handler_failed: 2 })
  })

  it.each(['/throws', '/promise'])(
    'neither charges nor serves if it throws or breaks its contract: %s',
    async (path) => {
      const response = await expectFree(path, 500)
      expect(await response.text()).toBe('failed')
      expect(errors).toHaveLength(2)
    },
  )

  it('is refused at declaration with a payment that is settled up front', async () => {
    const gateway = createGateway(shopOptions(devnet))
    const declare = () =>
      gateway.x402Protect('$0.01', { chargeIf: () => true, paymentFlow: 'upfront' })
    expect(declare).toThrow(expect.objectContaining({ option: 'chargeIf' }))
    await gateway.close()
  })
})
