/** Garbage does not close a shop whose facilitator is elsewhere. */
import { randomBytes } from 'node:crypto'
import { describe, expect, it } from '@jest/globals'
import { generatePrivateKey, privateKeyToAddress } from 'viem/accounts'
import type { PaymentPayload, PaymentRequirements } from '../../src/shared/protocol/payment.js'
import { useCleanup } from '../support/cleanup.js'
import { SHOP_TOKEN, useDevnet } from '../support/devnet.js'
import { paymentHeader } from '../support/http.js'
import { openRemoteCore, openRemoteShop, type RemoteShop } from '../support/remote-shops.js'
import { paymentRequiredOf } from '../support/shop.js'
import { newNonce, signPayment } from '../support/sign-payment.js'

const devnet = useDevnet()
const toEnd = useCleanup()

/** What a gateway of ours takes from a project in a minute, by default. */
const REQUESTS_A_MINUTE = 600

const random = (bytes: number) => `0x${randomBytes(bytes).toString('hex')}` as const

/** A payment that nobody signed. */
function garbage(accepted: PaymentRequirements): PaymentPayload {
  const now = Math.floor(Date.now() / 1000)
  const authorization = {
    from: random(20),
    to: accepted.payTo,
    value: accepted.amount,
    validAfter: String(now - 600),
    validBefore: String(now + accepted.maxTimeoutSeconds),
    nonce: newNonce(),
  }
  const signature = `${random(64)}1b`
  return { x402Version: 2, accepted: { ...accepted }, payload: { signature, authorization } }
}

/** @param client - The address that it comes from, which is the proxy's to say. */
const pay = (shop: RemoteShop, payment: object, client = '203.0.113.1') =>
  fetch(shop.goods, { headers: { ...paymentHeader(payment), 'x-forwarded-for': client } })

async function open() {
  const core = await openRemoteCore(devnet, toEnd)
  const shop = await openRemoteShop(devnet, toEnd, {
    name: 'the shop',
    facilitator: core.facilitator(),
  })
  const [offer] = paymentRequiredOf(await fetch(shop.goods)).accepts
  return { core, shop, offer: offer! }
}

/** Presents payments, ten at a time, and tells what the core was asked meanwhile. */
async function attack(
  { core, shop }: Awaited<ReturnType<typeof open>>,
  payments: () => Promise<object>,
  clientOf: (index: number) => string,
): Promise<{ readonly asked: number; readonly statuses: ReadonlySet<number> }> {
  const before = core.asked.length
  const statuses = new Set<number>()
  for (let index = 0; index < REQUESTS_A_MINUTE; index += 10)
    await Promise.all(
      Array.from({ length: 10 }, async (_none, one) => {
        const response = await pay(shop, await payments(), clientOf(index + one))
        await response.arrayBuffer()
        statuses.add(response.status)
      }),
    )
  return { asked: core.asked.length - before, statuses }
}

const eve = () => '198.51.100.7'

