/** Tokens that only Permit2 moves, from the offer of the API to the webhook: paid by the official client. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { ExactEvmScheme } from '@x402/evm'
import { wrapFetchWithPayment, x402Client } from '@x402/fetch'
import { privateKeyToAccount } from 'viem/accounts'
import { permit2Of } from '../tools/devnet/permit2.js'
import { problemOf, serveGateway, type GatewayApi } from '../api/api.js'
import type { Cleanup } from '../support/cleanup.js'
import { shopOptions, useDevnet } from '../support/devnet.js'
import { newPayer } from '../support/on-chain.js'
import { paymentRequiredOf } from '../support/shop.js'
import type { TestPayer } from '../support/sign-payment.js'
import { until } from '../support/until.js'
import { startReceiver, type Receiver } from '../operate/webhooks/receiver.js'
import { errorsOf, UCP_VERSIONS, ucpValidators } from '../api/checkouts/ucp/ucp-schemas.js'

const HANDLER = 'xyz.vendor.gateway_payment'
const RESOURCE = 'https://shop.example/checkouts/1'

/** Signed by nobody: it is the token that cannot be refunded. */
const REFUND = {
  signature: `0x${'11'.repeat(65)}`,
  authorization: {
    ...{ from: `0x${'22'.repeat(20)}`, to: `0x${'33'.repeat(20)}`, value: '1' },
    ...{ validAfter: '0', validBefore: '1990000000', nonce: `0x${'44'.repeat(32)}` },
  },
}

const devnet = useDevnet()
const permit2 = permit2Of(devnet)

/** Each token, and whether its contract takes signed approvals: then buyers need none on chain. */
const TOKENS = [
  { symbol: 'PLN', address: () => devnet.plainToken, decimals: 6, isSponsored: false },
  { symbol: 'PRM', address: () => devnet.permitToken, decimals: 18, isSponsored: true },
] as const

