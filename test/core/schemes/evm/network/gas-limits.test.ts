import { describe, expect, it } from '@jest/globals'
import { privateKeyToAccount } from 'viem/accounts'
import type { Hex } from '../../../../../src/shared/protocol/payment.js'
import { askNode, offerOf, openCore } from '../../../../support/core.js'
import { useDevnet } from '../../../../support/devnet.js'
import { newPayer } from '../../../../support/on-chain.js'
import { permit2On } from '../../../../support/permit2.js'
import { newNonce, signPayment, type TestPayer } from '../../../../support/sign-payment.js'
import { useOpened } from '../../../../support/use-opened.js'

/**
 * Most that a gas limit may be of what its transaction took, in percent. Circle's token looks once in a
 * transaction whether Permit2 is blocked, and writes each allowance anew, which is measured for each.
 */
const MOST_PERCENT = { 'ERC-3009': 125n, Permit2: 130n }

describe.each(['ERC-3009', 'Permit2'] as const)('gas limits of payments by %s', (method) => {
  const devnet = useDevnet()
  const permit2 = permit2On(devnet)
  const core = useOpened(() => openCore(devnet))

  /** Settles payments at once, and tells what their transactions were allowed and what they took. */
  const settle = async (payments: readonly { payer: TestPayer; payTo?: Hex }[]) => {
    const signed = await Promise.all(
      payments.map(async ({ payer, payTo }) => {
        const to = payTo && { payTo }
        if (method === 'ERC-3009') {
          const offer = offerOf(devnet, to)
          return { offer, payment: await signPayment(payer, offer) }
        }
        const offer = { ...permit2.offer(), ...to }
        return { offer, payment: await permit2.sign(payer, offer) }
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
  const onePayer = async (): Promise<TestPayer> => {
    const payer = await newPayer(devnet)
    if (method === 'Permit2') await permit2.approve(payer.address)
    return payer
  }
  const newPayers = (count: number): Promise<TestPayer[]> =>
    Promise.all(Array.from({ length: count }, onePayer))
  const newAddress = (): Hex => privateKeyToAccount(newNonce()).address

  const cases = {
    'one payment': async () => [{ payer: await onePayer() }],
    'the first payment of a merchant': async () => [
      { payer: await onePayer(), payTo: newAddress() },
    ],
    'twenty payers at once': async () => (await newPayers(20)).map((payer) => ({ payer })),
    'twenty payments of one payer at once': async () => {
      const payer = await onePayer()
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
      await settle([{ payer: await onePayer() }])
      const transactions = await settle(await payments())
      for (const { limit, took } of transactions) {
        expect(limit * 100n).toBeLessThanOrEqual(took * MOST_PERCENT[method])
        expect(limit).toBeGreaterThan(took)
      }
    },
  )
})
