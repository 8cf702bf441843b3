import { describe, expect, it } from '@jest/globals'
import type { Express, RequestHandler } from 'express'
import { createGateway } from '../../../src/gateway/gateway.js'
import type { ProtectOptions } from '../../../src/sell/route/options.js'
import type { RateSource } from '../../../src/shared/money/rates.js'
import { closedBy, useCleanup } from '../../support/cleanup.js'
import { balanceOf, SHOP_TOKEN, shopOptions, useDevnet } from '../../support/devnet.js'
import { issuesOf } from '../../support/issues.js'
import {
  challengesOf,
  credentialText,
  receiptOf,
  requestOf,
  signCredential,
} from '../../support/mpp.js'
import { paymentRequiredOf, settlementOf, useShop } from '../../support/shop.js'
import { asVersion1, xPayment } from '../../support/version-1.js'
import { signPayment } from '../../support/sign-payment.js'

const devnet = useDevnet()
const toEnd = useCleanup()
const income = () => balanceOf(devnet, devnet.merchant.address)

let cents = 1
/** What a euro costs in hundredths of a dollar. */
let euro = 110n
const rates: RateSource = {
  getRate: async () => ({ rate: { units: euro, scale: 2 }, asOf: 1_790_000_000, source: 'a test' }),
}
const protocols = ['x402', 'mpp'] as const
let served: Express
const answer =
  (status: number): RequestHandler =>
  (_req, res) =>
    void res.status(status).json({ status })
const shop = useShop(
  devnet,
  (app, { x402Protect }) => {
    served = app
    const sell = (
      options: ProtectOptions = {},
      price: Parameters<typeof x402Protect>[0] = '$0.01',
    ) => x402Protect(price, { protocols, ...options })
    const asksToo: RequestHandler = (_req, res, next) => {
      res.setHeader('WWW-Authenticate', 'Bearer realm="app"')
      next()
    }
    app.get('/both', sell(), answer(200))
    app.get('/keyed', asksToo, sell(), answer(200))
    app.get('/old', sell({ v1: true }), answer(200))
    app.get(
      '/quoted',
      sell({ quoteFor: () => '' }, () => `$0.0${cents}`),
      answer(200),
    )
    app.get('/rated', sell({}, '€0.01'), answer(200))
    app.get('/page', sell({ paywall: {} }), answer(200))
    app.get('/status/302', sell(), answer(302))
    app.get('/status/500', sell(), answer(500))
    app.get('/x402', x402Protect('$0.01'), answer(200))
  },
  () => ({
    publicUrl: 'https://shop.example/api',
    rates,
    projects: [
      {
        id: 'shop',
        tokens: [SHOP_TOKEN],
        merchant: { payTo: devnet.merchant.address, crossCurrency: true },
      },
    ],
  }),
)

const ask = async (path: string) => challengesOf(await shop.ask(path))
const buy = async (path: string) => {
  const [challenge] = await ask(path)
  return present(path, await signCredential(devnet.payers[0]!, challenge!))
}
const present = (path: string, credential: object) =>
  shop.ask(path, { redirect: 'manual', headers: { authorization: credentialText(credential) } })

