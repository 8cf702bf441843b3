import { afterEach, describe, expect, it } from '@jest/globals'
import { generatePaymentId } from '@x402/extensions'
import { MemoryStore, rateLimit, type Store } from 'express-rate-limit'
import type { GatewayOptions } from '../../../src/gateway/config/options.js'
import type { Hex } from '../../../src/shared/protocol/payment.js'
import { balanceOf, useDevnet } from '../../support/devnet.js'
import { paymentHeader } from '../../support/http.js'
import { openShop, paymentRequiredOf, type Shop } from '../../support/shop.js'
import { until } from '../../support/until.js'
import { resumeMining, payAndLeave } from '../../support/mining.js'

const FLOWS = ['/authorization', '/upfront']
const devnet = useDevnet()
const payer = (index = 0) => devnet.payers[index]!
const earned = () => balanceOf(devnet, devnet.merchant.address)
let lastAddress = 2
const from = (address: string) => ({ headers: { 'X-Forwarded-For': address } })

let runs = 0
let gone = 0
let shop: Shop & { close(): Promise<void> }
afterEach(() => shop.close())

/** Opens a shop behind a proxy, whose routes cost $0.01 in both flows. */
async function open(
  paymentRateLimit: GatewayOptions['paymentRateLimit'],
  { options = {}, appLimit = 0 }: { options?: GatewayOptions; appLimit?: number } = {},
): Promise<void> {
  shop = await openShop(
    devnet,
    (app, { x402Protect }) => {
      app.set('trust proxy', 'loopback')
      app.use((_req, res, next) => {
        res.on('close', () => gone++)
        next()
      })
      if (appLimit > 0)
        app.use(rateLimit({ limit: appLimit, standardHeaders: 'draft-8', identifier: 'the-app' }))
      app.get('/authorization', x402Protect('$0.01'), (req, res) => {
        runs++
        res.json((req as { rateLimit?: { limit: number } }).rateLimit?.limit ?? null)
      })
      app.get('/upfront', x402Protect('$0.01', { paymentFlow: 'upfront' }), (_req, res) => {
        runs++
        res.send('upfront')
      })
    },
    { ...options, ...(paymentRateLimit !== undefined && { paymentRateLimit }) },
  )
}

/** Expects that a payment is answered 429, and that it cost nothing and bought nothing. */
async function expectLimited(by: string, present: () => Promise<Response>): Promise<void> {
  const [runsBefore, earnedBefore] = [runs, await earned()]
  const answer = await present()
  expect(answer.status).toBe(429)
  expect(answer.headers.get('content-type')).toBe('application/problem+json')
  expect(answer.headers.get('cache-control')).toBe('no-store')
  expect(await answer.json()).toMatchObject({ status: 429, code: 'rate_limited' })
  const retryAfter = Number(answer.headers.get('retry-after'))
  expect(retryAfter).toBeGreaterThan(0)
  expect(retryAfter).toBeLessThanOrEqual(60)
  const resetAfter = new RegExp(`"${by}"; r=0; t=([0-9]+)`).exec(answer.headers.get('ratelimit')!)
  // The two are computed one after the other: a second may end in between.
  expect(Number(resetAfter?.[1])).toBeGreaterThanOrEqual(retryAfter)
  expect(Number(resetAfter?.[1])).toBeLessThanOrEqual(60)
  expect(answer.headers.get('ratelimit-policy')).toContain(`"${by}"; q=`)
  expect(answer.headers.get('payment-response')).toBeNull()
  expect([runs, await earned()]).toEqual([runsBefore, earnedBefore])
}

