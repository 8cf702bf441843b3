import { describe, expect, it } from '@jest/globals'
import { ExactEvmScheme } from '@x402/evm'
import { x402Client } from '@x402/fetch'
import { privateKeyToAccount } from 'viem/accounts'
import { serveGateway } from '../api/api.js'
import { balanceOf, shopOptions, useDevnet } from '../support/devnet.js'
import { errorsOf, UCP_VERSIONS, ucpValidators } from '../api/checkouts/ucp/ucp-schemas.js'
import { useOpened } from '../support/use-opened.js'

const HANDLER = 'xyz.vendor.gateway_payment'
const devnet = useDevnet()
const amount = 50

/** A checkout of a shop that sells one thing. */
function checkout(id: string, payment_handlers: object, more: object = {}): object {
  return {
    ucp: { version: '2026-04-08', payment_handlers },
    id,
    status: 'ready_for_complete',
    currency: 'USD',
    line_items: [
      {
        id: 'line_1',
        item: { id: 'stamp', title: 'A stamp', price: amount },
        quantity: 1,
        totals: [{ type: 'total', amount }],
      },
    ],
    totals: [
      { type: 'subtotal', amount },
      { type: 'total', amount },
    ],
    links: [],
    ...more,
  }
}

describe('a checkout of UCP', () => {
  const api = useOpened(() => serveGateway(shopOptions(devnet)))

  /** Signs the envelope of a checkout with the unmodified official client. */
  // oxlint-disable-next-line typescript/no-explicit-any -- what the API answered
  async function sign(config: any, payer = devnet.payers[0]!): Promise<any> {
    const scheme = new ExactEvmScheme(privateKeyToAccount(payer.privateKey))
    return new x402Client().register('eip155:84532', scheme).createPaymentPayload(config)
  }

  // oxlint-disable-next-line typescript/no-explicit-any -- what the API answered
  async function prepare(id: string): Promise<any> {
    const url = `https://shop.example/checkout-sessions/${id}`
    const answer = await api.post('/api/v2/merchant/checkout-prepare', {
      amount: '0.50',
      currency: 'USD',
      resource: { url, description: 'A stamp' },
    })
    expect(answer.status).toBe(200)
    return answer.body
  }

  it('is paid with its envelope by the official client, with the credential unchanged', async () => {
    const handlers = await prepare('chk_1')
    const { config } = handlers[HANDLER][0]
    const paymentPayload = await sign(config)
    const paymentRequirements = config.accepts[0]
    expect(paymentPayload).toMatchObject({
      accepted: paymentRequirements,
      resource: config.resource,
    })
    const credential = { type: 'x402', x402Version: 2, paymentPayload, paymentRequirements }
    const instrument = { id: 'one', handler_id: HANDLER, type: 'x402', selected: true, credential }

    const schema = (await api.send('GET', '/ucp/schema.json')).body
    for (const version of UCP_VERSIONS) {
      const ucp = ucpValidators(version)
      const ours = ucp.compose(schema, `/$defs/${HANDLER}/payment_instrument`)
      expect(errorsOf(ours, instrument)).toEqual([])
      const whole = checkout('chk_1', handlers, { payment: { instruments: [instrument] } })
      expect(errorsOf(ucp.checkout, whole)).toEqual([])
    }

    const before = await balanceOf(devnet, devnet.merchant.address)
    const key = { 'Idempotency-Key': `chk_1:${paymentPayload.payload.authorization.nonce}` }
    const settled = await api.post('/api/v2/payment/settle', credential, key)
    expect([settled.status, settled.body]).toEqual([
      200,
      expect.objectContaining({ success: true }),
    ])
    expect(await balanceOf(devnet, devnet.merchant.address)).toBe(before + 500_000n)
    const again = await api.post('/api/v2/payment/settle', credential, key)
    expect(again.body).toEqual(settled.body)
  })

  it('is not paid by the payment of another checkout once that is settled', async () => {
    const [one, other] = [await prepare('chk_2'), await prepare('chk_3')]
    const { config } = one[HANDLER][0]
    const paymentPayload = await sign(config)
    const [offer] = config.accepts
    // Both cost the same: only the shop can tell that this payment was made for the other checkout.
    expect(other[HANDLER][0].config.accepts[0]).toMatchObject({ amount: offer.amount })
    const settle = (paymentRequirements: object, key: string) =>
      api.post(
        '/api/v2/payment/settle',
        { paymentPayload, paymentRequirements },
        { 'Idempotency-Key': key },
      )
    expect((await settle(offer, 'chk_2')).body).toMatchObject({ success: true })
    expect((await settle(offer, 'chk_3')).body).toMatchObject({
      success: false,
      errorReason: 'invalid_exact_evm_nonce_already_used',
    })
  })
})
