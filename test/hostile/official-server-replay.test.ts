/** Rule 5: a payment that is settled again is refused, also with its identifier. */
import { afterAll, describe, expect, it } from '@jest/globals'
import { HTTPFacilitatorClient } from '@x402/core/server'
import { ExactEvmScheme } from '@x402/evm/exact/server'
import { paymentMiddleware, x402ResourceServer } from '@x402/express'
import express from 'express'
import { createGateway } from '../../src/gateway/gateway.js'
import { balanceOf, SHOP_TOKEN, shopOptions, useDevnet } from '../support/devnet.js'
import { listen, paymentHeader } from '../support/http.js'
import { paymentRequiredOf } from '../support/shop.js'
import { signPayment } from '../support/sign-payment.js'
import { useCleanup } from '../support/cleanup.js'

const devnet = useDevnet()
const toEnd = useCleanup(afterAll)

/** An official server with three routes of one price, which keeps no book; all defaults. */
async function openOfficial() {
  const gateway = createGateway(shopOptions(devnet))
  const elsewhere = await listen(express().use(gateway.gatewayRouter()))
  const headers = { 'X-Project-Identify-Token': SHOP_TOKEN }
  const facilitator = new HTTPFacilitatorClient({
    url: `${elsewhere.url}/api/v2/payment`,
    createAuthHeaders: async () => ({ verify: headers, settle: headers, supported: headers }),
  })
  const network = 'eip155:84532'
  const server = new x402ResourceServer(facilitator).register(network, new ExactEvmScheme())
  const payTo = devnet.merchant.address
  const accepts = { scheme: 'exact', network, price: '$0.03', payTo } as const
  const runs = { count: 0 }
  const app = express()
  app.use(paymentMiddleware({ 'GET /a': { accepts }, 'GET /b': { accepts } }, server))
  app.get(['/a', '/b'], (_req, res) => {
    runs.count += 1
    res.send('sold')
  })
  const shop = await listen(app)
  toEnd.push(
    () => gateway.close(),
    () => elsewhere.close(),
    () => shop.close(),
  )
  return { url: shop.url, runs }
}

describe('one payment with an identifier at an official server whose facilitator we are', () => {
  it('runs its handler once, however often and wherever it is presented', async () => {
    const { url, runs } = await openOfficial()
    const [offer] = paymentRequiredOf(await fetch(`${url}/a`)).accepts
    const before = await balanceOf(devnet, devnet.merchant.address)
    const info = { required: false, id: 'an_identifier_of_the_buyer' }
    const payment = {
      ...(await signPayment(devnet.payers[0]!, offer!)),
      extensions: { 'payment-identifier': { info } },
    }
    const statuses: number[] = []
    for (let times = 0; times < 4; times++)
      for (const path of ['/a', '/b'])
        statuses.push((await fetch(url + path, { headers: paymentHeader(payment) })).status)
    expect(statuses).toEqual([200, ...Array<number>(7).fill(402)])
    expect(runs.count).toBe(1)
    expect((await balanceOf(devnet, devnet.merchant.address)) - before).toBe(30_000n)
  })
})
