/** What was presented once is redeemed on its own terms, and nothing new is taken on them. */
import { afterEach, describe, expect, it } from '@jest/globals'
import type { Express } from 'express'
import type { GatewayOptions } from '../../src/gateway/config/options.js'
import { httpFacilitator } from '../../src/core/facilitator/http/http-facilitator.js'
import type { Gateway } from '../../src/gateway/gateway.js'
import type { LedgerStore } from '../../src/ledger/index.js'
import { fixedRates } from '../../src/shared/money/fixed-rates.js'
import type { PaymentFlow, PaymentPayload } from '../../src/shared/protocol/payment.js'
import { ADMIN_TOKEN } from '../api/admin/admin.js'
import { useCleanup, closedBy } from '../support/cleanup.js'
import { balanceOf, useDevnet } from '../support/devnet.js'
import { newPayer } from '../support/on-chain.js'
import { openShop, paymentRequiredOf, settlementOf, type Shop } from '../support/shop.js'
import { signPayment, type TestPayer } from '../support/sign-payment.js'
import { until } from '../support/until.js'
import { untilDecided } from '../support/until-decided.js'
import { storeMakers } from './stores.js'
import { stopMining, resumeMining } from '../support/mining.js'

const devnet = useDevnet()
const toEnd = useCleanup()
afterEach(async () => {
  functionPrice.cents = 1
})

const OLD_PAY_TO = '0x000000000000000000000000000000000000501d'
const NEW_PAY_TO = '0x0000000000000000000000000000000000000ae3'
const SOLD = { name: 'sold' }
const functionPrice = { cents: 1 }

interface Terms {
  readonly price: string
  readonly flow: PaymentFlow
  readonly maxTimeoutSeconds: number
}
const BEFORE: Terms = { price: '$0.01', flow: 'authorization', maxTimeoutSeconds: 300 }

const routes =
  ({ price, flow: paymentFlow, maxTimeoutSeconds }: Terms) =>
  (app: Express, { x402Protect, gatewayRouter }: Gateway): void => {
    const earlierPrices = [BEFORE.price]
    const options = { merchant: 'acme', paymentFlow, maxTimeoutSeconds, earlierPrices }
    const sell = (path: string, cost: string | (() => string), merchant = 'acme'): void => {
      app.all(path, x402Protect(cost, { ...options, merchant }), (_req, res) => void res.json(SOLD))
    }
    sell('/item', price)
    sell('/other', price)
    // An earlier price of one resource may be another one's price now.
    sell('/cheap', BEFORE.price)
    sell('/twin', price, 'twin')
    sell('/quoted', '€0.01')
    sell('/cart', () => `$0.0${functionPrice.cents}`)
    app.use(gatewayRouter())
  }

const options = (ledger: LedgerStore, assets: readonly string[] = ['USDC', 'EURC']) =>
  ({
    networks: {
      'base-sepolia': { rpcUrl: devnet.rpcUrl, relayerKeys: devnet.relayerKeys, assets },
    },
    projects: [],
    admin: { tokens: [ADMIN_TOKEN] },
    rates: fixedRates({ 'EUR/USD': '1.25' }),
    publicUrl: 'https://shop.example',
    settleTimeoutMs: 150,
    ledger,
  }) satisfies GatewayOptions

/** Sends a request to a gateway's API. */
async function send(shop: Shop, path: string, init: RequestInit & { body: string }) {
  const headers = { 'Content-Type': 'application/json', ...init.headers }
  const response = await fetch(`${shop.url}/api/v2${path}`, { method: 'POST', ...init, headers })
  expect(response.status).toBeLessThan(300)
  return (await response.json()) as Record<string, unknown>
}

const administer = (shop: Shop, method: string, { path, body }: { path: string; body: object }) =>
  send(shop, `/admin${path}`, {
    method,
    headers: { Authorization: `Bearer ${ADMIN_TOKEN}` },
    body: JSON.stringify(body),
  })

/** Opens a shop whose merchant is kept in the ledger. @returns It, and its identify token. */
async function openStored(ledger: LedgerStore, terms: Terms = BEFORE) {
  const shop = closedBy(toEnd, await openShop(devnet, routes(terms), options(ledger)))
  const tokens: string[] = []
  for (const id of ['acme', 'twin']) {
    const merchant = { payTo: OLD_PAY_TO, crossCurrency: true }
    await administer(shop, 'POST', { path: '/projects', body: { id, merchant } })
    const path = `/projects/${id}/tokens`
    const { token } = await administer(shop, 'POST', { path, body: { label: 'till' } })
    tokens.push(String(token))
  }
  return { shop, tokens }
}

/** Another payee, and only the other token. */
const change = (shop: Shop) =>
  administer(shop, 'PATCH', {
    path: '/projects/acme',
    body: {
      merchant: { payTo: NEW_PAY_TO, accepts: [{ network: 'base-sepolia', asset: 'EURC' }] },
    },
  })