describe.each(FLOWS)('the limit of requests that bring a payment, %s', (path) => {
  it('refuses the requests of an address beyond it, and of no other address', async () => {
    const store = new MemoryStore()
    await open({ limit: 2, store })
    const pay = async (address: string, index: number) =>
      shop.pay(path, await shop.sign(path, payer(index)), from(address))
    expect((await pay('203.0.113.1', 0)).status).toBe(200)
    expect((await pay('203.0.113.1', 1)).status).toBe(200)
    const payment = await shop.sign(path, payer(2))
    await expectLimited('address', () => shop.pay(path, payment, from('203.0.113.1')))
    expect(shop.events.verified).toHaveLength(2)
    expect((await pay('203.0.113.2', 3)).status).toBe(200)

    const before = await earned()
    await store.resetKey('payment-address:203.0.113.1')
    expect((await shop.pay(path, payment, from('203.0.113.1'))).status).toBe(200)
    expect(await earned()).toBe(before + 10_000n)
  })

  it('refuses the requests of a payer beyond it from any address, and of no other payer', async () => {
    const store = new MemoryStore()
    await open({ limit: 2, store })
    const pay = async (address: string, index: number) =>
      shop.pay(path, await shop.sign(path, payer(index)), from(address))
    expect((await pay('203.0.113.1', 0)).status).toBe(200)
    expect((await pay('203.0.113.2', 0)).status).toBe(200)
    const payment = await shop.sign(path, payer(0))
    await expectLimited('payer', () => shop.pay(path, payment, from('203.0.113.3')))
    expect((await pay('203.0.113.3', 1)).status).toBe(200)

    const before = await earned()
    await store.resetKey(`payment-payer:${payer(0).address.toLowerCase()}`)
    expect((await shop.pay(path, payment, from('203.0.113.4'))).status).toBe(200)
    expect(await earned()).toBe(before + 10_000n)
  })

  it('is not used up for a payer by a stranger who names him without his signature', async () => {
    await open({ limit: 1 })
    for (const address of ['203.0.113.1', '203.0.113.2', '203.0.113.3']) {
      const forged = await shop.sign(path, { ...payer(1), address: payer(0).address })
      const answer = await shop.pay(path, forged, from(address))
      expect([answer.status, paymentRequiredOf(answer).error]).toEqual([
        402,
        'invalid_exact_evm_payload_signature',
      ])
    }
    const payment = await shop.sign(path, payer(0))
    expect((await shop.pay(path, payment, from('203.0.113.4'))).status).toBe(200)
  })

  it('keeps a refused payment and its payment-identifier valid for the next window', async () => {
    const windowMs = 10_000
    await open({ limit: 1, windowMs })
    expect(
      (await shop.pay(path, await shop.sign(path, payer(0)), from('203.0.113.1'))).status,
    ).toBe(200)
    const info = { required: false, id: generatePaymentId() }
    const payment = {
      ...(await shop.sign(path, payer(0))),
      extensions: { 'payment-identifier': { info } },
    }
    const limited = await shop.pay(path, payment, from('203.0.113.2'))
    expect(limited.status).toBe(429)
    const end = Date.now() + Number(limited.headers.get('retry-after')) * 1000
    await until(() => Date.now() >= end)
    const before = await earned()
    expect((await shop.pay(path, payment, from('203.0.113.3'))).status).toBe(200)
    expect(await earned()).toBe(before + 10_000n)
  })

  it('keeps a charged but unanswered payment redeemable for the next window', async () => {
    const store = new MemoryStore()
    await open({ limit: 1, store })
    const before = await earned()
    const payment = await shop.sign(path, payer(0))
    const headers = { ...paymentHeader(payment), ...from('203.0.113.1').headers }
    await payAndLeave(devnet, { url: shop.url + path, headers }, () => gone)
    await resumeMining(devnet)
    await until(async () => (await earned()) === before + 10_000n)
    // Until the ledger has noted that nobody was answered, the payment is being worked on.
    await until(async () => {
      const { status } = await shop.pay(path, payment, from(`203.0.113.${++lastAddress}`))
      return status === 429
    })
    await store.resetKey(`payment-payer:${payer(0).address.toLowerCase()}`)
    expect((await shop.pay(path, payment, from('203.0.113.2'))).status).toBe(200)
    expect(await earned()).toBe(before + 10_000n)
  })

  it('is off by default', async () => {
    await open(undefined)
    const payments = await Promise.all(Array.from({ length: 10 }, () => shop.sign(path, payer(0))))
    const answers = await Promise.all(payments.map((payment) => shop.pay(path, payment)))
    for (const { status, headers } of answers)
      expect([status, headers.get('ratelimit')]).toEqual([200, null])
  })

  it('counts only requests that bring a payment, and for the route alone', async () => {
    await open({ limit: 1 })
    const address = from('203.0.113.1')
    for (let asked = 0; asked < 3; asked++) {
      expect((await shop.ask(path, address)).status).toBe(402)
      const garbage = { headers: { ...address.headers, 'PAYMENT-SIGNATURE': 'garbage' } }
      expect((await shop.ask(path, garbage)).status).toBe(400)
      const payment = await shop.sign(path, payer(0))
      const other = { ...payment, accepted: { ...payment.accepted, amount: '1' } }
      expect((await shop.pay(path, other, address)).status).toBe(402)
    }
    expect((await shop.pay(path, await shop.sign(path, payer(0)), address)).status).toBe(200)
    const late = await shop.sign(path, payer(1))
    await expectLimited('address', () => shop.pay(path, late, address))
  })
})

