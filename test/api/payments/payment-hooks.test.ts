/** The hooks before verify and settle see payments by every way there is, and no refunds. */
import { beforeEach, expect, it } from '@jest/globals'
import type { PaymentHooks, ProposedPayment } from '../../../src/core/schemes/payment-hooks.js'
import type { PaymentRequirements } from '../../../src/shared/protocol/payment.js'
import { balanceOf, useDevnet } from '../../support/devnet.js'
import { resumeMining, stopMining } from '../../support/mining.js'
import { openRemoteCore, openRemoteShop } from '../../support/remote-shops.js'
import { paymentHeader } from '../../support/http.js'
import { paymentRequiredOf } from '../../support/shop.js'
import { signPayment } from '../../support/sign-payment.js'
import { until } from '../../support/until.js'
import { untilDecided } from '../../support/until-decided.js'
import { useCleanup } from '../../support/cleanup.js'
import { useOpened } from '../../support/use-opened.js'
import { openLinkShop, pathOf } from '../../sell/links/shop.js'
import { SHOP_TOKEN } from '../../support/devnet.js'

const REASON = 'We cannot sell to this account.'
const DECLINED = { error: 'payment_declined', errorMessage: REASON }

const devnet = useDevnet()
const toEnd = useCleanup()
const payer = () => devnet.payers[0]!
const earned = () => balanceOf(devnet, devnet.merchant.address)

let vetoed: keyof PaymentHooks | undefined
let seen: [keyof PaymentHooks, ProposedPayment][] = []
const hook = (name: keyof PaymentHooks) => async (payment: ProposedPayment) => {
  seen.push([name, payment])
  return vetoed === name ? { reason: REASON } : undefined
}
const hooks = { beforeVerify: hook('beforeVerify'), beforeSettle: hook('beforeSettle') }
const names = () => seen.map(([name]) => name)
beforeEach(() => {
  vetoed = undefined
  seen = []
})

const shop = useOpened(() => openLinkShop(devnet, { ...hooks, settleTimeoutMs: 2000 }))

async function submission() {
  const asked = { resourceUrl: 'https://shop.example/report', requestedAmount: 0.01 }
  const { body } = await post('requirements', asked)
  const paymentRequirements = body.accepts[0] as PaymentRequirements
  return { paymentPayload: await signPayment(payer(), paymentRequirements), paymentRequirements }
}

async function post(path: string, document: object) {
  const response = await fetch(`${shop.url}/api/v2/payment/${path}`, {
    method: 'POST',
    headers: { 'X-Project-Identify-Token': SHOP_TOKEN, 'Content-Type': 'application/json' },
    body: JSON.stringify(document),
  })
  return { status: response.status, body: JSON.parse(await response.text()) }
}

it('are asked by verify and settle of the API', async () => {
  const [body, before] = [await submission(), await earned()]
  const valid = { status: 200, body: { isValid: true } }
  const declined = { success: false, errorReason: 'payment_declined', errorMessage: REASON }
  vetoed = 'beforeVerify'
  expect(await post('verify', body)).toMatchObject({
    status: 200,
    body: { isValid: false, invalidReason: 'payment_declined', invalidMessage: REASON },
  })
  expect(await post('settle', body)).toMatchObject({ status: 200, body: declined })
  vetoed = 'beforeSettle'
  // What was verified a moment ago is asked about again.
  expect(await post('verify', body)).toMatchObject(valid)
  expect(await post('settle', body)).toMatchObject({ status: 200, body: declined })
  expect(names().slice(-3)).toEqual(['beforeVerify', 'beforeVerify', 'beforeSettle'])
  expect(seen.at(-1)![1]).toMatchObject({ project: 'shop', amount: '10000', client: undefined })
  expect(await earned()).toBe(before)
  vetoed = undefined
  expect(await post('settle', body)).toMatchObject({ status: 200, body: { success: true } })
  expect(await earned()).toBe(before + 10_000n)
})

it('see addresses with their checksum, however the caller writes them', async () => {
  const { paymentPayload, paymentRequirements } = await submission()
  const lower = {
    ...paymentRequirements,
    asset: paymentRequirements.asset.toLowerCase(),
    payTo: paymentRequirements.payTo.toLowerCase(),
  }
  const body = {
    paymentPayload: { ...paymentPayload, accepted: lower },
    paymentRequirements: lower,
  }
  expect(await post('verify', body)).toMatchObject({ body: { isValid: true } })
  expect(seen[0]![1]).toMatchObject({
    asset: devnet.asset,
    payTo: devnet.merchant.address,
    payer: payer().address,
  })
})