/** Settles, or verifies, by the API. */
const post = (shop: Shop, endpoint: 'settle' | 'verify', { token, payment }: Posted) =>
  send(shop, `/payment/${endpoint}`, {
    headers: { 'X-Project-Identify-Token': token },
    body: JSON.stringify({ paymentPayload: payment, paymentRequirements: payment.accepted }),
  })
interface Posted {
  readonly token: string
  readonly payment: PaymentPayload
}

/** Presents a payment whose transaction is not mined before the answer, but right after it. */
async function leavePending(shop: Shop, path: string, payer: TestPayer): Promise<PaymentPayload> {
  const payment = await shop.sign(path, payer)
  await stopMining(devnet)
  const pending = await shop.pay(path, payment)
  expect([pending.status, settlementOf(pending)]).toMatchObject([
    503,
    { errorReason: 'settlement_pending' },
  ])
  await resumeMining(devnet)
  return payment
}

/** Presents a payment until its outcome is known. */
const redeem = (shop: Shop, path: string, payment: PaymentPayload): Promise<Response> =>
  untilDecided(() => shop.pay(path, payment))

const errorOf = (response: Response) => [response.status, paymentRequiredOf(response).error]

/** Leaves out what proves the buyer. */
function withoutProof(payment: PaymentPayload): PaymentPayload {
  const { offerId: _offerId, ...extra } = payment.accepted['extra'] as Record<string, unknown>
  return { ...payment, accepted: { ...payment.accepted, extra } }
}

/** What a stranger, or the buyer himself, tries with the terms of an open record. */
async function attack(
  shop: Shop,
  tokens: readonly string[],
  open: PaymentPayload,
  payer: TestPayer,
) {
  const { resource: _resource, ...unnamed } = open
  const again = await signPayment(payer, open.accepted as never)
  const [acme, twin] = tokens as [string, string]
  const before = await balanceOf(devnet, payer.address)
  // A new authorization on the old terms, with the proof of the open record.
  expect(errorOf(await shop.pay('/item', again))).toEqual([402, 'unsupported_asset'])
  for (const endpoint of ['verify', 'settle'] as const)
    expect(await post(shop, endpoint, { token: acme, payment: again })).toMatchObject({
      [endpoint === 'verify' ? 'invalidReason' : 'errorReason']: 'unsupported_asset',
    })
  // Another route, another method, another project.
  expect(errorOf(await shop.pay('/other', unnamed))).toEqual([402, 'unsupported_asset'])
  const posted = await shop.pay('/item', unnamed, { method: 'POST' })
  expect(errorOf(posted)).toEqual([402, 'unsupported_asset'])
  expect((await shop.pay('/twin', unnamed)).status).toBe(402)
  const elsewhere = await post(shop, 'settle', { token: twin, payment: open })
  expect(elsewhere).toMatchObject({ success: false, transaction: '' })
  expect(elsewhere).not.toHaveProperty('settledBy')
  // Somebody who has seen the authorization on chain, and somebody who changes the amount.
  const stranger = await shop.pay('/item', withoutProof(open))
  expect(errorOf(stranger)).toEqual([402, 'invalid_exact_evm_nonce_already_used'])
  expect(stranger.headers.get('payment-response')).toBeNull()
  const lie = { ...open, accepted: { ...open.accepted, amount: '9000000' } }
  expect((await shop.pay('/item', lie)).status).toBe(402)
  expect(await balanceOf(devnet, payer.address)).toBe(before)
}