describe('the 402 of a route with MPP', () => {
  it('has a challenge of its own, beside the offer of x402', async () => {
    const response = await shop.ask('/both')
    const [challenge, ...others] = challengesOf(response)
    expect(others).toEqual([])
    const [entry] = paymentRequiredOf(response).accepts
    expect(challenge).toMatchObject({ realm: 'shop.example', method: 'evm', intent: 'charge' })
    expect(requestOf(challenge!)).toEqual({
      amount: '10000',
      currency: entry?.asset,
      recipient: devnet.merchant.address,
      methodDetails: { chainId: 84532, credentialTypes: ['authorization'] },
    })
    const body = await response.json()
    expect(body).toEqual({
      type: 'https://paymentauth.org/problems/payment-required',
      title: 'Payment Required',
      status: 402,
      detail: 'Payment required',
      ...paymentRequiredOf(response),
    })
    expect(response.headers.get('cache-control')).toBe('no-store')
    expect(response.headers.get('access-control-expose-headers')).toContain('WWW-Authenticate')
    expect((await ask('/both'))[0]?.id).not.toBe(challenge?.id)
  })

  it('has the members of MPP in no 400 to an unreadable payment of x402', async () => {
    const response = await shop.ask('/both', { headers: { 'PAYMENT-SIGNATURE': '!' } })
    expect([response.status, challengesOf(response).length]).toEqual([400, 1])
    expect(await response.json()).toEqual(paymentRequiredOf(response))
  })

  it('leaves the app what it asks for itself', async () => {
    const response = await shop.ask('/keyed')
    expect(response.headers.get('www-authenticate')).toMatch(/^Bearer realm="app", Payment id=/)
  })

  it('has its challenge on the page for browsers, too', async () => {
    const response = await shop.ask('/page', { headers: { accept: 'text/html' } })
    expect(challengesOf(response)).toHaveLength(1)
  })

  it('is of version 1 in its body where that is open, and is paid so', async () => {
    const response = await shop.ask('/old')
    expect(challengesOf(response)).toHaveLength(1)
    expect(await response.json()).toMatchObject({ x402Version: 1, status: 402 })
    const payment = await signPayment(devnet.payers[0]!, paymentRequiredOf(response).accepts[0]!)
    const bought = await shop.ask('/old', { headers: xPayment(asVersion1(payment)) })
    expect(bought.status).toBe(200)
    expect((await buy('/old')).status).toBe(200)
  })

  it('has neither at a route without', async () => {
    const response = await shop.ask('/x402')
    expect(response.headers.get('www-authenticate')).toBeNull()
    expect(await response.json()).toEqual(paymentRequiredOf(response))
  })
})

describe('a credential', () => {
  it('buys at the price that was quoted, when that is another one by now', async () => {
    for (const [path, change] of [
      ['/quoted', () => (cents = 2)],
      ['/rated', () => (euro = 120n)],
    ] as const) {
      const [challenge] = await ask(path)
      change()
      const before = await income()
      const credential = await signCredential(devnet.payers[1]!, challenge!)
      expect((await present(path, credential)).status).toBe(200)
      expect((await income()) - before).toBe(BigInt(requestOf(challenge!).amount))
      const [next] = await ask(path)
      expect(requestOf(next!).amount).not.toBe(requestOf(challenge!).amount)
    }
  })

  it('has a receipt of MPP with a success alone, and one of x402 whenever it was charged', async () => {
    const answers = [await buy('/both'), await buy('/status/302'), await buy('/status/500')]
    const seen = answers.map((response) => [
      response.status,
      receiptOf(response) !== undefined,
      response.headers.has('payment-response') && settlementOf(response).success,
    ])
    expect(seen).toEqual([
      [200, true, true],
      [302, false, true],
      [500, false, false],
    ])
  })
})

describe('the option protocols', () => {
  const declare = (
    options: object,
    price: Parameters<typeof shop.gateway.x402Protect>[0] = '$0.01',
  ) => {
    const gateway = closedBy(toEnd, createGateway(shopOptions(devnet)))
    return issuesOf(() => gateway.x402Protect(price, options))
  }

  it.each([
    [{ protocols: ['x402', 'mmp'] }, 'protocols.1', 'invalid_value'],
    [{ protocols: ['mpp'] }, 'protocols', 'invalid_type'],
    [{ protocols: 'mpp' }, 'protocols', 'invalid_type'],
    [{ protocol: ['x402', 'mpp'] }, 'protocol', 'unknown_option'],
  ])('refuses %j', (options, option, code) => {
    expect(declare(options)).toMatchObject([{ option, code }])
  })

  it('refuses MPP beside a maximum', () => {
    expect(declare({ protocols }, { upTo: '$0.10' })).toMatchObject([
      { option: 'protocols', code: 'conflicting_options' },
    ])
  })

  it('is in the OpenAPI document, at its routes alone', async () => {
    const { paths } = (await shop.gateway.openapi(served)) as unknown as {
      paths: Record<string, { get: { 'x-payment-info': { protocols: object[] } } }>
    }
    const protocolsOf = (path: string) => paths[path]?.get['x-payment-info'].protocols
    expect(protocolsOf('/x402')).toEqual([{ x402: {} }])
    const currency = paymentRequiredOf(await shop.ask('/both')).accepts[0]?.asset
    expect(protocolsOf('/both')).toEqual([
      { x402: {} },
      { mpp: { method: 'evm', intent: 'charge', currency } },
    ])
  })
})
