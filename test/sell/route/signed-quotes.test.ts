import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from '@jest/globals'
import express, { type Express } from 'express'
import { payingFetch } from '../../../example-app/buy.js'
import { RateError } from '../../../src/shared/errors.js'
import type { Gateway } from '../../../src/gateway/gateway.js'
import { sqliteLedger } from '../../../src/ledger/sqlite-ledger.js'
import type { RateSource } from '../../../src/shared/money/rates.js'
import type { GatewayOptions } from '../../../src/gateway/config/options.js'
import type { PaymentPayload, PaymentRequirements } from '../../../src/shared/protocol/payment.js'
import { balanceOf, SHOP_TOKEN, useDevnet } from '../../support/devnet.js'
import { openShop, paymentRequiredOf, settlementOf, type Shop } from '../../support/shop.js'
import { signPayment } from '../../support/sign-payment.js'
import { useOpened } from '../../support/use-opened.js'

const devnet = useDevnet()

/** What a euro costs in hundredths of a dollar; nothing while the source is away. */
const market: { cents: bigint | undefined; asOf: number } = { cents: 120n, asOf: 1_790_000_000 }
const clock = { ms: Date.now() }
const rates: RateSource = {
  async getRate(base, quote) {
    if (market.cents === undefined) throw new RateError('rate_unavailable', 'It is away.')
    if (base !== 'EUR' || quote !== 'USD') return undefined
    return { rate: { units: market.cents, scale: 2 }, asOf: market.asOf, source: 'the market' }
  },
}

function routes(app: Express, { x402Protect, gatewayRouter }: Gateway): void {
  const sell: express.RequestHandler = (req, res) => void res.json({ amount: req.x402?.amount })
  app.use(express.json())
  app.get('/fixed', x402Protect('$0.05'), sell)
  app.get('/in-euro', x402Protect('€0.05'), sell)
  app.get('/upfront', x402Protect('€0.05', { paymentFlow: 'upfront' }), sell)
  app.get(
    '/unsigned',
    x402Protect(() => '€0.05'),
    sell,
  )
  app.all(
    '/items/:id',
    x402Protect(() => `€0.0${functionPrice.cents}`, { quoteFor: () => '' }),
    sell,
  )
  app.get('/hidden', x402Protect('€0.05', { resourceUrl: () => 'https://shop.example/' }), sell)
  app.get(
    '/tiny',
    x402Protect(() => '$0.001', { quoteFor: () => '' }),
    sell,
  )
  app.use(gatewayRouter())
}
const functionPrice = { cents: 5 }

const optionsWith = (overrides: GatewayOptions = {}): GatewayOptions => ({
  projects: [
    {
      id: 'shop',
      tokens: [SHOP_TOKEN],
      merchant: { payTo: devnet.merchant.address, crossCurrency: true, minAmount: '0.01' },
    },
  ],
  rates,
  now: () => clock.ms,
  ...overrides,
})

const shop = useOpened(() => openShop(devnet, routes, optionsWith()))
afterEach(() => {
  market.cents = 120n
  functionPrice.cents = 5
  clock.ms = Date.now()
})

async function offerOf(path: string, init?: RequestInit, at: Shop = shop) {
  const document = paymentRequiredOf(await at.ask(path, init))
  const [entry] = document.accepts
  return { document, entry: entry as PaymentRequirements & { extra: { quote?: string } } }
}

/** Signs an offer, unless told otherwise without naming the resource, and with other members. */
async function sign(
  path: string,
  changes: Partial<PaymentRequirements> = {},
  init?: RequestInit,
): Promise<PaymentPayload> {
  const { entry } = await offerOf(path, init)
  return signPayment(devnet.payers[0]!, { ...entry, ...changes })
}

async function reasonOf(response: Response): Promise<string | undefined> {
  expect(response.status).toBe(402)
  return paymentRequiredOf(response).error
}

async function latestSettlement(at: Shop = shop) {
  const response = await fetch(`${at.url}/api/v2/merchant/settlements?limit=1`, {
    headers: { 'X-Project-Identify-Token': SHOP_TOKEN },
  })
  const { settlements } = (await response.json()) as { settlements: Record<string, unknown>[] }
  return settlements[0]
}

