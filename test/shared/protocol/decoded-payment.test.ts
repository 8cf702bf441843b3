import { describe, expect, it } from '@jest/globals'
import { MERCHANT, PAYERS } from '../../../src/tools/devnet/accounts.js'
import {
  decodePayload,
  decodePayment,
  isReadable,
} from '../../../src/shared/protocol/decoded-payment.js'
import type { PaymentPayload, PaymentRequirements } from '../../../src/shared/protocol/payment.js'
import { usdc } from '../../support/core.js'
import { FORMATS } from '../../support/decoded.js'
import { signPayment } from '../../support/sign-payment.js'

const offer: PaymentRequirements = {
  ...{ scheme: 'exact', network: 'base-sepolia', asset: usdc.address, payTo: MERCHANT.address },
  ...{ amount: '10000', maxTimeoutSeconds: 300, extra: { name: 'USDC', version: '2' } },
}
const ID = 'an-id-of-a-payment'
const sign = (): Promise<PaymentPayload> => signPayment(PAYERS[0]!, offer)

describe('a decoded payment', () => {
  it('has lower-case addresses, numbers, and the key of its record', async () => {
    const payment = decodePayment(await sign(), offer, FORMATS)
    if (!isReadable(payment)) throw new Error('unreadable')
    const { payer, payTo, amount, nonce } = payment.facts
    expect(payer).toBe(PAYERS[0]!.address.toLowerCase())
    expect([payTo, amount]).toEqual([MERCHANT.address.toLowerCase(), 10_000n])
    expect(payment.key).toEqual({
      chainId: 84532,
      contract: usdc.address.toLowerCase(),
      from: payer,
      nonce,
    })
    expect(payment.network?.caip2).toBe('eip155:84532')
  })

  it('keeps the documents as they were sent', async () => {
    const payload = await sign()
    expect(decodePayment(payload, offer, FORMATS)).toMatchObject({ payload, requirements: offer })
  })

  it('has the id that its payer gave it', async () => {
    const extensions = { 'payment-identifier': { info: { id: ID } } }
    const payment = decodePayment({ ...(await sign()), extensions }, offer, FORMATS)
    expect(payment.paymentId).toEqual({ ok: true, value: ID })
  })

  it.each<[string, Partial<PaymentPayload>, Partial<PaymentRequirements>]>([
    ['without an authorization', { payload: {} }, {}],
    ['on no EVM network', {}, { network: 'solana:x' }],
  ])('%s has no key', async (_name, members, required) => {
    const presented = { ...(await sign()), ...members }
    const payment = decodePayment(presented, { ...offer, ...required }, FORMATS)
    expect(payment.key).toBeUndefined()
    expect(isReadable(payment)).toBe(false)
  })

  it('has the errors of unreadable members', async () => {
    const payment = decodePayload({ ...(await sign()), payload: {} }, FORMATS)
    expect(payment.read).toMatchObject({ ok: false, errors: [{ path: 'signature' }, {}] })
    const other = decodePayload({ ...(await sign()), accepted: {} }, FORMATS)
    expect(other.accepted).toMatchObject({ ok: false })
    expect(payment.paymentId).toEqual({ ok: true, value: undefined })
  })
})
