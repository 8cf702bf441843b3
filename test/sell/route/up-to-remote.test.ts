/** Paying for what was used, where a facilitator elsewhere says what it likes. */
import { beforeEach, describe, expect, it } from '@jest/globals'
import express from 'express'
import { MERCHANT, PAYERS } from '../../../src/tools/devnet/accounts.js'
import { httpFacilitator } from '../../../src/core/facilitator/http/http-facilitator.js'
import { createGateway } from '../../../src/gateway/gateway.js'
import type { LedgerStore } from '../../../src/ledger/index.js'
import { createMemoryLedger } from '../../../src/ledger/memory-ledger.js'
import { paidRequest } from '../../../src/sell/flow/paid-request.js'
import type { PaymentPayload, PaymentRequirements } from '../../../src/shared/protocol/payment.js'
import { useCleanup } from '../../support/cleanup.js'
import { listen, paymentHeader } from '../../support/http.js'
import { useScriptedFacilitator, type Script } from '../../support/scripted-facilitator.js'
import { paymentRequiredOf, settlementOf } from '../../support/shop.js'
import { signUpTo } from '../../support/sign-up-to.js'

const elsewhere = useScriptedFacilitator()
const toEnd = useCleanup()
const network = 'eip155:84532'
const payer = PAYERS[0]!.address
const transaction = `0x${'ab'.repeat(32)}`
const CALLER = '0x1111111111111111111111111111111111111111'

/** What events say of a charge of $0.02. */
const CHARGED = { amount: '20000', price: '$0.02', maximum: '100000' }

const kinds = (...given: object[]): Script => ({ body: { kinds: given } })
const METERS = kinds({
  ...{ x402Version: 2, scheme: 'upto', network },
  extra: { facilitatorAddress: CALLER },
})
const VALID: Script = { body: { isValid: true, payer } }
const paid = (members: object = {}): Script => ({
  body: { success: true, transaction, network, payer, ...members },
})
const failed = (errorReason: string): Script => ({
  body: { success: false, errorReason, transaction, network, payer },
})

let ledger: LedgerStore
let runs = 0
/** What the handler charges. */
let price = '0.02'
let errors: { readonly message: string; readonly fields: object | undefined }[] = []
let events: object[] = []
let shop: Awaited<ReturnType<typeof open>>

/** Opens a shop on the ledger, as a process that has just started. */
async function open() {
  const none = (): void => undefined
  const error = (message: string, fields?: object): void => void errors.push({ message, fields })
  const gateway = createGateway({
    facilitator: httpFacilitator({ url: elsewhere.url }),
    networks: { 'base-sepolia': {} },
    projects: [{ id: 'shop', merchant: { payTo: MERCHANT.address } }],
    logger: { debug: none, info: none, warn: none, error },
    ledger,
  })
  for (const name of ['pending', 'failed', 'settled'] as const)
    gateway.on(name, (event) => void events.push(event))
  const app = express()
  const options = { resourceUrl: () => 'https://shop.example/' }
  app.get('/', gateway.x402Protect({ upTo: '$0.10' }, options), (req, res) => {
    runs += 1
    paidRequest(req).charge(price)
    res.json({ worth: price })
  })
  const server = await listen(app)
  toEnd.push(
    () => gateway.close(),
    () => server.close(),
  )
  return {
    facilitator: gateway.facilitator,
    ask: () => fetch(server.url),
    pay: (payment: object) => fetch(server.url, { headers: paymentHeader(payment) }),
  }
}

beforeEach(async () => {
  ledger = createMemoryLedger()
  ;[price, errors, events, runs] = ['0.02', [], [], 0]
  elsewhere.scripts = { supported: METERS, verify: VALID, settle: paid({ amount: '20000' }) }
  shop = await open()
})

async function sign(change: Partial<PaymentRequirements> = {}) {
  const required = await shop.ask()
  const signed = await signUpTo(required, PAYERS[0]!, change)
  return { ...signed, accepted: paymentRequiredOf(required).accepts[0]! }
}

/** The requests to a path there. */
const told = (path: string) =>
  elsewhere.requests
    .filter((one) => one.path.endsWith(path))
    .map(({ headers, body }) => {
      const { paymentPayload, paymentRequirements } = body as {
        readonly paymentPayload: PaymentPayload
        readonly paymentRequirements: PaymentRequirements
      }
      return {
        amount: paymentRequirements.amount,
        accepted: paymentPayload.accepted['amount'],
        key: headers['idempotency-key'],
      }
    })

const recorded = async () => {
  const [record] = await ledger.payments.list({ project: 'shop', limit: 1 })
  return record
}

it('has the maximum verified and the charge settled, and records both', async () => {
  elsewhere.scripts['settle'] = paid()
  const sold = await shop.pay(await sign())
  expect(await sold.json()).toEqual({ worth: '0.02' })
  expect(settlementOf(sold)).toMatchObject({ transaction, payer, amount: '20000' })
  expect(told('verify')).toMatchObject([{ amount: '100000', accepted: '100000' }])
  expect(told('settle')).toMatchObject([{ amount: '20000', accepted: '100000' }])
  expect(await recorded()).toMatchObject({ state: 'settled', value: 100_000n, charged: 20_000n })
  expect(events).toMatchObject([{ transaction, ...CHARGED }])
})