describe.each(TOKENS)('$symbol', ({ symbol, address, decimals, isSponsored }) => {
  const toEnd: Cleanup = []
  let api: GatewayApi
  let receiver: Receiver
  const price = 25n * 10n ** BigInt(decimals - 2)

  beforeAll(async () => {
    const asset = { address: address(), symbol, decimals, currency: 'USD', permit2: true }
    const { rpcUrl, relayerKeys } = devnet
    const options = shopOptions(devnet, {
      networks: { 'base-sepolia': { rpcUrl, relayerKeys, assets: [asset] } },
      webhooks: { allowPrivate: true },
      rateLimit: false,
    })
    api = await serveGateway(options, {
      prepare: (app) =>
        void app.get(
          '/goods',
          (...of) => api.gateway.x402Protect('$0.25')(...of),
          (_req, res) => void res.send('goods'),
        ),
    })
    receiver = await startReceiver(toEnd)
    await api.post('/api/v2/merchant/webhooks', { url: receiver.url })
    // The contract is asked once.
    const isKnown = async () => (await requirements()).accepts[0].extra.name !== undefined
    if (isSponsored) await until(isKnown)
  })
  afterAll(async () => {
    for (const end of toEnd.toReversed()) await end()
    await api.close()
  })

  const clientOf = ({ privateKey }: TestPayer): x402Client =>
    x402Client.fromConfig({
      schemes: [
        {
          network: 'eip155:84532',
          client: new ExactEvmScheme(privateKeyToAccount(privateKey), { rpcUrl: devnet.rpcUrl }),
        },
      ],
      spendControls: { allowedAssets: true },
    })

  /** A payer who has tokens, and has approved nothing. */
  async function payerOf(): Promise<TestPayer> {
    const payer = await newPayer(devnet)
    await devnet.mint(payer.address, price * 10n, address())
    return payer
  }

  const requirements = async () => {
    const { status, body } = await api.post('/api/v2/payment/requirements', {
      resourceUrl: RESOURCE,
      requestedAmount: 0.25,
    })
    expect(status).toBe(200)
    return body
  }
  const checkout = async () => {
    const { status, body } = await api.post('/api/v2/merchant/checkout-prepare', {
      amount: '0.25',
      currency: 'USD',
      resource: { url: RESOURCE },
      reference: 'order-7',
    })
    expect(status).toBe(200)
    return body[HANDLER][0].config
  }

  it.each([
    ['requirements', requirements, undefined],
    ['checkout-prepare', checkout, 'order-7'],
  ])(
    'is offered by %s, paid, booked, and not refunded by signature',
    async (_n, ask, reference) => {
      const offer = await ask()
      expect(offer.accepts).toMatchObject([
        {
          ...{ scheme: 'exact', amount: price.toString(), asset: address() },
          extra: { assetTransferMethod: 'permit2' },
        },
      ])
      const payer = await payerOf()
      if (!isSponsored) await permit2.approve(payer.address, address())
      const paymentPayload = await clientOf(payer).createPaymentPayload(offer)
      const submission = { paymentPayload, paymentRequirements: offer.accepts[0] }
      const verified = await api.post('/api/v2/payment/verify', submission)
      expect(verified.body).toEqual({ isValid: true, payer: payer.address })
      const before = await permit2.balanceOf(devnet.merchant.address, address())
      const settled = await api.post('/api/v2/payment/settle', submission)
      expect(settled.body).toMatchObject({ success: true, payer: payer.address })
      expect((await permit2.balanceOf(devnet.merchant.address, address())) - before).toBe(price)

      const { transaction } = settled.body
      await until(() => receiver.received.some(({ data }) => data.transaction === transaction))
      const told = receiver.received.find(({ data }) => data.transaction === transaction)
      const booked = {
        ...{ status: 'settled', symbol, decimals, amount: price.toString() },
        ...(reference !== undefined && { reference }),
      }
      expect(told).toMatchObject({ type: 'payment.settled', data: booked })
      const [settlement] = (await api.get('/api/v2/merchant/settlements?limit=1')).body.settlements
      expect(settlement).toMatchObject({ ...booked, transaction, payer: payer.address })
      const refunds = `/api/v2/merchant/settlements/${settlement.id}/refunds`
      const refused = [await api.get(`${refunds}/prepare`), await api.post(refunds, REFUND)]
      for (const { body } of refused) {
        expect(body).toEqual(problemOf(409, 'settlement_not_refundable', 'Conflict'))
        expect(body.detail).toContain('ERC-3009')
      }
    },
  )

  it('fits the schemas of UCP', async () => {
    const config = await checkout()
    const paymentPayload = await clientOf(await payerOf()).createPaymentPayload(config)
    const credential = {
      ...{ type: 'x402', x402Version: 2 },
      ...{ paymentPayload, paymentRequirements: config.accepts[0] },
    }
    const instrument = { id: 'one', handler_id: HANDLER, type: 'x402', selected: true, credential }
    const schema = (await api.send('GET', '/ucp/schema.json')).body
    for (const version of UCP_VERSIONS) {
      const ours = ucpValidators(version).compose(schema, `/$defs/${HANDLER}/payment_instrument`)
      expect(errorsOf(ours, instrument)).toEqual([])
    }
  })

  it('is bought without an approval only where it is sponsored', async () => {
    const payer = await payerOf()
    const buy = wrapFetchWithPayment(fetch, clientOf(payer)) as typeof fetch
    const bought = await buy(`${api.url}/goods`)
    if (isSponsored) return expect(bought.status).toBe(200)
    expect(bought.status).toBe(412)
    const required = paymentRequiredOf(bought)
    expect(required).toMatchObject({ error: 'permit2_allowance_required' })
    expect(required.errorMessage).toContain(devnet.permit2)
    await permit2.approve(payer.address, address())
    expect((await buy(`${api.url}/goods`)).status).toBe(200)
  })

  it.each([
    ['requirements', requirements],
    ['checkout-prepare', checkout],
  ])(
    'without an approval, what %s offers is refused, and says what to approve',
    async (_n, ask) => {
      const offer = await ask()
      const paymentPayload = await clientOf(await payerOf()).createPaymentPayload(offer)
      const submission = {
        paymentPayload: { ...paymentPayload, extensions: undefined },
        paymentRequirements: offer.accepts[0],
      }
      const refused = 'permit2_allowance_required'
      const words = expect.stringContaining(devnet.permit2)
      const verified = await api.post('/api/v2/payment/verify', submission)
      expect(verified).toMatchObject({
        status: 200,
        body: { isValid: false, invalidReason: refused, invalidMessage: words },
      })
      const settled = await api.post('/api/v2/payment/settle', submission)
      expect(settled).toMatchObject({
        status: 200,
        body: { success: false, errorReason: refused, errorMessage: words, transaction: '' },
      })
    },
  )
})
