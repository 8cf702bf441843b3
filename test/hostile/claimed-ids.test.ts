/** A payment that nobody has signed yet claims nobody's id (`payment-identifier`). */
import { afterEach, describe, expect, it } from '@jest/globals'
import type { PaymentPayload } from '../../src/shared/protocol/payment.js'
import { offerOf } from '../support/core.js'
import { balanceOf, shopOptions, SHOP_TOKEN, useDevnet } from '../support/devnet.js'
import { newPayer } from '../support/on-chain.js'
import { startRpcProxy } from '../support/rpc-proxy.js'
import { useShop } from '../support/shop.js'
import { newNonce, signPayment, type TestPayer } from '../support/sign-payment.js'
import { until } from '../support/until.js'
import { useOpened } from '../support/use-opened.js'
import { erc1271 } from './generator/kinds/erc1271.js'
import { erc3009 } from './generator/kinds/erc3009.js'
import { payersOfKind } from './paying-kinds.js'

const devnet = useDevnet()
/** How often the handler fails from now on. */
let failures = 0
const proxy = useOpened(() => startRpcProxy(devnet.rpcUrl))
const shop = useShop(
  devnet,
  (app, { x402Protect, gatewayRouter }) => {
    app.get('/item', x402Protect('$0.01'), (_req, res) => {
      const fails = failures > 0
      if (fails) failures--
      res.status(fails ? 500 : 200).send('item')
    })
    app.use(gatewayRouter())
  },
  () => {
    const { networks } = shopOptions(devnet)
    const network = { ...networks!['base-sepolia']!, rpcUrl: proxy.url }
    const merchant = { payTo: devnet.merchant.address }
    return {
      networks: { 'base-sepolia': network },
      projects: [{ id: 'shop', tokens: [SHOP_TOKEN], merchant }],
    }
  },
)
afterEach(() => {
  failures = 0
  proxy.fault = undefined
})

const withId = (payment: PaymentPayload): PaymentPayload => ({
  ...payment,
  extensions: { 'payment-identifier': { info: { id: 'the-id-of-my-order-no-1' } } },
})
/** Signed by a stranger in the name of a payer. */
const forgedOf = ({ address }: TestPayer): TestPayer => ({ address, privateKey: newNonce() })

type Ask = 'settle' | 'verify'
const askApi = (ask: Ask, paymentPayload: PaymentPayload) =>
  fetch(`${shop.url}/api/v2/payment/${ask}`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', 'X-Project-Identify-Token': SHOP_TOKEN },
    body: JSON.stringify({ paymentPayload, paymentRequirements: offerOf(devnet) }),
  })
const signed = async (payer: TestPayer) => withId(await signPayment(payer, offerOf(devnet)))
const settle = async (payer: TestPayer) => askApi('settle', await signed(payer))
const buy = async (payer: TestPayer) => shop.pay('/item', withId(await shop.sign('/item', payer)))

describe.each([
  ['a paid route', buy],
  ['settle', settle],
])('a forged payment, presented at %s while it is verified', (_name, present) => {
  it('leaves the id to its payer', async () => {
    const payer = await newPayer(devnet)
    let checking = 0
    proxy.fault = (method) => {
      if (method !== 'eth_call') return undefined
      checking++
      return { kind: 'delay', ms: 5000 }
    }
    const forged = present(forgedOf(payer))
    await until(() => checking > 0)
    proxy.fault = undefined
    const honest = await present(payer)
    expect(honest.status).toBe(200)
    const refused = await forged
    process.stdout.write(`the forger got ${refused.status}, the payer ${honest.status}\n`)
    expect(refused.headers.get('payment-response')).toBeNull()
  })
})

describe.each([erc3009, erc1271])('an id of a payer who signs by $name', (kind) => {
  const newPayerOfKind = async () => (await payersOfKind(devnet, kind, 1))[0]!

  it.each([
    ['a paid route', buy],
    ['settle', settle],
  ])('buys once at %s, however often it is signed anew', async (_name, present) => {
    const payer = await newPayerOfKind()
    const before = await balanceOf(devnet, devnet.merchant.address)
    const answers = [await present(payer), await present(payer), await present(payer)]
    expect(answers.map(({ status }) => status)).toEqual([200, 409, 409])
    expect(await balanceOf(devnet, devnet.merchant.address)).toBe(before + 10_000n)
  })

  it('buys once, if it is signed twice at the same time', async () => {
    const payer = await newPayerOfKind()
    const answers = await Promise.all([buy(payer), buy(payer)])
    expect(answers.map(({ status }) => status).toSorted((one, other) => one - other)).toEqual([
      200, 409,
    ])
  })

  it('repeats the answer to the payment that has it', async () => {
    const payer = await newPayerOfKind()
    const payment = withId(await shop.sign('/item', payer))
    const [first, again] = [await shop.pay('/item', payment), await shop.pay('/item', payment)]
    expect([first.status, again.status]).toEqual([200, 200])
    expect(again.headers.get('payment-response')).toBe(first.headers.get('payment-response'))
  })

  it('is good for another payment after an answer that was not charged for', async () => {
    const payer = await newPayerOfKind()
    failures = 1
    expect((await buy(payer)).status).toBe(500)
    expect((await buy(payer)).status).toBe(200)
  })

  it('is taken at verify too', async () => {
    const payer = await newPayerOfKind()
    expect((await settle(payer)).status).toBe(200)
    expect((await askApi('verify', await signed(payer))).status).toBe(409)
  })
})
