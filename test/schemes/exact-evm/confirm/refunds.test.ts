import { join } from 'node:path'
import { afterEach, describe, expect, it } from '@jest/globals'
import { recordId, type LedgerStore } from '../../../../src/ledger/index.js'
import { createMemoryLedger } from '../../../../src/ledger/memory-ledger.js'
import { openSqliteLedger } from '../../../../src/ledger/sqlite-ledger.js'
import { isRefusal } from '../../../../src/schemes/scheme.js'
import type { Hex, PaymentPayload } from '../../../../src/protocol/payment.js'
import { temporaryFolder, useCleanup } from '../../../support/cleanup.js'
import { askNode, offerOf, openCore, termsOf, usdc, type Core } from '../../../support/core.js'
import { decoded } from '../../../support/decoded.js'
import { balanceOf, useDevnet } from '../../../support/devnet.js'
import { newPayer, signedAuthorization, undo } from '../../../support/on-chain.js'
import { signPayment, type TestPayer } from '../../../support/sign-payment.js'
import { until } from '../../../support/until.js'

const PRICE = 10_000n
const devnet = useDevnet()
const toEnd = useCleanup()
afterEach(async () => {
  await askNode(devnet, 'evm_setAutomine', true)
})

function open(ledger: LedgerStore, reconcileIntervalMs = 100): Core {
  const core = openCore(devnet, { ledger, reconcileIntervalMs })
  toEnd.push(() => core.close())
  return core
}

const stores: [string, () => LedgerStore][] = [
  ['memory', () => createMemoryLedger()],
  [
    'SQLite',
    () => {
      const ledger = openSqliteLedger(join(temporaryFolder(toEnd), 'ledger.db'))
      toEnd.push(() => ledger.close())
      return ledger
    },
  ],
]

/** A merchant is paid, and pays back. */
async function sellAndRefund(
  core: Core,
  merchant: TestPayer,
): Promise<{ refund: PaymentPayload; transaction: Hex }> {
  const buyer = devnet.payers[0]!
  const offer = offerOf(devnet, { payTo: merchant.address })
  const payment = await signPayment(buyer, offer)
  const terms = { ...termsOf(devnet), payTo: merchant.address }
  const settled = await core.facilitator.settle(payment, offer, terms)
  expect(settled).toMatchObject({ success: true })
  const { from, nonce } = signedAuthorization(payment)
  const back = offerOf(devnet, { payTo: buyer.address })
  const refund = await signPayment(merchant, back)
  const reserved = await core.facilitator.reserve(
    decoded(refund, back),
    { payTo: buyer.address, accepts: [usdc], project: 'shop' },
    {
      isSettledNow: true,
      refundOf: recordId({ chainId: 84532, asset: devnet.asset, from, nonce }),
    },
  )
  if (isRefusal(reserved)) throw new Error(reserved.refused)
  const paidBack = await reserved.settle()
  expect(paidBack).toMatchObject({ success: true })
  await reserved.markDelivered()
  return { refund, transaction: paidBack.transaction as Hex }
}

describe.each(stores)('a refund that a reorganisation undoes, kept in %s', (_name, make) => {
  it('is sent again, pays the buyer once, and is told to no listener', async () => {
    const ledger = make()
    const merchant = await newPayer(devnet)
    const first = open(ledger, 60_000)
    const { refund, transaction } = await sellAndRefund(first, merchant)
    const before = await balanceOf(devnet, devnet.payers[0]!.address)
    expect(first.happened()).toEqual(['verified', 'submitted', 'settled'])
    first.close()
    await undo(devnet, transaction)
    expect(await balanceOf(devnet, devnet.payers[0]!.address)).toBe(before - PRICE)
    const next = open(ledger)
    await until(async () => (await balanceOf(devnet, devnet.payers[0]!.address)) === before)
    const { from, nonce } = signedAuthorization(refund)
    const key = { chainId: 84532, asset: devnet.asset, from, nonce }
    expect(await ledger.payments.find(key)).toMatchObject({ state: 'settled', delivered: true })
    expect(next.happened()).toEqual([])
    expect(next.errors).toEqual([])
  })
})
