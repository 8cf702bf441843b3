/** The app's hooks before verify and settle: vetoes, failures, and what neither of them may do. */
import { beforeEach, describe, expect, it } from '@jest/globals'
import { request } from 'node:http'
import type { Express } from 'express'
import type { PaymentHook, ProposedPayment } from '../../../src/core/schemes/payment-hooks.js'
import type { Gateway } from '../../../src/gateway/gateway.js'
import { paidRequest } from '../../../src/sell/flow/paid-request.js'
import { createMemoryLedger } from '../../../src/ledger/memory-ledger.js'
import { world } from '../../../src/shared/world.js'
import { permit2Of } from '../../tools/devnet/permit2.js'
import { recordLog } from '../../api/api.js'
import { balanceOf, useDevnet } from '../../support/devnet.js'
import { paymentHeader } from '../../support/http.js'
import { resumeMining, stopMining } from '../../support/mining.js'
import { openShop, paymentRequiredOf, settlementOf } from '../../support/shop.js'
import { signUpTo } from '../../support/sign-up-to.js'
import { until } from '../../support/until.js'
import { useOpened } from '../../support/use-opened.js'

const PRICE = 10_000n
const REASON = 'We cannot sell to this account.'

const devnet = useDevnet()
const payer = () => devnet.payers[0]!
const earned = () => balanceOf(devnet, devnet.merchant.address)

const pass: PaymentHook = () => undefined
const veto: PaymentHook = () => ({ reason: REASON })
let hooks: { beforeVerify: PaymentHook; beforeSettle: PaymentHook }
let seen: [keyof typeof hooks, ProposedPayment][] = []
let runs = 0
let gone = 0
/** Ends the time of the hook that runs. */
let endTime: () => void = () => undefined
const log = recordLog()

const { setTimeout: usual } = world
world.setTimeout = (work, ms) => {
  if (ms === 5000) endTime = work
  return usual(work, ms)
}
beforeEach(() => {
  hooks = { beforeVerify: pass, beforeSettle: pass }
  seen = []
  runs = 0
  gone = 0
  log.lines.length = 0
})

const routes = (app: Express, { x402Protect }: Gateway) => {
  app.use((_req, res, next) => {
    res.on('close', () => void (res.writableFinished || gone++))
    next()
  })
  const handler = (_req: unknown, res: { set: Function; send: Function }): void => {
    runs++
    res.set('X-Handler', 'ran')
    res.send('paid')
  }
  app.get('/held', x402Protect('$0.01'), handler)
  app.get('/upfront', x402Protect('$0.01', { paymentFlow: 'upfront' }), handler)
  app.get('/metered/:charge', x402Protect({ upTo: '$0.05' }), (req, res) => {
    paidRequest(req).charge(req.params.charge)
    res.send('metered')
  })
}
const ledger = createMemoryLedger()
const open = (settleTimeoutMs?: number) =>
  openShop(devnet, routes, {
    ...{ ledger, logger: log, settleTimeoutMs },
    beforeVerify(payment) {
      seen.push(['beforeVerify', payment])
      return hooks.beforeVerify(payment)
    },
    beforeSettle(payment) {
      seen.push(['beforeSettle', payment])
      return hooks.beforeSettle(payment)
    },
  })
const shop = useOpened(() => open())
/** Another gateway on the same ledger, which waits for no outcome. */
const hasty = useOpened(() => open(400))

const FLOWS = ['/held', '/upfront'] as const
const HOOKS = ['beforeVerify', 'beforeSettle'] as const
const CASES = FLOWS.flatMap((path) => HOOKS.map((name) => ({ path, name })))

/** Pays, and expects that it costs this much. */
async function expectBought(path: string, payment: object): Promise<void> {
  const before = await earned()
  const response = await shop.pay(path, payment)
  expect([response.status, await response.text()]).toEqual([200, 'paid'])
  expect(await earned()).toBe(before + PRICE)
}

