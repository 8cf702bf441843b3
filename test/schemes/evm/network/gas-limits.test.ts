import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { privateKeyToAccount } from 'viem/accounts'
import type { Hex } from '../../../../src/protocol/payment.js'
import { askNode, offerOf, openCore, type Core } from '../../../support/core.js'
import { useDevnet } from '../../../support/devnet.js'
import { newPayer } from '../../../support/on-chain.js'
import { newNonce, signPayment, type TestPayer } from '../../../support/sign-payment.js'

/** Most that a gas limit may be of what its transaction took, in percent. */
const MOST_PERCENT = 125n

describe('gas limits', () => {
  const devnet = useDevnet()
  let core: Core
  beforeAll(() => {
    core = openCore(devnet)
  })
  afterAll(() => core.close())

  /** Settles payments at once, and tells what their transactions were allowed and what they took. */
  const settle = async (payments: readonly { payer: TestPayer; payTo?: Hex }[]) => {
    const signed = await Promise.all(
      payments.map(async ({ payer, payTo }) => {
        const offer = offerOf(devnet, payTo && { payTo })
        return { offer, payment: await signPayment(payer, offer) }
      }),
    )
    const settled = await Promise.all(
      signed.map(({ offer, payment }) => core.facilitator.settle(payment, offer)),
    )
    expect(settled.map(({ success }) => success)).toEqual(payments.map(() => true))
    const hashes = [...new Set(settled.map(({ transaction }) => transaction))]
    return Promise.all(
      hashes.map(async (hash) => {
        const sent = await askNode<{ gas: Hex }>(devnet, 'eth_getTransactionByHash', hash)
        const mined = await askNode<{ gasUsed: Hex }>(devnet, 'eth_getTransactionReceipt', hash)
        const members = settled.filter(({ transaction }) => transaction === hash).length
        return { members, limit: BigInt(sent.gas), took: BigInt(mined.gasUsed) }
      }),
    )
  }
  const newPayers = (count: number): Promise<TestPayer[]> =>
    Promise.all(Array.from({ length: count }, () => newPayer(devnet)))
  const newAddress = (): Hex => privateKeyToAccount(newNonce()).address

  const cases = {
    'one payment': async () => [{ payer: await newPayer(devnet) }],
    'the first payment of a merchant': async () => [
      { payer: await newPayer(devnet), payTo: newAddress() },
    ],
    'twenty payers at once': async () => (await newPayers(20)).map((payer) => ({ payer })),
    'twenty payments of one payer at once': async () => {
      const payer = await newPayer(devnet)
      return Array.from({ length: 20 }, () => ({ payer }))
    },
    'twenty payers and twenty new merchants at once': async () =>
      (await newPayers(20)).map((payer) => ({ payer, payTo: newAddress() })),
    'a few payers and merchants at once': async () =>
      (await newPayers(3)).map((payer) => ({ payer, payTo: newAddress() })),
  }
  it.each(Object.entries(cases))(
    'are at most 1.25 times the gas that is used: %s',
    async (_name, payments) => {
      await settle([{ payer: await newPayer(devnet) }])
      const transactions = await settle(await payments())
      for (const { limit, took } of transactions) {
        expect(limit * 100n).toBeLessThanOrEqual(took * MOST_PERCENT)
        expect(limit).toBeGreaterThan(took)
      }
    },
  )
})