describe('a quote', () => {
  it.each([
    ['/in-euro', true],
    ['/items/1', true],
    ['/hidden', true],
    ['/fixed', false],
    ['/unsigned', false],
  ])('is signed if its route asks for it: %s, %p', async (path, isSigned) => {
    const { entry } = await offerOf(path)
    const quoted = expect.stringMatching(/^v1\.[\w-]+\.[\w-]{43}$/)
    expect(entry.extra.quote).toEqual(isSigned ? quoted : undefined)
  })

  it('is honoured after the rate has moved, and is kept with the payment', async () => {
    const payment = await sign('/in-euro')
    market.cents = 150n
    const response = await shop.pay('/in-euro', payment)
    expect(response.status).toBe(200)
    expect(await response.json()).toStrictEqual({ amount: '60000' })
    expect(await latestSettlement()).toMatchObject({
      status: 'settled',
      amount: '60000',
      quote: {
        price: '0.05',
        currency: 'EUR',
        rate: '1.20',
        source: 'the market',
        asOf: new Date(market.asOf * 1000).toISOString(),
      },
    })
  })

  it('is ignored if a client leaves it out', async () => {
    const payment = await sign('/in-euro', { extra: { name: 'USDC', version: '2' } })
    market.cents = 150n
    expect(await reasonOf(await shop.pay('/in-euro', payment))).toBe('invalid_payment_requirements')
    market.cents = 120n
    expect((await shop.pay('/in-euro', payment)).status).toBe(200)
    expect(await latestSettlement()).toMatchObject({ quote: { rate: '1.20' } })
  })

  it('is honoured after the price function has changed its answer', async () => {
    const payment = await sign('/items/1')
    functionPrice.cents = 9
    expect(await (await shop.pay('/items/1', payment)).json()).toStrictEqual({ amount: '60000' })
  })

  it('is honoured without a current rate, and a refused payment can be made again', async () => {
    const payment = await sign('/in-euro')
    const poor = await signPayment(
      { address: `0x${'12'.repeat(20)}`, privateKey: devnet.payers[0]!.privateKey },
      (await offerOf('/in-euro')).entry,
    )
    market.cents = undefined
    const refused = await shop.pay('/in-euro', poor)
    expect(await reasonOf(refused)).toMatch(/^invalid_exact_evm|^insufficient/)
    expect(paymentRequiredOf(refused).accepts).toMatchObject([{ amount: '60000' }])
    expect((await shop.ask('/in-euro')).status).toBe(503)
    expect((await shop.pay('/in-euro', { x402Version: 1 })).status).toBe(503)
    const stripped = { ...payment, accepted: { ...payment.accepted, extra: null } }
    expect((await shop.pay('/in-euro', stripped)).status).toBe(503)
    expect((await shop.pay('/in-euro', payment)).status).toBe(200)
  })

  it('is honoured in the upfront flow', async () => {
    const payment = await sign('/upfront')
    market.cents = 150n
    const response = await shop.pay('/upfront', payment)
    expect(response.status).toBe(200)
    expect(settlementOf(response)).toMatchObject({ success: true })
  })

  it.each<[string, Partial<PaymentRequirements>]>([
    ['a lower amount', { amount: '1' }],
    ['a text that is none', { extra: { name: 'USDC', version: '2', quote: 'v1.e30.abc' } }],
    ['no text', { extra: { name: 'USDC', version: '2', quote: '' } }],
    ['a long one', { extra: { name: 'USDC', version: '2', quote: `v1.${'e'.repeat(4000)}` } }],
  ])('is refused with %s', async (_name, changes) => {
    const payment = await sign('/in-euro', changes)
    expect(await reasonOf(await shop.pay('/in-euro', payment))).toBe('quote_mismatch')
  })

  it('is refused if a single character has changed', async () => {
    const { entry } = await offerOf('/in-euro')
    const { quote = '' } = entry.extra
    for (const at of [4, quote.length - 20]) {
      const other = quote[at] === 'A' ? 'B' : 'A'
      const tampered = quote.slice(0, at) + other + quote.slice(at + 1)
      const payment = await signPayment(devnet.payers[0]!, {
        ...entry,
        extra: { ...entry.extra, quote: tampered },
      })
      expect(await reasonOf(await shop.pay('/in-euro', payment))).toBe('quote_mismatch')
    }
  })

  it.each([
    ['another resource of the same price', '/items/1', '/items/2'],
    ['another route', '/items/1', '/in-euro'],
    ['another query', '/items/1', '/items/1?size=large'],
    ['a query that its URL hides', '/hidden?size=small', '/hidden?size=large'],
    ['a fixed price', '/items/1', '/fixed'],
  ])('is refused for %s', async (_name, bought, presented) => {
    const payment = await sign(bought)
    expect(await reasonOf(await shop.pay(presented, payment))).toBe('quote_mismatch')
    expect((await shop.pay(bought, payment)).status).toBe(200)
  })

  it('is refused for another method', async () => {
    const payment = await sign('/items/1')
    const answer = await shop.pay('/items/1', payment, { method: 'DELETE' })
    expect(await reasonOf(answer)).toBe('quote_mismatch')
  })

  it('is valid for both GET and HEAD', async () => {
    const payment = await sign('/items/1', {}, { method: 'HEAD' })
    expect((await shop.pay('/items/1', payment)).status).toBe(200)
  })

  it('is refused for another body', async () => {
    const post = (words: number): RequestInit => ({
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ words }),
    })
    const payment = await sign('/items/1', {}, post(10))
    const answer = await shop.pay('/items/1', payment, post(1000))
    expect(await reasonOf(answer)).toBe('quote_mismatch')
    expect((await shop.pay('/items/1', payment, post(10))).status).toBe(200)
  })

  it('expires with the payer’s time to sign, and a new one is offered', async () => {
    const payment = await sign('/in-euro')
    const { entry } = await offerOf('/in-euro')
    clock.ms = Date.now() + 302_000
    const refused = await shop.pay('/in-euro', payment)
    expect(await reasonOf(refused)).toBe('quote_expired')
    const [fresh] = paymentRequiredOf(refused).accepts
    expect(fresh).toMatchObject({ amount: '60000', extra: { quote: expect.any(String) } })
    expect(fresh?.extra?.['quote']).not.toBe(entry.extra.quote)
  })

  it('does not expire for a payment that the ledger knows', async () => {
    const payment = await sign('/in-euro')
    expect((await shop.pay('/in-euro', payment)).status).toBe(200)
    clock.ms = Date.now() + 302_000
    const again = await shop.pay('/in-euro', payment)
    expect(await reasonOf(again)).toBe('invalid_exact_evm_nonce_already_used')
  })
})

