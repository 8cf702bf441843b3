/** A payment that nobody has signed yet claims nobody's id (`payment-identifier`). */
import { afterEach, describe, expect, it } from '@jest/globals'
import type { PaymentPayload } from '../../src/shared/protocol/payment.js'
import { offerOf } from '../support/core.js'
import { shopOptions, SHOP_TOKEN, useDevnet } from '../support/devnet.js'
import { newPayer } from '../support/on-chain.js'
import { startRpcProxy } from '../support/rpc-proxy.js'
import { useShop } from '../support/shop.js'
import { newNonce, signPayment, type TestPayer } from '../support/sign-payment.js'
import { until } from '../support/until.js'
import { useOpened } from '../support/use-opened.js'

const devnet = useDevnet()
const proxy = useOpened(() => startRpcProxy(devnet.rpcUrl))
const shop = useShop(
  devnet,
  (app, { x402Protect, gatewayRouter }) => {
    app.get('/item', x402Protect('$0.01'), (_req, res) => void res.send('item'))
    app.use(gatewayRouter())
  },
  () => {
    const { networks } = shopOptions(devnet)
    const network = { ...networks!['base-sepolia']!, rpcUrl: proxy.url }
    const merchant = { payTo: devnet.merchant.address, repeatSettlements: true }
    return {
      networks: { 'base-sepolia': network },
      projects: [{ id: 'shop', tokens: [SHOP_TOKEN], merchant }],
    }
  },
)
afterEach(() => {
  proxy.fault = undefined
})

const withId = (payment: PaymentPayload): PaymentPayload => ({
  ...payment,
  extensions: { 'payment-identifier': { info: { id: 'the-id-of-my-order-no-1' } } },
})
/** Signed by a stranger in the name of a payer. */
const forgedOf = ({ address }: TestPayer): TestPayer => ({ address, privateKey: newNonce() })

const settle = async (payer: TestPayer) => {
  const paymentRequirements = offerOf(devnet)
  const paymentPayload = withId(await signPayment(payer, paymentRequirements))
  return fetch(`${shop.url}/api/v2/payment/settle`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', 'X-Project-Identify-Token': SHOP_TOKEN },
    body: JSON.stringify({ paymentPayload, paymentRequirements }),
  })
}
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