it('answer 503 through the API where they fail', async () => {
  const body = await submission()
  const failing = await openLinkShop(devnet, {
    beforeVerify: () => Promise.reject(new Error('Down.')),
    logger: { debug() {}, info() {}, warn() {}, error() {} },
  })
  toEnd.push(() => failing.close())
  for (const path of ['verify', 'settle']) {
    const response = await fetch(`${failing.url}/api/v2/payment/${path}`, {
      method: 'POST',
      headers: { 'X-Project-Identify-Token': SHOP_TOKEN, 'Content-Type': 'application/json' },
      body: JSON.stringify(body),
    })
    expect([response.status, response.headers.get('retry-after')]).toEqual([503, '5'])
    expect(await response.json()).toMatchObject({ code: 'hook_failed' })
  }
})

it.each(['beforeVerify', 'beforeSettle'] as const)(
  'are asked for a payment link, which stays open after a veto of %s; not for its refund',
  async (name) => {
    const checkout = await shop.link()
    const [payment, before] = [await shop.sign(pathOf(checkout), payer()), await earned()]
    vetoed = name
    const refused = await shop.pay(pathOf(checkout), payment)
    expect(refused.status).toBe(402)
    expect(paymentRequiredOf(refused)).toMatchObject(DECLINED)
    expect(await earned()).toBe(before)
    expect(await shop.read(checkout)).toMatchObject({ status: 'open' })
    vetoed = undefined
    const paid = await untilDecided(() => shop.pay(pathOf(checkout), payment))
    expect(paid.status).toBe(200)
    expect(await shop.read(checkout)).toMatchObject({ status: 'paid' })
    vetoed = name
    seen = []
    await shop.refund(checkout)
    expect(await earned()).toBe(before)
    expect(seen).toEqual([])
  },
)

it('are asked for a checkout of UCP, whose order is taken back after a veto', async () => {
  const url = 'https://shop.example/checkouts/1'
  const { accepts } = (await post('requirements', { resourceUrl: url, requestedAmount: 0.01 })).body
  const offer = accepts[0] as PaymentRequirements
  const credential = {
    paymentPayload: await signPayment(payer(), offer, { payload: { resource: { url } } }),
    paymentRequirements: offer,
  }
  const { id } = shop.gateway.ucpHandler
  const done: string[] = []
  const complete = () =>
    shop.gateway.completeWithX402(
      { handler_id: id, type: 'x402', credential },
      {
        config: { x402Version: 2, resource: { url }, accepts: [offer] } as never,
        placeOrder: () => void done.push('place'),
        cancelOrder: () => void done.push('cancel'),
      },
    )
  vetoed = 'beforeSettle'
  expect(await complete()).toMatchObject({ status: 'ready_for_complete' })
  expect(done).toEqual(['place', 'cancel'])
  expect(seen.at(-1)![1].client).toBeUndefined()
  vetoed = 'beforeVerify'
  expect(await complete()).toMatchObject({ status: 'ready_for_complete' })
  vetoed = undefined
  expect(await complete()).toMatchObject({ status: 'completed' })
  expect(done).toEqual(['place', 'cancel', 'place'])
})

it('are asked here where another facilitator settles, and it is not asked after a veto', async () => {
  const core = await openRemoteCore(devnet, toEnd, { settleTimeoutMs: 400 })
  const facilitator = core.facilitator()
  const remote = await openRemoteShop(devnet, toEnd, { name: 'remote', facilitator, ...hooks })
  const offered = await fetch(remote.goods)
  const { accepts, resource } = paymentRequiredOf(offered)
  const payment = await signPayment(payer(), accepts[0]!, {
    payload: { resource: { ...resource } },
  })
  const pay = () => fetch(remote.goods, { headers: paymentHeader(payment) })
  const before = await earned()
  core.asked.length = 0
  vetoed = 'beforeVerify'
  expect(paymentRequiredOf(await pay())).toMatchObject(DECLINED)
  expect(core.asked).toEqual([])
  vetoed = 'beforeSettle'
  expect(paymentRequiredOf(await pay())).toMatchObject(DECLINED)
  expect(core.asked).toEqual(['verify'])
  vetoed = undefined
  await stopMining(devnet)
  expect((await pay()).status).toBe(503)
  vetoed = 'beforeVerify'
  await resumeMining(devnet)
  await until(async () => (await pay()).status === 200)
  expect(await earned()).toBe(before + 10_000n)
})

it('of another facilitator leave the payment unused here', async () => {
  const core = await openRemoteCore(devnet, toEnd, hooks)
  const facilitator = core.facilitator()
  const remote = await openRemoteShop(devnet, toEnd, { name: 'remote', facilitator })
  const { accepts, resource } = paymentRequiredOf(await fetch(remote.goods))
  const payment = await signPayment(payer(), accepts[0]!, {
    payload: { resource: { ...resource } },
  })
  const pay = () => fetch(remote.goods, { headers: paymentHeader(payment) })
  const before = await earned()
  vetoed = 'beforeSettle'
  expect(paymentRequiredOf(await pay())).toMatchObject({ error: 'payment_declined' })
  expect(await earned()).toBe(before)
  vetoed = undefined
  expect((await pay()).status).toBe(200)
  expect(await earned()).toBe(before + 10_000n)
})