it('asks again for the same charge, with the same key, and gives the answer that it was for', async () => {
  const payment = await sign()
  elsewhere.scripts['settle'] = ['break', { status: 503, body: {} }, paid()]
  expect((await shop.pay(payment)).status).toBe(503)
  expect(events).toMatchObject([{ transaction: '', ...CHARGED }])
  price = '0.10'
  // The process has died meanwhile.
  shop = await open()
  expect((await shop.pay(payment)).status).toBe(503)
  const sold = await shop.pay(payment)
  expect(await sold.json()).toEqual({ worth: '0.02' })
  expect(settlementOf(sold)).toMatchObject({ success: true, amount: '20000' })
  expect(runs).toBe(1)
  const [first, ...others] = told('settle')
  expect(first?.amount).toBe('20000')
  expect(others).toEqual([first, first])
  expect((await shop.pay(payment)).status).toBe(402)
})

it('sends its own charge again where a transaction has failed, as another request', async () => {
  const payment = await sign()
  // As the official facilitator calls it.
  elsewhere.scripts['settle'] = [failed('invalid_upto_evm_transaction_failed'), paid()]
  const refused = await shop.pay(payment)
  expect(refused.status).toBe(402)
  expect(settlementOf(refused)).toMatchObject({ errorReason: 'invalid_transaction_state' })
  expect(events).toMatchObject([{ transaction, ...CHARGED }])
  price = '0.10'
  const sold = await shop.pay(payment)
  expect(await sold.json()).toEqual({ worth: '0.02' })
  const [first, second] = told('settle')
  expect(second?.amount).toBe(first?.amount)
  expect(second?.key).not.toBe(first?.key)
})

describe('a facilitator that names another amount than was charged', () => {
  it('and says that it took more: sells, tells buyer and books the charge, and logs it', async () => {
    elsewhere.scripts['settle'] = paid({ amount: '50000' })
    const sold = await shop.pay(await sign())
    expect(await sold.json()).toEqual({ worth: '0.02' })
    expect(settlementOf(sold)).toMatchObject({ success: true, amount: '20000' })
    expect(await recorded()).toMatchObject({ state: 'settled', charged: 20_000n })
    expect(events).toMatchObject([{ amount: '20000' }])
    const fields = { charged: '20000', facilitatorAmount: '50000', transaction }
    expect(errors).toMatchObject([{ message: expect.stringContaining('another amount'), fields }])
  })

  it.each(['19999', '0'])(
    'and says that it took %s: sells nothing, and logs it',
    async (amount) => {
      elsewhere.scripts['settle'] = paid({ amount })
      const payment = await sign()
      for (let times = 0; times < 2; times++) {
        const kept = await shop.pay(payment)
        expect(kept.status).toBe(503)
        expect(await kept.text()).not.toContain('worth')
      }
      expect(errors).toMatchObject([{ fields: { facilitatorAmount: amount } }, {}])
      expect(await recorded()).toMatchObject({ state: 'submitted', charged: 20_000n })
    },
  )

  it.each(['2e4', -20_000, null, '9'.repeat(79)])(
    'in a way that is no amount, as %j: it said nothing',
    async (amount) => {
      elsewhere.scripts['settle'] = paid({ amount })
      const sold = await shop.pay(await sign())
      expect(settlementOf(sold)).toMatchObject({ success: true, amount: '20000' })
    },
  )
})

describe('where nothing is charged', () => {
  beforeEach(() => {
    price = '0'
  })

  it.each<[string, Script]>([
    ['says so', paid({ transaction: '', amount: '0' })],
    ['refuses it', failed('permit2_simulation_failed')],
    ['does not answer', 'break'],
  ])('sells if the facilitator, which is told, %s', async (_name, script) => {
    elsewhere.scripts['settle'] = script
    const payment = await sign()
    const sold = await shop.pay(payment)
    expect(await sold.json()).toEqual({ worth: '0' })
    expect(settlementOf(sold)).toMatchObject({ success: true, transaction: '', amount: '0' })
    expect(told('settle')).toMatchObject([{ amount: '0', accepted: '100000' }])
    expect(await recorded()).toMatchObject({ state: 'settled', charged: 0n })
    expect(events).toMatchObject([{ transaction: '', amount: '0', price: '$0', maximum: '100000' }])
    price = '0.02'
    expect((await shop.pay(payment)).status).toBe(402)
    expect(told('settle')).toHaveLength(1)
  })

  it('takes no payment that is valid for much longer than it was asked to', async () => {
    const refused = await shop.pay(await sign({ maxTimeoutSeconds: 86_400 }))
    expect(paymentRequiredOf(refused)).toMatchObject({ error: 'invalid_payload' })
    expect(told('verify')).toEqual([])
  })
})

