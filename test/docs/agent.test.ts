import { expect, it } from '@jest/globals'
import { signTypedData } from '../../src/shared/crypto/sign-typed-data.js'
import { parseErc3009Payload, type Erc3009Payload } from '../../src/shared/protocol/erc3009.js'
import { parsePaymentPayload, type PaymentPayload } from '../../src/shared/protocol/payment.js'
import { transferTypedData } from '../../src/shared/protocol/typed-data.js'
import { page } from './documents.js'

it('the payment of the page for agents is complete, and signed with the key that it names', async () => {
  const block = page('agent.md').blocks.find(({ code }) => code.includes('"signature"'))
  const payment = JSON.parse(block?.code ?? '') as PaymentPayload & { payload: Erc3009Payload }
  expect(parsePaymentPayload(payment)).toMatchObject({ ok: true })
  expect(parseErc3009Payload(payment.payload)).toMatchObject({ ok: true })
  const { accepted, payload } = payment
  const { name, version } = accepted.extra as { name: string; version: string }
  const domain = { name, version, chainId: 8453, verifyingContract: String(accepted.asset) }
  const typedData = transferTypedData(payload.authorization, domain)
  expect(payload.signature).toBe(await signTypedData(typedData, `0x${'01'.repeat(32)}`))
  expect(payload.authorization).toMatchObject({ to: accepted.payTo, value: accepted.amount })
})
