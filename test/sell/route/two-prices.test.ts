/** Apps that choose between fixed prices at one URL, by what no payment is bound to. */
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import express from 'express'
import { askNode } from '../../support/core.js'
import { balanceOf, useDevnet } from '../../support/devnet.js'
import { openShop, paymentRequiredOf, settlementOf } from '../../support/shop.js'
import { signPayment } from '../../support/sign-payment.js'

const devnet = useDevnet()
let shop: Awaited<ReturnType<typeof openShop>>

beforeAll(async () => {
  const merchant = { payTo: devnet.merchant.address, crossCurrency: true }
  shop = await openShop(
    devnet,
    (app, { x402Protect }) => {
      const plans = (path: string, small: string, big: string) => {
        const [cheap, dear] = [x402Protect(small), x402Protect(big)]
        app.post(
          path,
          express.json(),
          (req, res, next) => (req.body.plan === 'big' ? dear : cheap)(req, res, next),
          (req, res) => void res.send(req.body.plan),
        )
        app.get(
          path,
          (req, res, next) => (req.get('x-plan') === 'big' ? dear : cheap)(req, res, next),
          (req, res) => void res.send(req.get('x-plan')),
        )
      }
      plans('/usd', '$0.01', '$1')
      plans('/eur', '€0.01', '€1')
    },
    {
      settleTimeoutMs: 1000,
      rates: { 'EUR/USD': '1.1' },
      projects: [{ id: 'shop', merchant }],
    },
  )
})
afterAll(() => shop.close())

const asking = (method: string, plan: string): RequestInit =>
  method === 'GET'
    ? { headers: { 'x-plan': plan } }
    : { method, headers: { 'content-type': 'application/json' }, body: JSON.stringify({ plan }) }

async function sign(path: string, init: RequestInit) {
  const { accepts, resource } = paymentRequiredOf(await shop.ask(path, init))
  return signPayment(devnet.payers[0]!, accepts[0]!, { payload: { resource: { ...resource } } })
}

const earned = () => balanceOf(devnet, devnet.merchant.address)

it.each([
  ['/usd', 'GET'],
  ['/usd', 'POST'],
  ['/eur', 'GET'],
  ['/eur', 'POST'],
])(
  'what was taken at the lower price buys nothing at the higher one: %s by %s',
  async (path, method) => {
    const [small, big] = [asking(method, 'small'), asking(method, 'big')]
    const payment = await sign(path, small)
    const before = await earned()
    expect(await (await shop.pay(path, payment, big)).text()).not.toBe('big')
    expect(await earned()).toBe(before)

    await askNode(devnet, 'evm_setAutomine', false)
    expect(settlementOf(await shop.pay(path, payment, small))).toMatchObject({
      errorReason: 'settlement_pending',
    })
    await askNode(devnet, 'evm_setAutomine', true)
    await devnet.mine()
    const refused = await shop.pay(path, payment, big)
    expect(refused.status).toBe(402)
    const sold = await shop.pay(path, payment, small)
    expect([sold.status, await sold.text()]).toEqual([200, 'small'])
  },
)
