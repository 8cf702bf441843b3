import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { HTTPFacilitatorClient } from '@x402/core/server'
import { ExactEvmScheme } from '@x402/evm/exact/server'
import { paymentMiddleware, x402ResourceServer } from '@x402/express'
import express, { type Express } from 'express'
import { generatePrivateKey } from 'viem/accounts'
import { payingFetch } from '../../example-app/buy.js'
import { httpFacilitator } from '../../src/core/facilitator/http/http-facilitator.js'
import { createGateway, type Gateway } from '../../src/gateway/gateway.js'
import type { Hex, PaymentRequirements } from '../../src/shared/protocol/payment.js'
import { balanceOf, SHOP_TOKEN, shopOptions, useDevnet } from '../support/devnet.js'
import { listen, paymentHeader, type TestServer } from '../support/http.js'
import { paymentRequiredOf, settlementOf } from '../support/shop.js'
import { signPayment } from '../support/sign-payment.js'

const devnet = useDevnet()
const merchantBalance = () => balanceOf(devnet, devnet.merchant.address)
const buy = (url: string, privateKey: Hex) => payingFetch(privateKey)(url)

const opened: { close(): Promise<void> }[] = []
const open = async (app: Express): Promise<TestServer> => {
  const server = await listen(app)
  opened.unshift(server)
  return server
}

/** Base URL of the facilitator that all shops of this file share. */
let facilitatorUrl: string
beforeAll(async () => {
  const gateway = createGateway(shopOptions(devnet))
  opened.push(gateway)
  const app = express().use('/pay', gateway.gatewayRouter())
  facilitatorUrl = `${(await open(app)).url}/pay/api/v2/payment`
})
afterAll(async () => {
  for (const { close } of opened) await close()
})

describe('an official resource server whose facilitator is our gateway', () => {
  let url: string
  let runs = 0
  beforeAll(async () => {
    const headers = { 'X-Project-Identify-Token': SHOP_TOKEN }
    const facilitator = new HTTPFacilitatorClient({
      url: facilitatorUrl,
      createAuthHeaders: async () => ({ verify: headers, settle: headers, supported: headers }),
    })
    const server = new x402ResourceServer(facilitator).register(
      'eip155:84532',
      new ExactEvmScheme(),
    )
    const accepts = {
      scheme: 'exact',
      network: 'eip155:84532',
      price: '$0.03',
      payTo: devnet.merchant.address,
    } as const
    const app = express()
    app.use(paymentMiddleware({ 'GET /paid': { accepts } }, server))
    app.get('/paid', (_req, res) => {
      runs++
      res.send('sold')
    })
    url = `${(await open(app)).url}/paid`
  })

  it('sells to the official client, and the money moves', async () => {
    const payer = devnet.payers[0]!
    const before = await Promise.all([balanceOf(devnet, payer.address), merchantBalance()])
    const response = await buy(url, payer.privateKey)
    expect(response.status).toBe(200)
    expect(await response.text()).toBe('sold')
    expect(settlementOf(response)).toMatchObject({
      success: true,
      transaction: expect.stringMatching(/^0x[0-9a-f]{64}$/),
      network: 'eip155:84532',
      payer: payer.address,
    })
    const after = await Promise.all([balanceOf(devnet, payer.address), merchantBalance()])
    expect(before[0] - after[0]).toBe(30_000n)
    expect(after[1] - before[1]).toBe(30_000n)
  })

  it('answers 402 to a payer without funds, runs nothing and goes on selling', async () => {
    const before = { runs, balance: await merchantBalance() }
    const refused = await buy(url, generatePrivateKey())
    expect(refused.status).toBe(402)
    expect(paymentRequiredOf(refused).error).toBe('insufficient_funds')
    expect({ runs, balance: await merchantBalance() }).toEqual(before)
    expect((await buy(url, devnet.payers[1]!.privateKey)).status).toBe(200)
  })

  it('does not sell the same payment twice', async () => {
    const offer = paymentRequiredOf(await fetch(url)).accepts[0]!
    const payment = await signPayment(devnet.payers[2]!, offer)
    const pay = () => fetch(url, { headers: paymentHeader(payment) })
    expect((await pay()).status).toBe(200)
    const before = await merchantBalance()
    expect((await pay()).status).toBe(402)
    expect(await merchantBalance()).toBe(before)
  })
})

