/** Rules 6, 7 and 23: what a signed quote is good for. */
import { afterEach, describe, expect, it } from '@jest/globals'
import express, { type Express, type Request } from 'express'
import type { Gateway } from '../../src/gateway/gateway.js'
import { createMemoryLedger } from '../../src/ledger/memory-ledger.js'
import type { PaymentPayload, PaymentRequirements } from '../../src/shared/protocol/payment.js'
import { balanceOf, SHOP_TOKEN, useDevnet } from '../support/devnet.js'
import { emptyAccount, frontRun, newPayer } from '../support/on-chain.js'
import { openShop, paymentRequiredOf, settlementOf, type Shop } from '../support/shop.js'
import { signPayment } from '../support/sign-payment.js'
import { until } from '../support/until.js'
import { useOpened } from '../support/use-opened.js'
import { stopMining, resumeMining } from '../support/mining.js'

const devnet = useDevnet()
const clock = { ms: Date.now() }
const price = { cents: 1 }
let runs = 0

const tariff = (req: Request): string => req.get('X-Member') ?? 'none'
const priceOf = (req: Request): string => (tariff(req) === 'gold' ? '$0.01' : '$0.10')

function routes(app: Express, { x402Protect, gatewayRouter }: Gateway): void {
  const sell: express.RequestHandler = (_req, res) => {
    runs += 1
    res.send('sold')
  }
  const byLength = (req: Request): string =>
    `$${(JSON.stringify(req.body ?? '').length / 1000 + 0.01).toFixed(2)}`
  const byHeader = (req: Request): string =>
    `$${(Number(req.get('Content-Length') ?? 0) / 1000 + 0.01).toFixed(2)}`
  app.post('/stream', x402Protect(byHeader, { quoteFor: () => '' }), sell)
  app.use(express.json({ limit: '1mb' }))
  app.post('/size', x402Protect(byLength, { quoteFor: () => '' }), sell)
  app.get('/by-user', x402Protect(priceOf), sell)
  app.get('/for-user', x402Protect(priceOf, { quoteFor: tariff }), sell)
  app.get('/wrong', x402Protect(priceOf, { quoteFor: () => 5 as unknown as string }), sell)
  app.get(
    '/moving',
    x402Protect(() => `$0.0${price.cents}`, { quoteFor: () => '' }),
    sell,
  )
  app.use(gatewayRouter())
}

const shop = useOpened(() => {
  const now = (): number => clock.ms
  return openShop(devnet, routes, {
    projects: [
      {
        id: 'shop',
        tokens: [SHOP_TOKEN],
        merchant: { payTo: devnet.merchant.address, maxTimeoutSeconds: 60 },
      },
    ],
    now,
    ledger: createMemoryLedger({ now }),
    settleTimeoutMs: 8000,
  })
})
afterEach(async () => {
  clock.ms = Date.now()
  price.cents = 1
})

async function entryOf(path: string, init?: RequestInit): Promise<PaymentRequirements> {
  return paymentRequiredOf(await shop.ask(path, init)).accepts[0]!
}

const post = (body: unknown): RequestInit => ({
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(body),
})

const reasonOf = (response: Response): [number, string | undefined] => [
  response.status,
  paymentRequiredOf(response).error,
]

describe('a quote for one body', () => {
  const deep = (text: string): unknown =>
    JSON.parse('{"a":'.repeat(40) + JSON.stringify(text) + '}'.repeat(40))

  it.each<[string, unknown, unknown]>([
    ['deeper than anybody looks', deep('x'), deep('x'.repeat(50_000))],
    ['with nulls', { a: 1 }, { a: 1, ...Object.fromEntries(nulls()) }],
    ['with other digits', { a: '0xab' }, { a: '0xAB' }],
    ['in another order', { a: 1, b: 2 }, { b: 2, a: 1 }],
  ])('buys nothing for another: %s', async (_what, small, large) => {
    const payment = await signPayment(devnet.payers[0]!, await entryOf('/size', post(small)))
    const before = runs
    expect(reasonOf(await shop.pay('/size', payment, post(large)))).toEqual([402, 'quote_mismatch'])
    expect(runs).toBe(before)
    expect((await shop.pay('/size', payment, post(small))).status).toBe(200)
  })

  it('is not signed if nobody has read the body', async () => {
    const entry = await entryOf('/stream', post('x'))
    expect(entry.extra).not.toHaveProperty('quote')
    const payment = await signPayment(devnet.payers[0]!, entry)
    const before = runs
    const large = await shop.pay('/stream', payment, post('x'.repeat(1000)))
    expect(reasonOf(large)).toEqual([402, 'invalid_payment_requirements'])
    expect(runs).toBe(before)
    expect((await shop.pay('/stream', payment, post('x'))).status).toBe(200)
  })

  function* nulls(): Generator<[string, null]> {
    for (let index = 0; index < 1000; index++) yield [`member${index}`, null]
  }
})

