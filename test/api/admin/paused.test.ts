/** A merchant who is paused: nothing new is taken, what was taken is finished, and refunds work. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { privateKeyToAccount } from 'viem/accounts'
import { createMemoryLedger } from '../../../src/ledger/memory-ledger.js'
import { balanceOf, useDevnet } from '../../support/devnet.js'
import { newPayer } from '../../support/on-chain.js'
import { openShop, settlementOf, type Shop } from '../../support/shop.js'
import { signPayment, type TestPayer } from '../../support/sign-payment.js'
import { until } from '../../support/until.js'
import { ADMIN_TOKEN } from './admin.js'
import { stopMining, resumeMining } from '../../support/mining.js'

const devnet = useDevnet()
const payer = () => devnet.payers[0]!

let shop: Shop & { close(): Promise<void> }
let seller: TestPayer
let token = ''
let runs = 0
/** What the handler of `/held` waits for. */
let held: Promise<void> = Promise.resolve()

/** Asks the API, as the operator or as the merchant. */
async function ask(method: string, path: string, body?: unknown) {
  const isAdmin = path.startsWith('admin/')
  const response = await fetch(`${shop.url}/api/v2/${path}`, {
    method,
    headers: {
      ...(isAdmin
        ? { Authorization: `Bearer ${ADMIN_TOKEN}` }
        : { 'X-Project-Identify-Token': token }),
      ...(body !== undefined && { 'Content-Type': 'application/json' }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  const text = await response.text()
  return { status: response.status, body: text === '' ? undefined : JSON.parse(text) }
}

const pause = (paused: boolean) => ask('PATCH', 'admin/projects/acme', { paused })
const earned = () => balanceOf(devnet, seller.address)

beforeAll(async () => {
  seller = await newPayer(devnet)
  shop = await openShop(
    devnet,
    (app, { x402Protect, gatewayRouter }) => {
      const merchant = 'acme'
      app.get(
        '/fixed',
        x402Protect('$0.01', { merchant }),
        (_req, res) => void res.send(`${++runs}`),
      )
      app.get(
        '/priced',
        x402Protect(() => '$0.01', { merchant }),
        (_req, res) => {
          res.send(`${++runs}`)
        },
      )
      app.get(
        '/free',
        x402Protect(() => 0, { merchant, allowFree: true }),
        (_req, res) => {
          res.send('free')
        },
      )
      app.get('/held', x402Protect('$0.01', { merchant }), async (_req, res) => {
        runs += 1
        await held
        res.send('held')
      })
      app.get(
        '/off',
        x402Protect('$0.01', { merchant: 'off' }),
        (_req, res) => void res.send(`${++runs}`),
      )
      app.use(gatewayRouter())
    },
    {
      projects: [
        { id: 'off', paused: true, merchant: { payTo: seller.address } },
        { id: 'other', merchant: { payTo: seller.address } },
      ],
      admin: { tokens: [ADMIN_TOKEN] },
      ledger: createMemoryLedger(),
      // Long enough for a busy machine.
      settleTimeoutMs: 4000,
    },
  )
  const merchant = { payTo: seller.address }
  await ask('POST', 'admin/projects', { id: 'acme', merchant })
  token = (await ask('POST', 'admin/projects/acme/tokens', {})).body.token
})
afterAll(() => shop.close())
afterEach(async () => {
  await resumeMining(devnet)
  await pause(false)
})

async function expectPaused(response: Response): Promise<void> {
  expect(response.status).toBe(503)
  expect(await response.json()).toMatchObject({ code: 'merchant_paused', status: 503 })
  expect(response.headers.get('retry-after')).toBe('60')
  expect(response.headers.get('payment-required')).toBeNull()
}

/** A payment for the API, as it is submitted. */
async function submission() {
  const asked = { resourceUrl: 'https://shop.example/report', requestedAmount: 0.25 }
  const { body } = await ask('POST', 'payment/requirements', asked)
  const { protocolVersion: _, ...paymentRequirements } = body.accepts[0]
  return {
    paymentPayload: await signPayment(payer(), paymentRequirements),
    paymentRequirements,
  }
}

describe('a paid route whose merchant is paused', () => {
  it.each(['/fixed', '/priced'])('asks for no payment and takes none at %s', async (path) => {
    const payment = await shop.sign(path, payer())
    const [money, ran] = [await earned(), runs]
    expect(await pause(true)).toMatchObject({
      status: 200,
      body: { paused: true, pausedBy: 'operator' },
    })
    await expectPaused(await shop.ask(path))
    await expectPaused(await shop.pay(path, payment))
    await expectPaused(await shop.pay(path, { ...payment, payload: {} }))
    expect([await earned(), runs]).toEqual([money, ran])
    // The same payment is good once the merchant takes payments again.
    await pause(false)
    expect((await shop.pay(path, payment)).status).toBe(200)
    expect([(await earned()) - money, runs]).toEqual([10_000n, ran + 1])
  })

  it('still gives away what is free', async () => {
    await pause(true)
    expect(await (await shop.ask('/free')).text()).toBe('free')
  })

  it('finishes a request whose handler runs', async () => {
    const payment = await shop.sign('/held', payer())
    const [money, ran] = [await earned(), runs]
    let letGo = (): void => undefined
    held = new Promise((resolve) => (letGo = resolve))
    const response = shop.pay('/held', payment)
    await until(() => runs > ran)
    await pause(true)
    letGo()
    expect(await (await response).text()).toBe('held')
    expect((await earned()) - money).toBe(10_000n)
  })

  it('answers a payment whose transaction is out, once, and charges nothing more', async () => {
    const payment = await shop.sign('/fixed', payer())
    const money = await earned()
    await stopMining(devnet)
    const pending = await shop.pay('/fixed', payment)
    expect([pending.status, settlementOf(pending)]).toMatchObject([
      503,
      { errorReason: 'settlement_pending' },
    ])
    await pause(true)
    await resumeMining(devnet)
    await until(async () => (await shop.pay('/fixed', payment)).status === 200)
    const again = await shop.pay('/fixed', payment)
    expect(again.status).not.toBe(200)
    expect((await earned()) - money).toBe(10_000n)
  })

  it('is refused by the configuration as well', async () => {
    const ran = runs
    await expectPaused(await shop.ask('/off'))
    expect(runs).toBe(ran)
    const changed = await ask('PATCH', 'admin/projects/off', { paused: false })
    expect(changed).toMatchObject({ status: 409, body: { code: 'project_configured' } })
    expect((await ask('GET', 'admin/projects/off')).body).toMatchObject({ paused: true })
    expect((await ask('GET', 'admin/projects/other')).body).toMatchObject({ paused: false })
  })
})

describe('the API of a merchant who is paused', () => {
  it('refuses verify, settle and new offers, and takes the same payment later', async () => {
    const payment = await submission()
    const money = await earned()
    await pause(true)
    expect(await ask('POST', 'payment/verify', payment)).toMatchObject({
      status: 200,
      body: { isValid: false, invalidReason: 'merchant_paused' },
    })
    expect(await ask('POST', 'payment/settle', payment)).toMatchObject({
      status: 200,
      body: { success: false, errorReason: 'merchant_paused', transaction: '' },
    })
    const refused = { status: 409, body: { code: 'merchant_paused' } }
    const resourceUrl = 'https://shop.example/report'
    const asked = { resourceUrl, requestedAmount: 0.25 }
    expect(await ask('POST', 'payment/requirements', asked)).toMatchObject(refused)
    const checkout = { amount: '15.00', currency: 'USD', resource: { url: resourceUrl } }
    expect(await ask('POST', 'merchant/checkout-prepare', checkout)).toMatchObject(refused)
    expect(await earned()).toBe(money)
    await pause(false)
    expect((await ask('POST', 'payment/verify', payment)).body).toMatchObject({ isValid: true })
    expect((await ask('POST', 'payment/settle', payment)).body).toMatchObject({ success: true })
    expect((await earned()) - money).toBe(250_000n)
  })

  it('still says that a payment was settled, lists it, and pays it back', async () => {
    const payment = await submission()
    expect((await ask('POST', 'payment/settle', payment)).body).toMatchObject({ success: true })
    await pause(true)
    expect((await ask('POST', 'payment/settle', payment)).body).toMatchObject({
      success: false,
      errorReason: 'invalid_exact_evm_nonce_already_used',
    })
    const { settlements } = (await ask('GET', 'merchant/settlements?limit=1')).body
    const path = `merchant/settlements/${settlements[0].id}/refunds`
    const { typedData } = (await ask('GET', `${path}/prepare?amount=100000`)).body
    const signature = await privateKeyToAccount(seller.privateKey).signTypedData(typedData)
    const before = await balanceOf(devnet, payer().address)
    const refund = await ask('POST', path, { authorization: typedData.message, signature })
    expect(refund).toMatchObject({ status: 201, body: { status: 'settled' } })
    expect((await balanceOf(devnet, payer().address)) - before).toBe(100_000n)
  })

  it('shows browsers a page that nothing is for sale now', async () => {
    await pause(true)
    const page = await shop.ask('/fixed', { headers: { Accept: 'text/html' } })
    expect([page.status, page.headers.get('content-type')]).toEqual([
      503,
      'text/html; charset=utf-8',
    ])
  })
})