describe('a facilitator that meters nothing', () => {
  const exact = { x402Version: 2, scheme: 'exact', network }
  const elsewhereOnly = { x402Version: 2, scheme: 'upto', network: 'eip155:1' }

  it.each<[string, Script]>([
    ['exact alone', kinds(exact)],
    ['upto without an address', kinds({ ...exact, scheme: 'upto' })],
    ['upto elsewhere', kinds({ ...elsewhereOnly, extra: { facilitatorAddress: CALLER } })],
  ])('with %s: says so in the log, and asks nobody to pay', async (_name, supported) => {
    elsewhere.scripts['supported'] = supported
    const refused = await shop.ask()
    expect(refused.status).toBe(503)
    expect(await refused.json()).toMatchObject({ code: 'facilitator_refused' })
    expect(refused.headers.has('payment-required')).toBe(false)
    expect(errors).toMatchObject([{ message: expect.stringContaining('upto) on Base Sepolia') }])
  })

  it('any more: gives what is paid for, or still open, and takes nothing new', async () => {
    const [open1, unknown] = [await sign(), await sign()]
    elsewhere.scripts['settle'] = ['break', paid()]
    expect((await shop.pay(open1)).status).toBe(503)
    elsewhere.scripts['supported'] = kinds(exact)
    shop = await open()
    expect((await shop.pay(unknown)).status).toBe(503)
    const sold = await shop.pay(open1)
    expect(await sold.json()).toEqual({ worth: '0.02' })
    expect(runs).toBe(1)
  })

  it('because it cannot be reached: asks nobody to pay until it can', async () => {
    elsewhere.scripts['supported'] = ['break', METERS]
    const refused = await shop.ask()
    expect(await refused.json()).toMatchObject({ code: 'facilitator_unreachable' })
    expect((await shop.ask()).status).toBe(402)
  })
})

it('is settled for its caller, too, for what he says of it, and once', async () => {
  const paymentOf = async () => (await sign()) as unknown as PaymentPayload
  const [payment, other] = [await paymentOf(), await paymentOf()]
  const offer = payment.accepted as unknown as PaymentRequirements
  elsewhere.scripts['settle'] = paid()
  const settled = await shop.facilitator.settle(payment, { ...offer, amount: '7' })
  expect(settled).toMatchObject({ success: true, transaction, payer, amount: '7' })
  expect(told('settle')).toMatchObject([{ amount: '7', accepted: '100000' }])
  expect(await shop.facilitator.settle(payment, { ...offer, amount: '8' })).toMatchObject({
    success: false,
  })
  const exceeded = await shop.facilitator.settle(other, { ...offer, amount: '100001' })
  expect(exceeded).toMatchObject({
    errorReason: 'invalid_upto_evm_payload_settlement_exceeds_amount',
  })
  expect(told('settle')).toHaveLength(1)
})

it('asks the facilitator for its address with the first request alone', async () => {
  for (let times = 0; times < 3; times++) expect((await shop.ask()).status).toBe(402)
  expect(elsewhere.requests.filter(({ path }) => path.endsWith('supported'))).toHaveLength(1)
})

it('what was charged is no fixed price, whatever its payer says that he has signed', async () => {
  const kind = { x402Version: 2, scheme: 'upto', network }
  elsewhere.scripts = {
    supported: kinds({ ...kind, extra: { facilitatorAddress: CALLER } }),
    verify: VALID,
    settle: failed('settlement_pending'),
  }
  const token = { address: `0x${'22'.repeat(20)}`, symbol: 'PRM', decimals: 6, currency: 'USD' }
  const gateway = createGateway({
    facilitator: httpFacilitator({ url: elsewhere.url }),
    networks: { 'base-sepolia': { assets: [{ ...token, permit2: true }] } },
    projects: [{ id: 'shop', merchant: { payTo: MERCHANT.address } }],
    ledger,
  })
  const app = express()
  const [metered, fixed] = [gateway.x402Protect({ upTo: '$0.10' }), gateway.x402Protect('$0.10')]
  // No payment is bound to a header, and to a body only where it was parsed.
  app.post(
    '/',
    (req, res, next) => (req.get('x-plan') === 'fixed' ? fixed : metered)(req, res, next),
    (req, res) => {
      if (req.get('x-plan') === 'metered') paidRequest(req).charge('0.000001')
      res.send(req.get('x-plan'))
    },
  )
  const server = await listen(app)
  toEnd.push(
    () => gateway.close(),
    () => server.close(),
  )
  const post = (plan: string, payment?: object) =>
    fetch(server.url, {
      ...{ method: 'POST', body: 'upload' },
      headers: { 'x-plan': plan, ...(payment && paymentHeader(payment)) },
    })
  const payment = await signUpTo(await post('metered'), PAYERS[0]!)
  expect((await post('metered', payment)).status).toBe(503)
  elsewhere.scripts['settle'] = paid({ amount: '1' })
  const exact = paymentRequiredOf(await post('fixed')).accepts[0]!
  const { offerId } = payment.accepted.extra!
  const renamed = { ...payment, accepted: { ...exact, extra: { ...exact.extra, offerId } } }
  const refused = await post('fixed', renamed)
  expect(refused.status).toBe(402)
  expect(await refused.text()).not.toBe('fixed')
  expect(await (await post('metered', payment)).text()).toBe('metered')
})
