import { join } from 'node:path'
import { beforeEach, describe, expect, it } from '@jest/globals'
import {
  createSIWxClientHook,
  formatSIWEMessage,
  wrapFetchWithSIWx,
} from '@x402/extensions/sign-in-with-x'
import { ExactEvmScheme } from '@x402/evm'
import { wrapFetchWithPayment, x402Client, x402HTTPClient } from '@x402/fetch'
import type { RequestHandler } from 'express'
import { privateKeyToAccount } from 'viem/accounts'
import { createMemoryLedger } from '../../../src/ledger/memory-ledger.js'
import { openSqliteLedger } from '../../../src/ledger/sqlite-ledger.js'
import { paidRequest } from '../../../src/sell/flow/paid-request.js'
import { signInMessage } from '../../../src/shared/protocol/sign-in.js'
import { issuesOf } from '../../support/issues.js'
import { temporaryFolder, useCleanup } from '../../support/cleanup.js'
import { balanceOf, SHOP_TOKEN, useDevnet } from '../../support/devnet.js'
import { newPayer } from '../../support/on-chain.js'
import { refund } from '../../support/refund.js'
import { openShop, paymentRequiredOf, settlementOf } from '../../support/shop.js'
import type { TestPayer } from '../../support/sign-payment.js'
import { useOpened } from '../../support/use-opened.js'
import {
  ask,
  CHAIN,
  challengeOf,
  comeBack,
  errorOf,
  openSite,
  pay,
  signIn,
  signInHeader,
} from './site.js'

const HOUR = 3_600_000
const devnet = useDevnet()
let ahead = 0
const now = () => Date.now() + ahead
const gold = new Set<string>()
let runs = 0

const sell: RequestHandler = (req, res) => {
  runs += 1
  const { x402 } = req
  res.set('Cache-Control', 'public, max-age=60')
  res.json({ paidBy: x402?.payer, by: x402?.signedIn, header: req.get('payment-signature') })
}

const site = useOpened(() =>
  openSite(
    devnet,
    (app, { x402Protect, gatewayRouter }) => {
      app.get('/news', x402Protect('$0.01', { access: '24h' }), sell)
      app.get('/article/:id', x402Protect('$0.01', { access: '24h' }), sell)
      app.get('/a', x402Protect('$0.01', { access: '24h', accessGroup: 'both' }), sell)
      app.get('/b', x402Protect('$0.02', { access: '1h', accessGroup: 'both' }), sell)
      app.get('/broken', x402Protect('$0.01', { access: '24h' }), (_req, res) => {
        res.status(500).send('not today')
      })
      app.get('/stream', x402Protect('$0.01', { access: '24h', paymentFlow: 'upfront' }), sell)
      app.get(
        '/pages',
        x402Protect((req) => `$0.0${req.query['pages'] as string}`, { access: '24h' }),
        sell,
      )
      app.get(
        '/tiers',
        x402Protect(
          ({ x402 }) => {
            const address = x402?.signedIn?.address ?? ''
            if (gold.has(address)) return '$0.01'
            return address.startsWith('0x') ? 0 : '$0.03'
          },
          { signIn: true },
        ),
        sell,
      )
      app.get('/members', x402Protect(0, { signIn: true }), sell)
      app.get('/plain', x402Protect('$0.01'), sell)
      app.get('/owner', x402Protect(0, { signIn: true }), (req, res) => {
        res.json(paidRequest(req))
      })
      app.use(gatewayRouter())
    },
    [{ now, ledger: createMemoryLedger({ now }) }],
  ),
)

let payer: TestPayer
beforeEach(async () => {
  ahead = 0
  payer = await newPayer(devnet)
})
const earned = () => balanceOf(devnet, devnet.merchant.address)
const at = (path: string): string => site.url + path

describe('what is signed', () => {
  const info = {
    ...{ domain: 'a.example:1', uri: 'https://a.example:1/x?y=1', version: '1' as const },
    ...{ nonce: '0123456789abcdef', issuedAt: '2026-11-30T09:31:13.673Z' },
    ...{ chainId: CHAIN, type: 'eip191' as const },
  }
  const address = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'

  it.each([
    {},
    { resources: ['https://a.example:1/x'] },
    { resources: [] },
    { statement: 'Hello', requestId: 'r1' },
    { expirationTime: info.issuedAt, notBefore: info.issuedAt },
  ])('is the text that the official package writes: %j', (more) => {
    const signed = { ...info, ...more }
    expect(signInMessage({ ...signed, address })).toBe(formatSIWEMessage(signed, address))
  })
})

