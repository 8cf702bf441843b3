import { describe, expect, it } from '@jest/globals'
import { MERCHANT, PAYERS } from '../../src/devnet/accounts.js'
import { decodePayment, isAuthorized } from '../../src/protocol/decoded-payment.js'
import type { PaymentPayload, PaymentRequirements } from '../../src/protocol/payment.js'
import { usdc } from '../support/core.js'
import { signPayment } from '../support/sign-payment.js'

const offer: PaymentRequirements = {
  ...{ scheme: 'exact', network: 'base-sepolia', asset: usdc.address, payTo: MERCHANT.address },
  ...{ amount: '10000', maxTimeoutSeconds: 300, extra: { name: 'USDC', version: '2' } },
}
const ID = 'an-id-of-a-payment'
const sign = (): Promise<PaymentPayload> => signPayment(PAYERS[0]!, offer)

describe('a decoded payment', () => {
  it('has lower-case addresses, numbers, and the key of its record', async () => {
    const payment = decodePayment(await sign(), offer)
    if (!isAuthorized(payment)) throw new Error('unreadable')
    const { authorization, payer } = payment.signed.value
    expect(payer).toBe(PAYERS[0]!.address)
    expect(authorization).toMatchObject({ from: payer.toLowerCase(), value: 10_000n })
    expect(payment.key).toEqual({
      chainId: 84532,
      asset: usdc.address.toLowerCase(),
      from: authorization.from,
      nonce: authorization.nonce,
    })
    expect(payment.network?.caip2).toBe('eip155:84532')
  })

  it('keeps the documents as they were sent', async () => {
    const payload = await sign()
    expect(decodePayment(payload, offer)).toMatchObject({ payload, requirements: offer })
  })

  it('has the id that its payer gave it', async () => {
    const extensions = { 'payment-identifier': { info: { id: ID } } }
    const payment = decodePayment({ ...(await sign()), extensions }, offer)
    expect(payment.paymentId).toEqual({ ok: true, value: ID })
  })

  it.each<[string, Partial<PaymentPayload>, Partial<PaymentRequirements>]>([
    ['without an authorization', { payload: {} }, {}],
    ['on no EVM network', {}, { network: 'solana:x' }],
  ])('%s has no key', async (_name, members, required) => {
    const payment = decodePayment({ ...(await sign()), ...members }, { ...offer, ...required })
    expect(payment.key).toBeUndefined()
    expect(isAuthorized(payment)).toBe(false)
  })

  it('has the errors of unreadable members', async () => {
    const payment = decodePayment({ ...(await sign()), accepted: {}, payload: {} }, offer)
    expect(payment.accepted).toMatchObject({ ok: false })
    expect(payment.signed).toMatchObject({ ok: false })
    expect(payment.paymentId).toEqual({ ok: true, value: undefined })
  })
})
