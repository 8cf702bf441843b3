/** Rules 4 to 6: what is public on chain is no proof of being the buyer. */
import { describe, expect, it } from '@jest/globals'
import type { Express } from 'express'
import { keccak256 } from 'viem'
import type { Gateway } from '../../src/gateway/gateway.js'
import type { MerchantOptions } from '../../src/gateway/config/options/merchant.js'
import type { Hex, PaymentFlow, PaymentPayload } from '../../src/shared/protocol/payment.js'
import type { RedeemWithoutProof } from '../../src/ledger/purchase.js'
import { createMemoryLedger } from '../../src/ledger/memory-ledger.js'
import { deploy, walletCode } from '../support/contracts.js'
import { balanceOf, SHOP_TOKEN, useDevnet } from '../support/devnet.js'
import { emptyAccount, frontRun, newPayer } from '../support/on-chain.js'
import { openShop, paymentRequiredOf, settlementOf, type Shop } from '../support/shop.js'
import { signPayment } from '../support/sign-payment.js'
import { until } from '../support/until.js'
import { useCleanup } from '../support/cleanup.js'
import { stopMining, resumeMining } from '../support/mining.js'

const USED = 'invalid_exact_evm_nonce_already_used'
const devnet = useDevnet()
const toEnd = useCleanup()

interface Opened {
  readonly flow?: PaymentFlow
  readonly redeemWithoutProof?: RedeemWithoutProof
  readonly merchant?: Partial<MerchantOptions>
  readonly now?: () => number
}

async function open({ flow = 'authorization', ...more }: Opened = {}) {
  const runs = { count: 0 }
  const { redeemWithoutProof, merchant, now = Date.now } = more
  const routes = (app: Express, gateway: Gateway): void => {
    // The buyer's address is what a proxy of the shop's says.
    app.set('trust proxy', true)
    const options = { paymentFlow: flow, ...(redeemWithoutProof && { redeemWithoutProof }) }
    app.get('/report', gateway.x402Protect('$0.01', options), (_req, res) => {
      runs.count += 1
      res.send('for the buyer only')
    })
    app.use(gateway.gatewayRouter())
  }
  const shop = await openShop(devnet, routes, {
    projects: [
      {
        id: 'shop',
        tokens: [SHOP_TOKEN],
        merchant: { payTo: devnet.merchant.address, ...merchant },
      },
    ],
    settleTimeoutMs: 150,
    ledger: createMemoryLedger({ now }),
  })
  toEnd.push(() => shop.close())
  return { shop, runs }
}

const from = (address: string) => ({ headers: { 'X-Forwarded-For': address } })
const BUYER = from('203.0.113.7')
const STRANGER = from('198.51.100.9')

/** What a stranger can make of calldata and of a 402 of his own. */
async function asStranger(shop: Shop, { payload }: PaymentPayload): Promise<object[]> {
  const document = paymentRequiredOf(await shop.ask('/report'))
  const [accepted] = document.accepts
  const { offerId: _own, ...publicExtra } = accepted!.extra as Record<string, unknown>
  const withId = (id: string) => ({ 'payment-identifier': { info: { required: false, id } } })
  return [
    { x402Version: 2, accepted, payload },
    { x402Version: 2, accepted, payload, resource: document.resource },
    { x402Version: 2, accepted: { ...accepted, extra: publicExtra }, payload },
    { x402Version: 2, accepted, payload, extensions: withId('guessed_by_a_stranger') },
  ]
}

async function expectRefused(shop: Shop, payment: PaymentPayload): Promise<void> {
  for (const forged of await asStranger(shop, payment)) {
    const response = await shop.pay('/report', forged, STRANGER)
    expect(response.status).toBe(402)
    expect(paymentRequiredOf(response).error).toBe(USED)
    expect(response.headers.get('payment-response')).toBeNull()
  }
}

/** Presents a payment, which is pending, and is mined a moment later. */
async function leavePending(shop: Shop, payment: PaymentPayload): Promise<void> {
  await stopMining(devnet)
  const pending = await shop.pay('/report', payment, BUYER)
  expect(settlementOf(pending)).toMatchObject({ errorReason: 'settlement_pending' })
  await resumeMining(devnet)
}