describe('our gateway, asked over HTTP', () => {
  it('repeats a lost answer to its own caller only', async () => {
    let isLost = true
    const gateway = createGateway(shopOptions(devnet))
    opened.push(gateway)
    const app = express()
    app.post('/settle', (_req, res, next) => {
      if (isLost) res.end = () => res.destroy()
      isLost = false
      next()
    })
    app.use((req, _res, next) => {
      req.url = `/api/v2/payment${req.url}`
      next()
    }, gateway.gatewayRouter())
    const { url } = await open(app)
    const offer: PaymentRequirements = {
      ...{ scheme: 'exact', network: 'eip155:84532', amount: '10000', asset: devnet.asset },
      ...{ payTo: devnet.merchant.address, maxTimeoutSeconds: 300 },
      extra: { name: 'USDC', version: '2' },
    }
    const payment = await signPayment(devnet.payers[6]!, offer)
    const before = await merchantBalance()
    const elsewhere = httpFacilitator({ url, token: SHOP_TOKEN })
    await expect(elsewhere.settle(payment, offer)).rejects.toMatchObject({
      code: 'facilitator_unreachable',
    })
    expect(await elsewhere.settle(payment, offer)).toMatchObject({ success: true })
    expect(await merchantBalance()).toBe(before + 10_000n)
    const another = httpFacilitator({ url, token: SHOP_TOKEN })
    expect(await another.settle(payment, offer)).toMatchObject({
      success: false,
      errorReason: 'invalid_exact_evm_nonce_already_used',
    })
  })
})

describe('our middleware with a remote gateway of ours as its facilitator', () => {
  /** Opens a shop without keys or node of its own. */
  async function openShop(token: string) {
    let runs = 0
    const gateway: Gateway = createGateway({
      networks: { 'base-sepolia': {} },
      projects: [{ id: 'branch', merchant: { payTo: devnet.merchant.address } }],
      facilitator: httpFacilitator({ url: facilitatorUrl, token }),
      logger: { debug() {}, info() {}, warn() {}, error() {} },
    })
    opened.push(gateway)
    const app = express()
    app.get('/paid', gateway.x402Protect('$0.02'), (req, res) => {
      runs++
      res.json({ paidBy: req.x402?.payer })
    })
    const { url } = await open(app)
    return { url: `${url}/paid`, runs: () => runs }
  }

  it('sells to the official client, and the money moves', async () => {
    const shop = await openShop(SHOP_TOKEN)
    const payer = devnet.payers[3]!
    const before = await Promise.all([balanceOf(devnet, payer.address), merchantBalance()])
    const response = await buy(shop.url, payer.privateKey)
    expect(response.status).toBe(200)
    expect(await response.json()).toEqual({ paidBy: payer.address })
    expect(settlementOf(response)).toMatchObject({ success: true, payer: payer.address })
    const after = await Promise.all([balanceOf(devnet, payer.address), merchantBalance()])
    expect(before[0] - after[0]).toBe(20_000n)
    expect(after[1] - before[1]).toBe(20_000n)
  })

  it('answers 402 to a payer without funds and runs nothing', async () => {
    const shop = await openShop(SHOP_TOKEN)
    const response = await buy(shop.url, generatePrivateKey())
    expect(response.status).toBe(402)
    expect(paymentRequiredOf(response).error).toBe('insufficient_funds')
    expect(shop.runs()).toBe(0)
  })

  it('answers 503 if the gateway does not know its token, and runs nothing', async () => {
    const shop = await openShop('x402_a-token-that-nobody-gave-out')
    const before = await merchantBalance()
    const response = await buy(shop.url, devnet.payers[4]!.privateKey)
    expect(response.status).toBe(503)
    expect(response.headers.get('retry-after')).not.toBeNull()
    expect(await response.json()).toMatchObject({ code: 'facilitator_refused' })
    expect(shop.runs()).toBe(0)
    expect(await merchantBalance()).toBe(before)
  })

  it('runs the handler once for twenty copies of a payment at once', async () => {
    const shop = await openShop(SHOP_TOKEN)
    const before = await merchantBalance()
    const offer = paymentRequiredOf(await fetch(shop.url)).accepts[0]!
    const payment = await signPayment(devnet.payers[5]!, offer)
    const copies = Array.from({ length: 20 }, () =>
      fetch(shop.url, { headers: paymentHeader(payment) }),
    )
    const statuses = (await Promise.all(copies)).map(({ status }) => status)
    expect(statuses.filter((status) => status === 200)).toHaveLength(1)
    // 503 is for a copy that came while the payment was sent: its client must not sign another.
    expect(statuses.filter((status) => status === 402 || status === 503)).toHaveLength(19)
    expect(shop.runs()).toBe(1)
    expect((await merchantBalance()) - before).toBe(20_000n)
  })
})
