import { afterEach, describe, expect, it } from '@jest/globals'
import express from 'express'
import { createGateway } from '../../src/gateway.js'
import { paymentHeader, listen } from '../support/http.js'
import { SHOP_TOKEN, shopOptions, useDevnet } from '../support/devnet.js'
import { signPayment } from '../support/sign-payment.js'

const devnet = useDevnet()
const cleanups: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const clean of cleanups.splice(0).toReversed()) await clean()
})

async function openShop() {
  const gateway = createGateway(shopOptions(devnet))
  const app = express()
  app.get('/paid', gateway.x402Protect('$0.01'), (_req, res) => void res.json({ sold: true }))
  app.get(
    '/member',
    gateway.x402Protect('$0.01', { skip: () => true }),
    (_req, res) => void res.json({ free: true }),
  )
  app.use(gateway.gatewayRouter())
  const server = await listen(app)
  cleanups.push(() => server.close())
  return { gateway, url: server.url }
}

describe('a gateway that is closed', () => {
  it('closes once, however often close is called', async () => {
    const { gateway } = await openShop()
    const closed = gateway.close()
    expect(gateway.close({ timeoutMs: 1 })).toBe(closed)
    await closed
  })

  it('refuses paid and API requests with 503 and Retry-After, and serves free ones', async () => {
    const { gateway, url } = await openShop()
    await gateway.close()
    const requirements = {
      scheme: 'exact',
      network: 'eip155:84532',
      amount: '10000',
      payTo: devnet.merchant.address,
      maxTimeoutSeconds: 300,
      asset: devnet.asset,
      extra: { name: 'USDC', version: '2' },
    }
    const payment = await signPayment(devnet.payers[0]!, requirements)
    const answers = await Promise.all([
      fetch(`${url}/paid`, { headers: paymentHeader(payment) }),
      fetch(`${url}/paid`),
      fetch(`${url}/api/v2/payment/supported`, {
        headers: { 'x-project-identify-token': SHOP_TOKEN },
      }),
    ])
    for (const answer of answers) {
      expect(answer.status).toBe(503)
      expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0)
      expect(answer.headers.get('connection')).toBe('close')
      expect(answer.headers.has('payment-response')).toBe(false)
      expect(await answer.json()).toMatchObject({ code: 'shutting_down' })
    }
    expect((await fetch(`${url}/member`)).status).toBe(200)
  })
})