/** Presents a payment until its outcome is known. */
async function redeem(shop: Shop, payment: PaymentPayload, how: RequestInit): Promise<Response> {
  for (;;) {
    const response = await shop.pay('/report', payment, how)
    if (response.status !== 503) return response
  }
}

const ID = { 'payment-identifier': { info: { required: false, id: 'the_secret_of_the_buyer' } } }

const without = (payment: PaymentPayload): PaymentPayload => {
  const { offerId: _dropped, ...extra } = payment.accepted['extra'] as Record<string, unknown>
  return { ...payment, accepted: { ...payment.accepted, extra } }
}

describe.each(['authorization', 'upfront'] as const)(
  'a stranger who reads a pending payment on chain, in the flow %s,',
  (flow) => {
    it.each([
      ['with an offer id', (payment: PaymentPayload) => payment],
      ['with a payment-identifier', (payment: PaymentPayload) => ({ ...payment, extensions: ID })],
      [
        'with a payment-identifier alone',
        (payment: PaymentPayload) => ({ ...without(payment), extensions: ID }),
      ],
    ])('gets nothing of the goods bought %s, and its buyer does', async (_how, made) => {
      const { shop, runs } = await open({ flow })
      const payer = await newPayer(devnet)
      const payment = made(await shop.sign('/report', payer))
      await leavePending(shop, payment)
      const [ran, earned] = [runs.count, await balanceOf(devnet, devnet.merchant.address)]
      await expectRefused(shop, payment)
      expect(runs.count).toBe(ran)

      const redeemed = await redeem(shop, payment, from('192.0.2.44'))
      expect([redeemed.status, await redeemed.text()]).toEqual([200, 'for the buyer only'])
      expect(await balanceOf(devnet, devnet.merchant.address)).toBe(earned)
    })
  },
)

describe('a pending payment that is presented again with a payment-identifier', () => {
  it('is redeemed by its buyer, who has the offer id, if it came without an identifier first', async () => {
    const { shop } = await open()
    const payment = await shop.sign('/report', await newPayer(devnet))
    await leavePending(shop, payment)
    await expectRefused(shop, payment)
    const redeemed = await redeem(shop, { ...payment, extensions: ID }, STRANGER)
    expect(redeemed.status).toBe(200)
    const again = await redeem(shop, payment, BUYER)
    expect([again.status, paymentRequiredOf(again).error]).toEqual([402, USED])
  })

  it('is refused if it came with another identifier first, or comes back without it', async () => {
    const { shop } = await open()
    const payment = await shop.sign('/report', await newPayer(devnet))
    const taken = { ...payment, extensions: ID }
    await leavePending(shop, taken)
    const other = {
      'payment-identifier': { info: { required: false, id: 'an_id_of_another_buyer' } },
    }
    for (const forged of [payment, { ...payment, extensions: other }]) {
      const response = await shop.pay('/report', forged, STRANGER)
      expect([response.status, paymentRequiredOf(response).error]).toEqual([402, USED])
    }
  })
})

describe('a payment whose client dropped its offer id', () => {
  it('is redeemed from the address that presented it first, and from no other', async () => {
    const { shop } = await open()
    const payment = without(await shop.sign('/report', await newPayer(devnet)))
    await leavePending(shop, payment)
    const stranger = await shop.pay('/report', payment, STRANGER)
    expect([stranger.status, paymentRequiredOf(stranger).error]).toEqual([402, USED])
    expect((await redeem(shop, payment, BUYER)).status).toBe(200)
  })

  it('is redeemed by nobody if the route or its merchant says never', async () => {
    for (const options of [
      { redeemWithoutProof: 'never' },
      { merchant: { redeemWithoutProof: 'never' } },
    ] as const) {
      const { shop } = await open(options)
      const payment = without(await shop.sign('/report', await newPayer(devnet)))
      await leavePending(shop, payment)
      expect((await shop.pay('/report', payment, BUYER)).status).toBe(402)
    }
  })

  it('is redeemed at the API within a minute of its first presentation, and not later', async () => {
    const clock = { ms: Date.now() }
    const { shop } = await open({ now: () => clock.ms })
    const settle = async (payment: PaymentPayload) => {
      const { offerId: _none, ...extra } = payment.accepted['extra'] as Record<string, unknown>
      const response = await fetch(`${shop.url}/api/v2/payment/settle`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'X-Project-Identify-Token': SHOP_TOKEN },
        body: JSON.stringify({
          paymentPayload: payment,
          paymentRequirements: { ...payment.accepted, extra },
        }),
      })
      return (await response.json()) as object
    }
    const pay = async (waitMs: number): Promise<object> => {
      const payment = without(await shop.sign('/report', await newPayer(devnet)))
      await stopMining(devnet)
      expect(await settle(payment)).toMatchObject({ errorReason: 'settlement_pending' })
      await resumeMining(devnet)
      clock.ms += waitMs
      return settle(payment)
    }
    expect(await pay(59_000)).toMatchObject({ success: true })
    expect(await pay(61_000)).toMatchObject({ success: false, errorReason: USED, transaction: '' })
  })
})