describe('the 402 of a route with access', () => {
  it('asks to sign for its very URL, in the official form, with a nonce of its own', async () => {
    const url = at('/news?page=2')
    const first = challengeOf(await ask(url))
    expect(first).toEqual({
      info: {
        domain: new URL(site.url).host,
        uri: url,
        version: '1',
        nonce: expect.stringMatching(/^[0-9a-f]{32}$/),
        issuedAt: expect.stringMatching(/Z$/),
        resources: [url],
      },
      supportedChains: [{ chainId: CHAIN, type: 'eip191' }],
      schema: expect.objectContaining({ type: 'object' }),
    })
    expect(challengeOf(await ask(url)).info.nonce).not.toBe(first.info.nonce)
  })

  it('asks nothing on a route without access and signIn', async () => {
    expect(challengeOf(await ask(at('/plain')))).toBeUndefined()
  })
})

describe('access for a time', () => {
  it('lets who has paid come back without paying, and says who it is', async () => {
    expect((await pay(at('/news'), payer)).status).toBe(200)
    const before = await earned()
    const response = await comeBack(at('/news?page=2'), payer)
    expect([response.status, await response.json()]).toEqual([
      200,
      { by: { address: payer.address, chainId: CHAIN, isContract: false } },
    ])
    expect(response.headers.get('payment-response')).toBeNull()
    expect(response.headers.get('cache-control')).toBe('private, max-age=60')
    expect(await earned()).toBe(before)
  })

  it('is not for who has not paid, who gets the 402', async () => {
    await pay(at('/news'), payer)
    const runsBefore = runs
    const response = await comeBack(at('/news'), await newPayer(devnet))
    expect(errorOf(response)).toBe('Payment required')
    expect(runs).toBe(runsBefore)
  })

  it('is for the path that was paid for', async () => {
    await pay(at('/article/1'), payer)
    expect((await comeBack(at('/article/1'), payer)).status).toBe(200)
    expect((await comeBack(at('/article/2'), payer)).status).toBe(402)
    expect((await comeBack(at('/news'), payer)).status).toBe(402)
  })

  it('is for all routes of its group', async () => {
    await pay(at('/a'), payer)
    expect((await comeBack(at('/b'), payer)).status).toBe(200)
  })

  it('is for the time that was bought, whatever the route says', async () => {
    await pay(at('/b'), payer)
    ahead = HOUR - 60_000
    expect((await comeBack(at('/a'), payer)).status).toBe(200)
    ahead = HOUR + 60_000
    expect((await comeBack(at('/a'), payer)).status).toBe(402)
  })

  it('is for what costs the same, where the price is a function', async () => {
    await pay(at('/pages?pages=1'), payer)
    expect((await comeBack(at('/pages?pages=1&again'), payer)).status).toBe(200)
    expect((await comeBack(at('/pages?pages=2'), payer)).status).toBe(402)
  })

  it('is not bought by an answer that was not charged for', async () => {
    expect((await pay(at('/broken'), payer)).status).toBe(500)
    expect((await comeBack(at('/broken'), payer)).status).toBe(402)
  })

  it('is bought in the upfront flow', async () => {
    expect((await pay(at('/stream'), payer)).status).toBe(200)
    expect((await comeBack(at('/stream'), payer)).status).toBe(200)
  })

  it('charges nothing where a payment comes along, and does not show it', async () => {
    await pay(at('/news'), payer)
    const before = await earned()
    const headers = signInHeader(await signIn(at('/news'), payer))
    const response = await pay(at('/news'), payer, headers)
    expect(await response.json()).toEqual({ by: expect.objectContaining({}) })
    expect(response.headers.get('payment-response')).toBeNull()
    expect(await earned()).toBe(before)
  })

  it('ends with a refund', async () => {
    const bought = await pay(at('/news'), payer)
    const { transaction } = settlementOf(bought)
    const asShop = { 'X-Project-Identify-Token': SHOP_TOKEN, 'Content-Type': 'application/json' }
    const list = await ask(at(`/api/v2/merchant/settlements?transaction=${transaction}`), asShop)
    const { settlements } = (await list.json()) as { settlements: { id: string }[] }
    expect((await comeBack(at('/news'), payer)).status).toBe(200)
    await refund(
      async (method, path, body) => {
        const answer = await ask(at(path), asShop, {
          method,
          ...(body && { body: JSON.stringify(body) }),
        })
        expect(answer.status).toBeLessThan(300)
        return answer.json()
      },
      {
        path: `/api/v2/merchant/settlements/${settlements[0]!.id}/refunds`,
        privateKey: devnet.merchant.privateKey,
        amount: 1n,
      },
    )
    expect((await comeBack(at('/news'), payer)).status).toBe(402)
  })
})

