/** Events and webhooks say what was sold, and what was refunded of it. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { privateKeyToAccount } from 'viem/accounts'
import type { GatewayEvents } from '../../../src/core/schemes/events.js'
import { SHOP_TOKEN, shopOptions, useDevnet } from '../../support/devnet.js'
import { newPayer } from '../../support/on-chain.js'
import { OpenApiValidator, wholeDocument } from '../../support/openapi-validator.js'
import { openShop, type Shop } from '../../support/shop.js'
import { signPayment, type TestPayer } from '../../support/sign-payment.js'
import { until } from '../../support/until.js'
import { startReceiver, type Receiver } from '../../operate/webhooks/receiver.js'
import { useCleanup } from '../../support/cleanup.js'

const TOKEN = { 'X-Project-Identify-Token': SHOP_TOKEN }
const SETTLEMENTS = '/api/v2/merchant/settlements'

const devnet = useDevnet()
const validator = new OpenApiValidator(await wholeDocument())
const toEnd = useCleanup(afterAll)
const refunds: (readonly [string, GatewayEvents['refundSettled']])[] = []
let merchant: TestPayer
let receiver: Receiver
let shop: Shop

beforeAll(async () => {
  merchant = await newPayer(devnet)
  receiver = await startReceiver(toEnd)
  const { projects } = shopOptions(devnet)
  const opened = await openShop(
    devnet,
    (app, gateway) => {
      const reference = (req: { readonly query: object }) => `order-${Object.keys(req.query)[0]}`
      app.get('/report/:id', gateway.x402Protect('$0.25', { reference }), (_req, res) => {
        res.send('a report')
      })
      app.use(gateway.gatewayRouter())
    },
    {
      webhooks: { allowPrivate: true },
      projects: [{ ...projects![0]!, merchant: { payTo: merchant.address } }],
    },
  )
  shop = opened
  for (const name of ['refundSettled', 'refundFailed', 'refundPending'] as const)
    shop.gateway.on(name, (event) => void refunds.push([name, event]))
  toEnd.push(() => opened.close())
  await post('/api/v2/merchant/webhooks', { url: receiver.url })
})

// oxlint-disable-next-line typescript/no-explicit-any -- tests look into any document
const read = async (response: Response): Promise<any> => response.json()
const get = async (path: string) => read(await fetch(shop.url + path, { headers: TOKEN }))
const post = async (path: string, body: object) => {
  const headers = { ...TOKEN, 'Content-Type': 'application/json' }
  return read(await fetch(shop.url + path, { method: 'POST', headers, body: JSON.stringify(body) }))
}
const webhookOf = async (type: string, payment: string) => {
  const isIt = (one: Receiver['received'][number]): boolean =>
    one.type === type && one.data.payment === payment
  await until(() => receiver.received.some(isIt))
  const found = receiver.received.find(isIt)!
  expect(validator.explainWebhook(found)).toBeUndefined()
  return found.data
}

const sold = () => ({
  reference: 'order-7',
  resource: `${shop.url}/report/1?7`,
  route: '/report/:id',
  symbol: 'USDC',
  decimals: 6,
})

describe('an event of a payment', () => {
  it('says what was sold, for which price, and is the same as a webhook', async () => {
    expect((await shop.buy('/report/1?7', devnet.payers[0]!)).status).toBe(200)
    const { id } = (await get(`${SETTLEMENTS}?limit=1`)).settlements[0]
    const about = { payment: id, price: '$0.25', amount: '250000', project: 'shop', ...sold() }
    for (const name of ['verified', 'submitted', 'settled'] as const)
      expect(shop.events[name]?.at(-1)).toMatchObject(about)
    const { project: _, ...told } = about
    expect(await webhookOf('payment.settled', id)).toMatchObject({ ...told, testnet: true })
  })

  it('says it of a refused payment as far as it could be read', async () => {
    const payment = await shop.sign('/report/1?7', devnet.payers[0]!)
    const { signature } = payment.payload as { signature: string }
    const forged = {
      ...payment,
      payload: { ...payment.payload, signature: `${signature.slice(0, -4)}0000` },
    }
    expect((await shop.pay('/report/1?7', forged)).status).toBe(402)
    expect(shop.events.refused?.at(-1)).toMatchObject({
      payment: expect.stringMatching(/^[0-9a-f]{32}$/),
      price: '$0.25',
      ...sold(),
    })
  })
})

describe('a checkout’s settlement', () => {
  it('keeps the price and currency that it was prepared for, without a rate', async () => {
    const resource = { url: 'https://shop.example/checkout/1' }
    const checkout = { amount: '15.10', currency: 'USD', resource, reference: 'order-8' }
    const prepared = await post('/api/v2/merchant/checkout-prepare', checkout)
    const [paymentRequirements] = prepared['xyz.vendor.gateway_payment'][0].config.accepts
    const settle = async (offer: typeof paymentRequirements) => {
      await devnet.mint(devnet.payers[1]!.address, 20_000_000n)
      const paymentPayload = await signPayment(devnet.payers[1]!, offer, {})
      const body = { paymentPayload, paymentRequirements: offer }
      expect(await post('/api/v2/payment/settle', body)).toMatchObject({ success: true })
      return (await get(`${SETTLEMENTS}?limit=1`)).settlements[0]
    }
    const settled = await settle(paymentRequirements)
    expect(settled).toMatchObject({ askedPrice: '15.10 USD', reference: 'order-8' })
    expect(shop.events.settled?.at(-1)).toMatchObject({ price: '15.10 USD', reference: 'order-8' })
    const csv = await (await fetch(`${shop.url}${SETTLEMENTS}.csv`, { headers: TOKEN })).text()
    expect(csv.split('\r\n').find((line) => line.startsWith(settled.id))).toContain(',15.10,USD,')
    // What no checkout was prepared for has no price that anybody asked.
    const { offerId: _id, ...extra } = paymentRequirements.extra
    const plain = await settle({ ...paymentRequirements, extra })
    expect(plain).not.toHaveProperty('askedPrice')
  })
})

describe('an event of a refund', () => {
  it('says what was sold and which payment is paid back, and is the same as a webhook', async () => {
    expect((await shop.buy('/report/1?7', devnet.payers[2]!)).status).toBe(200)
    const settlement = (await get(`${SETTLEMENTS}?limit=1`)).settlements[0]
    const path = `${SETTLEMENTS}/${settlement.id}/refunds`
    const { typedData } = await get(`${path}/prepare?amount=100000`)
    const account = privateKeyToAccount(merchant.privateKey)
    const signature = await account.signTypedData(typedData)
    const income = shop.events.settled?.length
    const made = await post(path, { authorization: typedData.message, signature })
    expect(made).toMatchObject({ status: 'settled', ...sold() })
    const about = { payment: settlement.id, amount: '100000', payTo: settlement.payer, ...sold() }
    const told = { refund: made.id, transaction: made.transaction, ...about }
    expect(refunds).toMatchObject([['refundSettled', told]])
    expect(refunds[0]?.[1].price).toBeUndefined()
    // Listeners count income.
    expect(shop.events.settled?.length).toBe(income)
    const hook = await webhookOf('refund.settled', settlement.id)
    expect(hook).toMatchObject({ id: made.id, ...about, version: 1 })
  })
})

describe('the success rate', () => {
  it('does not fall when a settled payment is presented again', async () => {
    const before = (await get('/api/v2/merchant/funnel')).total
    const payment = await shop.sign('/report/1?7', devnet.payers[3]!)
    expect((await shop.pay('/report/1?7', payment)).status).toBe(200)
    expect((await shop.pay('/report/1?7', payment)).status).toBe(402)
    expect(shop.events.refused?.at(-1)).toMatchObject({ isRepeat: true })
    // For something else, it is an attempt to get it for nothing.
    const other = { ...payment, resource: { url: `${shop.url}/report/1?8` } }
    expect((await shop.pay('/report/1?8', other)).status).toBe(402)
    expect(shop.events.refused?.at(-1)?.isRepeat).toBeUndefined()
    const { total } = await get('/api/v2/merchant/funnel')
    const grown = (kind: string): number => total[kind] - before[kind]
    expect(['presented', 'settled', 'repeated', 'refused'].map(grown)).toEqual([3, 1, 1, 1])
  })
})