describe('a price that depends on who asks', () => {
  const GOLD = { headers: { 'X-Member': 'gold' } }

  it('is signed only if that is configured', async () => {
    const entry = await entryOf('/by-user', GOLD)
    expect(entry.extra).not.toHaveProperty('quote')
    const payment = await signPayment(devnet.payers[0]!, entry)
    expect(reasonOf(await shop.pay('/by-user', payment))).toEqual([
      402,
      'invalid_payment_requirements',
    ])
    expect((await shop.pay('/by-user', payment, GOLD)).status).toBe(200)
  })

  it('is quoted only for whom quoteFor names', async () => {
    const entry = await entryOf('/for-user', GOLD)
    expect(entry.extra).toHaveProperty('quote')
    const payment = await signPayment(devnet.payers[0]!, entry)
    const before = runs
    expect(reasonOf(await shop.pay('/for-user', payment))).toEqual([402, 'quote_mismatch'])
    const silver = { headers: { 'X-Member': 'silver' } }
    expect(reasonOf(await shop.pay('/for-user', payment, silver))).toEqual([402, 'quote_mismatch'])
    expect(runs).toBe(before)
    expect((await shop.pay('/for-user', payment, GOLD)).status).toBe(200)
  })

  it('throws if quoteFor returns no string', async () => {
    expect((await shop.ask('/wrong')).status).toBe(500)
  })
})

describe('a quote that has expired', () => {
  const later = (): void => {
    clock.ms += 61_000
    price.cents = 9
  }
  async function signLong(at: Shop, path: string): Promise<PaymentPayload> {
    const entry = paymentRequiredOf(await at.ask(path)).accepts[0]!
    const validBefore = String(Math.floor(Date.now() / 1000) + 86_400)
    const payer = await newPayer(devnet)
    return Object.assign(await signPayment(payer, entry, { validBefore }), { payer })
  }

  it('cannot be used to buy at the old price with a payment that failed', async () => {
    const payment = (await signLong(shop, '/moving')) as PaymentPayload & {
      payer: Awaited<ReturnType<typeof newPayer>>
    }
    const { payer, ...presented } = payment
    shop.events.submitted = []
    await stopMining(devnet)
    const answer = shop.pay('/moving', presented)
    await until(() => shop.events.submitted?.length === 1)
    await emptyAccount(devnet, payer)
    await devnet.mine()
    expect(settlementOf(await answer).success).toBe(false)
    await until(() => shop.events.failed !== undefined)
    await resumeMining(devnet)
    later()
    const before = runs
    expect(reasonOf(await shop.pay('/moving', presented))).toEqual([402, 'quote_expired'])
    await devnet.mint(payer.address, 10_000n)
    const earned = await balanceOf(devnet, devnet.merchant.address)
    await frontRun(devnet, presented)
    await until(async () => (await balanceOf(devnet, devnet.merchant.address)) > earned)
    for (let times = 0; times < 2; times++)
      expect(reasonOf(await shop.pay('/moving', presented))).toEqual([402, 'quote_expired'])
    expect(runs).toBe(before)
  })

  it('still redeems a payment that was made in time', async () => {
    const { payer: _payer, ...payment } = (await signLong(shop, '/moving')) as PaymentPayload & {
      payer: unknown
    }
    await stopMining(devnet)
    const pending = await shop.pay('/moving', payment)
    expect(settlementOf(pending)).toMatchObject({ errorReason: 'settlement_pending' })
    await resumeMining(devnet)
    later()
    expect((await shop.pay('/moving', payment)).status).toBe(200)
    expect((await shop.pay('/moving', payment)).status).toBe(402)
  })

  it('buys nothing if nothing was paid in time', async () => {
    const { payer: _payer, ...payment } = (await signLong(shop, '/moving')) as PaymentPayload & {
      payer: unknown
    }
    later()
    expect(reasonOf(await shop.pay('/moving', payment))).toEqual([402, 'quote_expired'])
  })
})