describe('a stranger with garbage for a signature', () => {
  it('redeems no payment of a contract account', async () => {
    const approved = keccak256('0x1234')
    const address = await deploy(devnet, walletCode(approved))
    await devnet.mint(address, 1_000_000n)
    const { shop } = await open()
    const document = paymentRequiredOf(await shop.ask('/report'))
    const signer = await newPayer(devnet)
    const signed = await signPayment({ ...signer, address }, document.accepts[0]!)
    const signature: Hex = `${approved}${'22'.repeat(40)}`
    const payment = { ...signed, payload: { ...signed.payload, signature } }
    await leavePending(shop, payment)
    const garbage = { ...signed.payload, signature: `0x${'99'.repeat(72)}` }
    const forged = await shop.pay('/report', { ...payment, payload: garbage }, BUYER)
    expect([forged.status, paymentRequiredOf(forged).error]).toEqual([
      402,
      'invalid_exact_evm_payload_signature',
    ])
    expect((await redeem(shop, payment, BUYER)).status).toBe(200)
  })
})

describe('a failed payment that somebody settles later', () => {
  async function failThenFrontRun(shop: Shop, made: (payment: PaymentPayload) => PaymentPayload) {
    const payer = await newPayer(devnet)
    const payment = made(await shop.sign('/report', payer))
    await stopMining(devnet)
    const answer = shop.pay('/report', payment, BUYER)
    await until(() => shop.events.submitted !== undefined)
    await emptyAccount(devnet, payer)
    await devnet.mine()
    expect(settlementOf(await answer).success).toBe(false)
    await resumeMining(devnet)
    await devnet.mint(payer.address, 10_000n)
    const before = await balanceOf(devnet, devnet.merchant.address)
    await frontRun(devnet, payment)
    await until(async () => (await balanceOf(devnet, devnet.merchant.address)) > before)
    return payment
  }

  it('is redeemed by its proven buyer alone', async () => {
    const { shop, runs } = await open()
    const payment = await failThenFrontRun(shop, (one) => one)
    const ran = runs.count
    for (const forged of await asStranger(shop, payment))
      expect((await shop.pay('/report', forged, BUYER)).status).toBe(402)
    expect(runs.count).toBe(ran)
    expect((await redeem(shop, payment, STRANGER)).status).toBe(200)
    expect((await shop.pay('/report', payment, BUYER)).status).toBe(402)
  })

  it('is redeemed by nobody from the same address alone', async () => {
    const { shop, runs } = await open()
    const payment = await failThenFrontRun(shop, without)
    const ran = runs.count
    expect((await shop.pay('/report', payment, BUYER)).status).toBe(402)
    expect(runs.count).toBe(ran)
  })
})

describe('a payment that was used on chain before it was first presented', () => {
  it('stays refused', async () => {
    const { shop, runs } = await open()
    const payment = await shop.sign('/report', await newPayer(devnet))
    const before = await balanceOf(devnet, devnet.merchant.address)
    await frontRun(devnet, payment)
    await until(async () => (await balanceOf(devnet, devnet.merchant.address)) > before)
    for (let times = 0; times < 3; times++) {
      const response = await shop.pay('/report', payment, BUYER)
      expect([response.status, paymentRequiredOf(response).error]).toEqual([402, USED])
    }
    expect(runs.count).toBe(0)
  })
})