describe('access, with several gateways on one ledger', () => {
  const toEnd = useCleanup()

  it('is at each of them, and each sign-in is good at one', async () => {
    const file = join(temporaryFolder(toEnd), 'ledger.db')
    const options = [1, 2].map(() => ({ ledger: openSqliteLedger(file) }))
    const shared = await openSite(
      devnet,
      (app, { x402Protect }) => app.get('/', x402Protect('$0.01', { access: '24h' }), sell),
      options,
    )
    try {
      await pay(shared.url, payer)
      const signed = signInHeader(await signIn(`${shared.url}/`, payer))
      shared.turn = 1
      expect((await ask(shared.url, signed)).status).toBe(200)
      shared.turn = 0
      expect(errorOf(await ask(shared.url, signed))).toBe('invalid_siwx_nonce')
    } finally {
      await shared.close()
    }
  })
})

describe('signIn', () => {
  it('tells the price function who asks, before anything is paid', async () => {
    gold.add(payer.address)
    expect(paymentRequiredOf(await ask(at('/tiers'))).accepts[0]!.amount).toBe('30000')
    const offered = await comeBack(at('/tiers'), payer)
    expect(paymentRequiredOf(offered).accepts[0]!.amount).toBe('10000')
    const headers = signInHeader(await signIn(at('/tiers'), payer))
    const bought = await pay(at('/tiers'), payer, headers, paymentRequiredOf(offered))
    expect(await bought.json()).toMatchObject({
      paidBy: payer.address,
      by: { address: payer.address },
    })
  })

  it('lets in for nothing whom the price function asks nothing of', async () => {
    expect(await (await comeBack(at('/tiers'), payer)).json()).toEqual({
      by: expect.objectContaining({ address: payer.address }),
    })
  })

  it('at a price of zero lets in who signs in, and nobody else', async () => {
    const unknown = await ask(at('/members'))
    expect(errorOf(unknown)).toBe('Sign-in required')
    expect(paymentRequiredOf(unknown).accepts).toEqual([])
    expect((await comeBack(at('/members'), payer)).status).toBe(200)
  })

  it('is JSON for a browser at a price of zero', async () => {
    const response = await ask(at('/members'), { Accept: 'text/html' })
    expect(response.headers.get('content-type')).toContain('json')
  })

  it('is no payment', async () => {
    expect((await comeBack(at('/owner'), payer)).status).toBe(500)
  })
})

describe('the unmodified official client', () => {
  it('pays once and comes back by its hook', async () => {
    const signer = privateKeyToAccount(payer.privateKey)
    const client = new x402Client().register(CHAIN, new ExactEvmScheme(signer))
    const http = new x402HTTPClient(client).onPaymentRequired(createSIWxClientHook(signer))
    const buy = wrapFetchWithPayment(fetch, http)
    const before = await earned()
    expect(await (await buy(at('/news'))).json()).toEqual({ paidBy: payer.address })
    const again = await (await buy(at('/news'))).json()
    expect(again).toEqual({ by: expect.objectContaining({ address: payer.address }) })
    expect(await earned()).toBe(before + 10_000n)
    expect((await buy(at('/members'))).status).toBe(200)
  })

  it('comes back by its fetch', async () => {
    await pay(at('/news'), payer)
    const signedFetch = wrapFetchWithSIWx(fetch, privateKeyToAccount(payer.privateKey))
    expect((await signedFetch(at('/news'))).status).toBe(200)
  })
})

describe('the options', () => {
  it.each([
    [{ access: '1 day' }, '$0.01', ['access']],
    [{ access: '0h' }, '$0.01', ['access']],
    [{ accessGroup: 'both' }, '$0.01', ['accessGroup']],
    [{ access: '24h' }, { upTo: '$0.01' }, ['access']],
    [{}, 0, ['price']],
  ] as const)('%j of %j are refused', (options, price, names) => {
    const declare = () => site.gateways[0]!.x402Protect(price, options)
    expect(issuesOf(declare).map(({ option }) => option)).toEqual(names)
  })

  it('need a publicUrl, except on localhost', async () => {
    const shop = await openShop(devnet, (app, { x402Protect }) => {
      app.get('/', x402Protect('$0.01', { access: '24h' }), sell)
    })
    try {
      expect(challengeOf(await shop.ask('/')).info.uri).toBe(`${shop.url}/`)
      const { port } = new URL(shop.url)
      const { request } = await import('node:http')
      const status = await new Promise((resolve, reject) => {
        const headers = { Host: 'shop.example' }
        request({ port, host: '127.0.0.1', headers }, (res) => resolve(res.resume().statusCode))
          .on('error', reject)
          .end()
      })
      expect(status).toBe(500)
    } finally {
      await shop.close()
    }
  })
})