describe.each(storeMakers)(
  'a payment that is pending while its merchant changes, in %s',
  (_name, make) => {
    it('is redeemed once on its own terms after a PATCH of payee and token, which new payments are not', async () => {
      const store = await make()
      if (store === undefined) return
      toEnd.push(() => store.drop())
      const { shop, tokens } = await openStored(store.open())
      const payer = await newPayer(devnet)
      const before = await balanceOf(devnet, OLD_PAY_TO)
      const payment = await leavePending(shop, '/item', payer)
      await change(shop)
      expect(paymentRequiredOf(await shop.ask('/item')).accepts).toMatchObject([
        { payTo: expect.stringMatching(new RegExp(NEW_PAY_TO, 'i')) },
      ])

      await attack(shop, tokens, payment, payer)
      const redeemed = await redeem(shop, '/item', payment)
      expect([redeemed.status, await redeemed.json()]).toEqual([200, SOLD])
      expect(settlementOf(redeemed)).toMatchObject({ success: true })
      const again = await shop.pay('/item', payment)
      expect(errorOf(again)).toEqual([402, 'invalid_exact_evm_nonce_already_used'])
      expect(settlementOf(again)).toHaveProperty('settledBy')
      await attack(shop, tokens, payment, payer)
      expect((await balanceOf(devnet, OLD_PAY_TO)) - before).toBe(10_000n)
    })

    it('is redeemed by its signed quote, and by a price function that returns the same', async () => {
      const store = await make()
      if (store === undefined) return
      toEnd.push(() => store.drop())
      const { shop } = await openStored(store.open())
      const payer = await newPayer(devnet)
      const quoted = await leavePending(shop, '/quoted', payer)
      expect(quoted.accepted['extra']).toHaveProperty('quote')
      const [cart, dearer] = [
        await leavePending(shop, '/cart', payer),
        await leavePending(shop, '/cart', payer),
      ]
      await change(shop)
      expect((await redeem(shop, '/quoted', quoted)).status).toBe(200)
      expect((await redeem(shop, '/cart', cart)).status).toBe(200)
      // Something else may be in the cart by now.
      functionPrice.cents = 9
      const refused = await redeem(shop, '/cart', dearer)
      expect(errorOf(refused)).toEqual([402, 'invalid_exact_evm_nonce_already_used'])
    })

    it('is settled by the API on its own terms', async () => {
      const store = await make()
      if (store === undefined) return
      toEnd.push(() => store.drop())
      const { shop, tokens } = await openStored(store.open())
      const [token] = tokens as [string]
      const payment = await shop.sign('/item', await newPayer(devnet))
      await stopMining(devnet)
      expect(await post(shop, 'settle', { token, payment })).toMatchObject({
        success: false,
        errorReason: 'settlement_pending',
      })
      await change(shop)
      await resumeMining(devnet)
      let answer = await post(shop, 'verify', { token, payment })
      expect(answer).toMatchObject({ isValid: true })
      await until(async () => {
        answer = await post(shop, 'settle', { token, payment })
        return answer['errorReason'] !== 'settlement_pending'
      })
      expect(answer).toMatchObject({ success: true })
      expect(await post(shop, 'settle', { token, payment })).toMatchObject({
        success: false,
        errorReason: 'invalid_exact_evm_nonce_already_used',
      })
    })
  },
)

describe.each(storeMakers.filter(([name]) => name !== 'memory'))(
  'a payment that is pending while its gateway is started with another configuration, in %s',
  (_name, make) => {
    it.each<[string, Partial<Terms>, readonly string[]]>([
      ['price', { price: '$0.05' }, ['USDC']],
      ['flow and time', { flow: 'upfront', maxTimeoutSeconds: 60 }, ['USDC']],
      ['token', { price: '€0.05' }, ['EURC']],
    ])('is redeemed on its own terms: another payee and %s', async (_what, after, assets) => {
      const store = await make()
      if (store === undefined) return
      toEnd.push(() => store.drop())
      const configured = (payTo: string) => [
        { id: 'acme', merchant: { payTo, crossCurrency: true } },
        { id: 'twin', merchant: { payTo, crossCurrency: true } },
      ]
      const open = (terms: Terms, changed: Partial<GatewayOptions>, tokens?: readonly string[]) =>
        openShop(devnet, routes(terms), { ...options(store.open(), tokens), ...changed })
      const first = await open(BEFORE, { projects: configured(OLD_PAY_TO) })
      const payer = await newPayer(devnet)
      const payment = await leavePending(first, '/item', payer)
      await first.close()

      const next = await open({ ...BEFORE, ...after }, { projects: configured(NEW_PAY_TO) }, assets)
      toEnd.push(() => next.close())
      const left = await balanceOf(devnet, payer.address)
      const refused = await next.pay('/item', await signPayment(payer, payment.accepted as never))
      expect(refused.status).toBe(402)
      const redeemed = await redeem(next, '/item', payment)
      expect([redeemed.status, await redeemed.json()]).toEqual([200, SOLD])
      expect(errorOf(await next.pay('/item', payment))).toEqual([
        402,
        'invalid_exact_evm_nonce_already_used',
      ])
      expect(await balanceOf(devnet, payer.address)).toBe(left)
    })
  },
)

it('a pending payment is redeemed on its own terms with a remote core', async () => {
  const [memory] = storeMakers
  const store = (await memory![1]())!
  const { shop: core, tokens } = await openStored(store.open())
  const facilitator = httpFacilitator({ url: `${core.url}/api/v2/payment`, token: tokens[0]! })
  const shop = await openShop(devnet, routes(BEFORE), { ...options(store.open()), facilitator })
  toEnd.push(() => shop.close())
  for (const id of ['acme', 'twin'])
    await administer(shop, 'POST', {
      path: '/projects',
      body: { id, merchant: { payTo: OLD_PAY_TO } },
    })
  const payer = await newPayer(devnet)
  const payment = await leavePending(shop, '/item', payer)
  await administer(shop, 'PATCH', {
    path: '/projects/acme',
    body: { merchant: { payTo: NEW_PAY_TO } },
  })
  await change(core)
  const left = await balanceOf(devnet, payer.address)
  const anew = await shop.pay('/item', await signPayment(payer, payment.accepted as never))
  expect(errorOf(anew)).toEqual([402, 'pay_to_mismatch'])
  expect(errorOf(await shop.pay('/item', withoutProof(payment)))[0]).toBe(402)
  expect((await redeem(shop, '/item', payment)).status).toBe(200)
  expect((await shop.pay('/item', payment)).status).toBe(402)
  expect(await balanceOf(devnet, payer.address)).toBe(left)
})
