/** Official clients and servers of x402 version 1, unmodified, beside those of version 2. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { HTTPFacilitatorClient } from '@x402/core/server'
import axios from 'axios'
import express, { type Express } from 'express'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { decodeXPaymentResponse as decodeForAxios, withPaymentInterceptor } from 'x402-axios'
import { paymentMiddleware } from 'x402-express'
import { decodeXPaymentResponse, wrapFetchWithPayment } from 'x402-fetch'
import { payingFetch } from '../../example-app/buy.js'
import { createGateway, type Gateway } from '../../src/gateway/gateway.js'
import type { Hex } from '../../src/shared/protocol/payment.js'
import { balanceOf, SHOP_TOKEN, shopOptions, useDevnet } from '../support/devnet.js'
import { listen } from '../support/http.js'
import { settlementOf, useShop } from '../support/shop.js'
import { useCleanup, closedBy } from '../support/cleanup.js'

const HASH = /^0x[0-9a-f]{64}$/
const devnet = useDevnet()
const income = () => balanceOf(devnet, devnet.merchant.address)

const handler: express.RequestHandler = (req, res) => void res.json({ paidBy: req.x402?.payer })
const shop = useShop(devnet, (app, gateway) => {
  app.get('/both', gateway.x402Protect('$0.01', { v1: true }), handler)
  app.get('/upfront', gateway.x402Protect('$0.01', { v1: true, paymentFlow: 'upfront' }), handler)
  const perWord = (req: express.Request) => `$${Number(req.query['words']) / 1000}`
  app.get('/words', gateway.x402Protect(perWord, { v1: true }), handler)
  app.get('/new', gateway.x402Protect('$0.01'), handler)
})

/** What a client of version 1 was given. */
interface Bought {
  readonly status: number
  readonly body: unknown
  readonly settlement: unknown
}

async function buyByFetch(url: string, privateKey: Hex): Promise<Bought> {
  const response = await wrapFetchWithPayment(fetch, privateKeyToAccount(privateKey))(url)
  const header = response.headers.get('X-PAYMENT-RESPONSE')
  return {
    status: response.status,
    body: await response.json(),
    settlement: header === null ? undefined : decodeXPaymentResponse(header),
  }
}

async function buyByAxios(url: string, privateKey: Hex): Promise<Bought> {
  const client = withPaymentInterceptor(axios.create(), privateKeyToAccount(privateKey))
  const { status, data, headers } = await client.get(url)
  return { status, body: data, settlement: decodeForAxios(headers['x-payment-response']) }
}

describe.each([
  ['x402-fetch 1.2', buyByFetch],
  ['x402-axios 0.7', buyByAxios],
])('%s', (_name, buy) => {
  it.each(['/both', '/upfront', '/words?words=10'])('buys at %s, and pays once', async (path) => {
    const payer = devnet.payers[0]!
    const before = await income()
    const bought = await buy(shop.url + path, payer.privateKey)
    expect(bought).toEqual({
      status: 200,
      body: { paidBy: payer.address },
      settlement: {
        success: true,
        transaction: expect.stringMatching(HASH),
        network: 'base-sepolia',
        payer: payer.address,
      },
    })
    expect((await income()) - before).toBe(10_000n)
  })

  it('signs nothing at a route of version 2 alone', async () => {
    const before = await income()
    // Both crash on what they read, each in its own words.
    const bought = buy(`${shop.url}/new`, devnet.payers[0]!.privateKey)
    await expect(bought.catch((error: unknown) => error)).resolves.toBeInstanceOf(Error)
    expect(await income()).toBe(before)
  })
})

it('x402-fetch is told why a payment without funds is refused', async () => {
  const { status, body } = await buyByFetch(`${shop.url}/both`, generatePrivateKey())
  expect({ status, body }).toMatchObject({
    status: 402,
    body: { x402Version: 1, error: 'insufficient_funds' },
  })
})

it('@x402/fetch buys on the same route, in version 2', async () => {
  for (const path of ['/both', '/new']) {
    const before = await income()
    const response = await payingFetch(devnet.payers[1]!.privateKey)(shop.url + path)
    expect(response.status).toBe(200)
    expect(settlementOf(response)).toMatchObject({ success: true, network: 'eip155:84532' })
    expect((await income()) - before).toBe(10_000n)
  }
})

describe('x402-express 1.2, whose facilitator is our gateway', () => {
  const closers = useCleanup(afterAll)
  const open = async (app: Express): Promise<string> => {
    const server = closedBy(closers, await listen(app))
    return server.url
  }
  const openFacilitator = async (v1: boolean): Promise<`http://${string}`> => {
    const gateway: Gateway = closedBy(closers, createGateway(shopOptions(devnet, { v1 })))
    const url = await open(express().use(gateway.gatewayRouter()))
    return `${url}/api/v2/payment` as `http://${string}`
  }
  const headers = { 'X-Project-Identify-Token': SHOP_TOKEN }
  let runs = 0
  const openServer = async (url: `http://${string}`): Promise<string> => {
    const facilitator = {
      url,
      createAuthHeaders: async () => ({ verify: headers, settle: headers, supported: headers }),
    }
    const routes = { 'GET /paid': { price: '$0.01', network: 'base-sepolia' } } as const
    const app = express()
    // It was written for Express 4.
    app.use(paymentMiddleware(devnet.merchant.address, routes, facilitator) as express.Handler)
    app.get('/paid', (_req, res) => {
      runs++
      res.json('sold')
    })
    return `${await open(app)}/paid`
  }

  let facilitatorUrl: `http://${string}`
  let url: string
  beforeAll(async () => {
    facilitatorUrl = await openFacilitator(true)
    url = await openServer(facilitatorUrl)
  })

  it('sells to x402-fetch, and the money moves', async () => {
    const payer = devnet.payers[2]!
    const before = await income()
    expect(await buyByFetch(url, payer.privateKey)).toEqual({
      status: 200,
      body: 'sold',
      settlement: {
        success: true,
        transaction: expect.stringMatching(HASH),
        network: 'base-sepolia',
        payer: payer.address,
      },
    })
    expect((await income()) - before).toBe(10_000n)
  })

  it('runs nothing for a payer without funds, and names the reason', async () => {
    const before = { runs, income: await income() }
    const { status, body } = await buyByFetch(url, generatePrivateKey())
    expect({ status, body }).toMatchObject({ status: 402, body: { error: 'insufficient_funds' } })
    expect({ runs, income: await income() }).toEqual(before)
  })

  it('names the version where the merchant does not take it', async () => {
    const closed = await openServer(await openFacilitator(false))
    const before = { runs, income: await income() }
    const { status, body } = await buyByFetch(closed, devnet.payers[3]!.privateKey)
    expect({ status, body }).toMatchObject({ status: 402, body: { error: 'invalid_x402_version' } })
    expect({ runs, income: await income() }).toEqual(before)
  })

  it('finds its kind beside that of version 2, whose servers go on reading theirs', async () => {
    const createAuthHeaders = async () => ({ verify: headers, settle: headers, supported: headers })
    const client = new HTTPFacilitatorClient({ url: facilitatorUrl, createAuthHeaders })
    const { kinds } = await client.getSupported()
    expect(kinds).toEqual([
      { x402Version: 2, scheme: 'exact', network: 'eip155:84532' },
      expect.objectContaining({ x402Version: 2, scheme: 'upto', network: 'eip155:84532' }),
      { x402Version: 1, scheme: 'exact', network: 'base-sepolia' },
    ])
  })
})
