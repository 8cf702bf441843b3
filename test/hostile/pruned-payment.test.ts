import { expect, it } from '@jest/globals'
import { createMemoryLedger } from '../../src/ledger/memory-ledger.js'
import type { PaymentPayload, SettleResponse } from '../../src/shared/protocol/payment.js'
import { offerOf, openCore, termsOf } from '../support/core.js'
import { balanceOf, useDevnet } from '../support/devnet.js'
import { signPayment } from '../support/sign-payment.js'

const devnet = useDevnet()

it('a payment whose record a memory ledger has forgotten is not honoured again', async () => {
  const ledger = createMemoryLedger({ maxRecords: 1 })
  const core = openCore(devnet, { ledger })
  const sign = (): Promise<PaymentPayload> => signPayment(devnet.payers[0]!, offerOf(devnet))
  const settle = (payment: PaymentPayload): Promise<SettleResponse> =>
    core.facilitator.settle(payment, offerOf(devnet), termsOf(devnet))
  const [first, second] = [await sign(), await sign()]
  const before = await balanceOf(devnet, devnet.merchant.address)
  expect(await settle(first)).toMatchObject({ success: true })
  expect(await settle(second)).toMatchObject({ success: true })
  const newest = await ledger.payments.list({ project: 'shop', limit: 10 })
  expect(newest).toHaveLength(1)
  for (const payment of [first, second])
    expect(await settle(payment)).toMatchObject({
      success: false,
      errorReason: 'invalid_exact_evm_nonce_already_used',
      transaction: '',
    })
  expect(await balanceOf(devnet, devnet.merchant.address)).toBe(before + 20_000n)
  core.close()
  await ledger.close()
})