describe('the limit of requests that bring a payment', () => {
  it('counts IPv6 addresses by their subnet', async () => {
    await open({ limit: 1 })
    const pay = async (address: string, index: number) =>
      shop.pay('/upfront', await shop.sign('/upfront', payer(index)), from(address))
    expect((await pay('2001:db8:0:1::1', 0)).status).toBe(200)
    await expectLimited('address', () => pay('2001:db8:0:2::2', 1))
    expect((await pay('2001:db8:1::1', 1)).status).toBe(200)
  })

  it('leaves a limiter of the app its count and its headers', async () => {
    await open({ limit: 1 }, { appLimit: 100 })
    const address = from('203.0.113.1')
    const paid = await shop.pay(
      '/authorization',
      await shop.sign('/authorization', payer(0)),
      address,
    )
    expect([paid.status, await paid.json()]).toEqual([200, 100])
    expect(paid.headers.get('ratelimit')).toMatch(/^"the-app"; r=99; t=\d+$/)
    expect(paid.headers.get('ratelimit-policy')).toMatch(/^"the-app"; q=100; w=60; pk=:\S+:$/)

    const payment = await shop.sign('/authorization', payer(1))
    await expectLimited('address', async () => {
      const limited = await shop.pay('/authorization', payment, address)
      expect(limited.headers.get('ratelimit')).toMatch(
        /^"the-app"; r=98; t=\d+, "address"; r=0; t=\d+$/,
      )
      return limited
    })
  })

  it('lets payments through and logs that once a minute while its store does not answer', async () => {
    const warnings: unknown[] = []
    const quiet = () => undefined
    const store: Store = {
      increment: () => Promise.reject(new Error('the store is away')),
      decrement: quiet,
      resetKey: quiet,
    }
    const logger = {
      ...{ debug: quiet, info: quiet, error: quiet },
      warn: (_message: string, details?: object) => warnings.push(details),
    }
    await open({ limit: 1, store }, { options: { logger } })
    for (const path of FLOWS) expect((await shop.buy(path, payer(0))).status).toBe(200)
    // Four counts failed, within the same minute.
    expect(warnings).toEqual([{ error: expect.objectContaining({ message: 'the store is away' }) }])
  })

  it('counts a payer as one, however his address is written', async () => {
    const store = new MemoryStore()
    await open({ limit: 1, store })
    const lower = { ...payer(0), address: payer(0).address.toLowerCase() as Hex }
    expect(
      (await shop.pay('/upfront', await shop.sign('/upfront', lower), from('203.0.113.1'))).status,
    ).toBe(200)
    const payment = await shop.sign('/upfront', payer(0))
    await expectLimited('payer', () => shop.pay('/upfront', payment, from('203.0.113.2')))
  })
})