describe('garbage for a shop with a remote facilitator', () => {
  it('costs the core 20 requests for 600 payments of one address without key and money', async () => {
    const opened = await open()
    const { asked, statuses } = await attack(opened, async () => garbage(opened.offer), eve)
    // Twice as many where a minute ended meanwhile.
    expect(asked).toBeLessThanOrEqual(2 * 20)
    expect(statuses).not.toContain(200)
    const honest = await signPayment(devnet.payers[0]!, opened.offer)
    expect((await pay(opened.shop, honest)).status).toBe(200)
  })

  it('is limited for an IPv6 network as for one address', async () => {
    const opened = await open()
    const subnet = (index: number) => `2001:db8:0:1::${(index + 1).toString(16)}`
    const { asked } = await attack(opened, async () => garbage(opened.offer), subnet)
    expect(asked).toBeLessThanOrEqual(2 * 20)
  })

  it('costs the core 120 requests for 600 addresses, and payers with a key are served', async () => {
    const opened = await open()
    const everywhere = (index: number) => `198.51.${index >> 8}.${index & 255}`
    const { asked } = await attack(opened, async () => garbage(opened.offer), everywhere)
    expect(asked).toBeLessThanOrEqual(2 * 120)
    const honest = await signPayment(devnet.payers[0]!, opened.offer)
    expect((await pay(opened.shop, honest)).status).toBe(200)
  })

  it('is limited by address if it is signed by keys without money', async () => {
    const opened = await open()
    const poor = () => {
      const privateKey = generatePrivateKey()
      return signPayment({ address: privateKeyToAddress(privateKey), privateKey }, opened.offer)
    }
    const { asked, statuses } = await attack(opened, poor, eve)
    expect(asked).toBeLessThanOrEqual(2 * 200)
    expect(statuses).toContain(429)
    const honest = await signPayment(devnet.payers[0]!, opened.offer)
    expect((await pay(opened.shop, honest)).status).toBe(200)
  })

  /** Each payment is signed by a fresh key without money. */
  const poorOf = (offer: PaymentRequirements) => () => {
    const privateKey = generatePrivateKey()
    return signPayment({ address: privateKeyToAddress(privateKey), privateKey }, offer)
  }
  const tell = (name: string, asked: number, status: number) =>
    process.stdout.write(`${name}: the core was asked ${asked} times; a buyer reads ${status}\n`)

  it('from four addresses leaves a place to an honest buyer who has never paid', async () => {
    const opened = await open()
    const four = (index: number) => `198.51.100.${index % 4}`
    const { asked } = await attack(opened, poorOf(opened.offer), four)
    const honest = await signPayment(devnet.payers[0]!, opened.offer)
    const { status } = await pay(opened.shop, honest)
    tell('600 keys without money, four addresses', asked, status)
    expect(asked).toBeLessThanOrEqual(2 * 200)
    expect(status).toBe(200)
  })

  it('from everywhere leaves places to buyers whose last payment was good', async () => {
    const opened = await open()
    const buy = async (payer: number) =>
      (await pay(opened.shop, await signPayment(devnet.payers[payer]!, opened.offer))).status
    expect(await buy(0)).toBe(200)
    const everywhere = (index: number) => `198.51.${index >> 8}.${index & 255}`
    const { asked } = await attack(opened, poorOf(opened.offer), everywhere)
    const status = await buy(0)
    tell('600 keys without money, 600 addresses', asked, status)
    expect(asked).toBeLessThanOrEqual(2 * 240)
    expect(status).toBe(200)
  })

  it('is refused from memory if one empty account signs payment after payment', async () => {
    const opened = await open()
    const privateKey = generatePrivateKey()
    const payer = { address: privateKeyToAddress(privateKey), privateKey }
    const payments = await Promise.all(
      Array.from({ length: 30 }, () => signPayment(payer, opened.offer)),
    )
    const before = opened.core.asked.length
    for (const payment of payments) expect((await pay(opened.shop, payment)).status).toBe(402)
    expect(opened.core.asked.length - before).toBeLessThan(30)
  })

  it('does not keep a verified payment from being settled: settlements have places of their own', async () => {
    const { core, shop, offer } = await open()
    const [before, honest] = [core.asked.length, await signPayment(devnet.payers[0]!, offer)]
    core.intercept = async (req, _res, next) => {
      // All other places are taken between verification and settlement.
      if (req.path.endsWith('/settle')) {
        core.intercept = (_req, _res2, other) => other()
        const verify = () =>
          fetch(`${core.url}/verify`, {
            method: 'POST',
            headers: { 'X-Project-Identify-Token': SHOP_TOKEN, 'content-type': 'application/json' },
            body: '{}',
          })
        let last = await verify()
        while (last.status !== 429) last = await verify()
      }
      next()
    }
    const { status } = await pay(shop, honest)
    tell('a core that takes no more requests', core.asked.length - before, status)
    expect(status).toBe(200)
  })

  it('is refused from memory if it is one payment of an empty account again and again', async () => {
    const opened = await open()
    const privateKey = generatePrivateKey()
    const payer = { address: privateKeyToAddress(privateKey), privateKey }
    const payment = await signPayment(payer, opened.offer)
    const everywhere = (index: number) => `198.51.${index >> 8}.${index & 255}`
    const { asked, statuses } = await attack(opened, async () => payment, everywhere)
    expect(asked).toBeLessThan(REQUESTS_A_MINUTE / 4)
    expect([...statuses]).toEqual([402])
  })

  it('makes a buyer read that the core is busy, with nothing sent, once it accepts no more requests', async () => {
    const { core, shop, offer } = await open()
    core.intercept = (_req, res) => void res.status(429).set('Retry-After', '30').json({})
    const payment = await signPayment(devnet.payers[0]!, offer)
    const busy = await pay(shop, payment)
    expect([busy.status, busy.headers.get('retry-after')]).toEqual([503, '30'])
    core.intercept = (_req, _res, next) => next()
    expect((await pay(shop, payment)).status).toBe(200)
  })
})