describe('a veto', () => {
  it.each(CASES)(
    'of $name on $path is a 402 with its reason, costs nothing, and is not final',
    async ({ path, name }) => {
      const [payment, before] = [await shop.sign(path, payer()), await earned()]
      hooks[name] = veto
      const refused = await shop.pay(path, payment)
      expect(refused.status).toBe(402)
      const document = { error: 'payment_declined', errorMessage: REASON }
      expect(paymentRequiredOf(refused)).toMatchObject(document)
      expect(await refused.json()).toMatchObject(document)
      expect(refused.headers.get('x-handler')).toBeNull()
      expect(runs).toBe(path === '/held' && name === 'beforeSettle' ? 1 : 0)
      if (name === 'beforeSettle')
        expect(settlementOf(refused)).toMatchObject({
          ...{ success: false, errorReason: 'payment_declined', transaction: '' },
        })
      expect(await earned()).toBe(before)
      expect(shop.events.refused?.at(-1)).toMatchObject({ reason: 'payment_declined' })
      hooks[name] = pass
      await expectBought(path, payment)
    },
  )

  it('gives its reason to the buyer in one line, and not without end', async () => {
    hooks.beforeVerify = () => ({ reason: `No.\r\n\u001b[31m${'x'.repeat(500)}` })
    const { errorMessage = '' } = paymentRequiredOf(await shop.buy('/held', payer()))
    expect(errorMessage).toMatch(/^No\. \[31mx+…$/)
    expect(errorMessage).toHaveLength(301)
  })

  it('may have the form of official hooks', async () => {
    hooks.beforeVerify = () => ({ abort: true, reason: REASON })
    expect(paymentRequiredOf(await shop.buy('/held', payer())).errorMessage).toBe(REASON)
  })

  it('is not asked for without a payment, or with one that cannot be read', async () => {
    await shop.ask('/held')
    const payment = await shop.sign('/held', payer())
    await shop.pay('/held', { ...payment, payload: { signature: '0x', authorization: {} } })
    await shop.ask('/held', { headers: { 'PAYMENT-SIGNATURE': '%%%' } })
    expect(seen).toEqual([])
  })

  it('comes before the check of the signature', async () => {
    const payment = await shop.sign('/held', payer())
    const { signature } = payment.payload
    const forged = `${String(signature).slice(0, -6)}123456`
    hooks.beforeVerify = veto
    const bad = { ...payment, payload: { ...payment.payload, signature: forged } }
    expect(paymentRequiredOf(await shop.pay('/held', bad)).error).toBe('payment_declined')
    hooks.beforeVerify = pass
    expect(paymentRequiredOf(await shop.pay('/held', bad)).error).toBe(
      'invalid_exact_evm_payload_signature',
    )
    expect(seen.map(([name]) => name)).toEqual(['beforeVerify', 'beforeVerify'])
  })
})

describe('what a hook sees', () => {
  it('is the payment with its route, and changing it changes nothing', async () => {
    const change: PaymentHook = (payment) => {
      Object.assign(payment, { payTo: payment.payer, amount: '1', payer: payment.payTo })
    }
    hooks = { beforeVerify: change, beforeSettle: change }
    const payment = await shop.sign('/held', payer())
    await expectBought('/held', payment)
    const shown = {
      scheme: 'exact',
      network: 'eip155:84532',
      asset: devnet.asset,
      project: 'shop',
      resource: `${shop.url}/held`,
      route: '/held',
      price: '$0.01',
      client: expect.stringMatching(/127\.0\.0\.1$/),
    }
    expect(seen).toMatchObject([
      ['beforeVerify', shown],
      ['beforeSettle', shown],
    ])
  })

  it('is the charge, where that is known; a charge of nothing is not asked about', async () => {
    await permit2Of(devnet).approve(payer().address)
    const buy = async (path: string) =>
      shop.pay(path, await signUpTo(await shop.ask(path), payer()))
    expect((await buy('/metered/$0.02')).status).toBe(200)
    expect(seen.map(([name, { amount, maximum }]) => [name, amount, maximum])).toEqual([
      ['beforeVerify', '50000', undefined],
      ['beforeSettle', '20000', '50000'],
    ])
    hooks.beforeSettle = veto
    expect((await buy('/metered/$0')).status).toBe(200)
    const before = await earned()
    const path = '/metered/$0.02'
    const payment = await signUpTo(await shop.ask(path), payer())
    expect((await shop.pay(path, payment)).status).toBe(402)
    hooks.beforeSettle = pass
    expect((await shop.pay(path, payment)).status).toBe(200)
    expect(await earned()).toBe(before + 20_000n)
  })
})

const SECRET = 'https://screen.example/?key=secret-key'
const FAILURES: readonly [string, PaymentHook][] = [
  [
    'throws',
    () => {
      throw new Error(`No answer from ${SECRET}`)
    },
  ],
  ['rejects', () => Promise.reject(new Error(`No answer from ${SECRET}`))],
  ['rejects with nothing', () => Promise.reject()],
  ['returns true', () => true as never],
  ['returns false', () => false as never],
  ['returns null', () => null as never],
  ['returns a text', () => 'late' as never],
  ['returns no reason', () => ({ abort: true }) as never],
  ['returns a list', () => [{ reason: REASON }] as never],
]

describe.each(FAILURES)('a hook that %s', (_how, fails) => {
  it.each(CASES)('is a 503 as $name on $path, and costs nothing', async ({ path, name }) => {
    const [payment, before] = [await shop.sign(path, payer()), await earned()]
    hooks[name] = fails
    const response = await shop.pay(path, payment)
    expect(response.status).toBe(503)
    expect(response.headers.get('retry-after')).toBe('5')
    expect(response.headers.get('x-handler')).toBeNull()
    const text = await response.text()
    expect(JSON.parse(text)).toMatchObject({ code: 'hook_failed', status: 503 })
    expect(await earned()).toBe(before)
    const logged = log.lines.join('\n')
    expect(logged).toContain(`The hook ${name}`)
    expect(logged + text).not.toContain('secret-key')
    hooks[name] = pass
    await expectBought(path, payment)
  })
})

describe('a hook that hangs', () => {
  it.each(
    CASES.flatMap((one) => [
      { ...one, late: 'passes', answer: Promise.resolve.bind(Promise, undefined) },
      { ...one, late: 'rejects', answer: () => Promise.reject(new Error('late')) },
    ]),
  )(
    'is a 503 as $name on $path, whatever it answers late: it $late',
    async ({ path, name, answer }) => {
      const [payment, before] = [await shop.sign(path, payer()), await earned()]
      let answerLate: (late: Promise<undefined>) => void = () => undefined
      hooks[name] = () => new Promise((resolve) => (answerLate = resolve))
      const paying = shop.pay(path, payment)
      await until(() => seen.at(-1)?.[0] === name)
      endTime()
      const response = await paying
      expect([response.status, await response.json()]).toMatchObject([503, { code: 'hook_failed' }])
      expect(log.lines.join('\n')).toContain(`The hook ${name} did not answer within 5 s.`)
      answerLate(answer() as Promise<undefined>)
      await world.nextTurn()
      expect(await earned()).toBe(before)
      hooks[name] = pass
      await expectBought(path, payment)
    },
  )

  it.each(FLOWS)('keeps its payment from other gateways meanwhile: %s', async (path) => {
    const [payment, before] = [await shop.sign(path, payer()), await earned()]
    let answer: (vetoed: { reason: string }) => void = () => undefined
    hooks.beforeSettle = () => new Promise((resolve) => (answer = resolve))
    const paying = shop.pay(path, payment)
    await until(() => seen.at(-1)?.[0] === 'beforeSettle')
    const elsewhere = () => {
      const headers = { host: new URL(shop.url).host, ...paymentHeader(payment) }
      return new Promise<number>((resolve, reject) =>
        request(hasty.url + path, { headers }, (res) => {
          res.resume()
          resolve(res.statusCode!)
        })
          .on('error', reject)
          .end(),
      )
    }
    expect(await elsewhere()).toBe(402)
    expect(hasty.events.refused?.at(-1)).toMatchObject({ reason: 'duplicate_settlement' })
    // Nor does a veto of the second make it free while the first goes on.
    hooks.beforeVerify = veto
    expect(await elsewhere()).toBe(402)
    expect(hasty.events.refused?.at(-1)).toMatchObject({ reason: 'duplicate_settlement' })
    answer({ reason: REASON })
    expect((await paying).status).toBe(402)
    hooks = { beforeVerify: pass, beforeSettle: pass }
    expect(await elsewhere()).toBe(200)
    expect(await earned()).toBe(before + PRICE)
  })

  it.each(FLOWS)('charges nothing for a client that has hung up, if it fails: %s', async (path) => {
    const [payment, before] = [await shop.sign(path, payer()), await earned()]
    hooks.beforeSettle = () => new Promise(() => undefined)
    const client = request(shop.url + path, { headers: paymentHeader(payment) }).end()
    client.on('error', () => undefined)
    await until(() => seen.at(-1)?.[0] === 'beforeSettle')
    client.destroy()
    await until(() => gone === 1)
    endTime()
    hooks.beforeSettle = pass
    await until(async () => (await shop.pay(path, payment)).status === 200)
    expect(await earned()).toBe(before + PRICE)
  })

  it.each(FLOWS)('sells once to a client that has hung up, if it passes: %s', async (path) => {
    const [payment, before] = [await shop.sign(path, payer()), await earned()]
    let answer: () => void = () => undefined
    hooks.beforeSettle = () => new Promise<void>((resolve) => (answer = resolve))
    const client = request(shop.url + path, { headers: paymentHeader(payment) }).end()
    client.on('error', () => undefined)
    await until(() => seen.at(-1)?.[0] === 'beforeSettle')
    client.destroy()
    await until(() => gone === 1)
    hooks.beforeSettle = veto
    answer()
    await until(async () => (await shop.pay(path, payment)).status === 200)
    expect(await earned()).toBe(before + PRICE)
    expect((await shop.pay(path, payment)).status).toBe(402)
    expect(await earned()).toBe(before + PRICE)
  })
})

describe('a payment that was sent', () => {
  it.each(
    FAILURES.slice(0, 2)
      .concat([['vetoes', veto]])
      .flatMap((one) => FLOWS.map((path) => [path, ...one] as const)),
  )('is redeemed on %s, though a hook now %s', async (path, _how, stops) => {
    const payment = await hasty.sign(path, payer())
    const before = await earned()
    await stopMining(devnet)
    expect((await hasty.pay(path, payment)).status).toBe(503)
    hooks = { beforeVerify: stops, beforeSettle: stops }
    seen = []
    expect((await hasty.pay(path, payment)).status).toBe(503)
    await resumeMining(devnet)
    await until(async () => (await hasty.pay(path, payment)).status === 200)
    expect(await earned()).toBe(before + PRICE)
    expect(new Set(seen.map(([name]) => name))).toEqual(new Set(['beforeVerify']))
  })
})

describe('a hook that settles the payment itself', () => {
  it.each(CASES)('pays it once: $name on $path', async ({ path, name }) => {
    const payment = await shop.sign(path, payer())
    const before = await earned()
    const { accepted } = payment
    let isInside = false
    let settled: unknown
    hooks[name] = async () => {
      if (isInside) return
      isInside = true
      settled = await shop.gateway.facilitator.settle(payment, accepted as never)
    }
    const { status } = await shop.pay(path, payment)
    expect(await earned()).toBe(before + PRICE)
    expect(settled).toMatchObject(
      name === 'beforeVerify' ? { success: true } : { success: false, transaction: '' },
    )
    expect(status).toBe(name === 'beforeVerify' ? 402 : 200)
  })
})