describe('the secret of quotes', () => {
  /** Signs at one gateway, and presents to another, after the rate has moved. */
  async function honours(one: GatewayOptions, other: GatewayOptions): Promise<number> {
    const first = await openShop(devnet, routes, optionsWith({ ...one, publicUrl: 'http://shop' }))
    const second = await openShop(
      devnet,
      routes,
      optionsWith({ ...other, publicUrl: 'http://shop' }),
    )
    try {
      market.cents = 120n
      const { entry } = await offerOf('/in-euro', undefined, first)
      market.cents = 150n
      const payment = await signPayment(devnet.payers[1]!, entry)
      return (await second.pay('/in-euro', payment)).status
    } finally {
      await first.close()
      await second.close()
    }
  }

  it('is each gateway’s own if they share nothing', async () => {
    expect(await honours({}, {})).toBe(402)
  })

  it('can be configured', async () => {
    const quoteSecret = 'a secret of more than thirty-two characters'
    expect(await honours({ quoteSecret }, { quoteSecret })).toBe(200)
    expect(await honours({ quoteSecret }, { quoteSecret: `${quoteSecret}!` })).toBe(402)
  })

  it('is shared by gateways on one database', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'x402-quotes-'))
    const ledger = () => sqliteLedger(join(folder, 'ledger.db'))
    try {
      expect(await honours({ ledger: ledger() }, { ledger: ledger() })).toBe(200)
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  })
})

describe('a price that a merchant does not take', () => {
  it('fails as a mistake of the price function', async () => {
    expect((await shop.ask('/tiny')).status).toBe(500)
  })
})

describe('the official client', () => {
  it('pays the price that it was asked while the rate changes', async () => {
    const payer = devnet.payers[2]!
    const transport: typeof fetch = async (...request) => {
      const response = await fetch(...request)
      if (response.status === 402) market.cents = 300n
      return response
    }
    const before = await balanceOf(devnet, payer.address)
    for (const path of ['/in-euro', '/items/7', '/upfront']) {
      market.cents = 120n
      const response = await payingFetch(payer.privateKey, transport)(shop.url + path)
      expect(response.status).toBe(200)
      expect(market.cents).toBe(300n)
    }
    expect(before - (await balanceOf(devnet, payer.address))).toBe(180_000n)
  })

  it('is asked again if its quote was not signed', async () => {
    const transport: typeof fetch = async (...request) => {
      const response = await fetch(...request)
      market.cents = 300n
      return response
    }
    const response = await payingFetch(
      devnet.payers[3]!.privateKey,
      transport,
    )(`${shop.url}/unsigned`)
    expect(await reasonOf(response)).toBe('invalid_payment_requirements')
  })
})
