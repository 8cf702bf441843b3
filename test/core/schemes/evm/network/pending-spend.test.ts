import { privateKeyToAddress } from 'viem/accounts'
import { expect, it } from '@jest/globals'
import { RpcChain } from '../../../../../src/core/chain/chain.js'
import { findNetwork } from '../../../../../src/shared/protocol/networks.js'
import {
  PendingSpend,
  type Spend,
} from '../../../../../src/core/schemes/evm/network/pending-spend.js'
import { useDevnet } from '../../../../support/devnet.js'
import { newNonce } from '../../../../support/sign-payment.js'

const devnet = useDevnet()

/** A payer without a balance on chain, which is asked where the balance that was read does not suffice. */
function openSpend() {
  const network = findNetwork('base-sepolia')!
  const pending = new PendingSpend(new RpcChain({ network, rpcUrl: devnet.rpcUrl }), Date.now)
  const from = privateKeyToAddress(newNonce())
  const { asset, merchant } = devnet
  /** A payment, by a payer whose balance was read at some time. */
  const spend = (balance: bigint, at: number, amount = 1n, nonce = newNonce()): Spend => {
    const bounds = { amount, validAfter: 0n, validBefore: 2n ** 40n }
    const simulation = {
      ...{ balance, at, codeHash: undefined, succeeds: true, isToken: true },
      ...{ gas: 50_000n, sharedGas: 0n, isFirstBalance: false, allowance: undefined },
    }
    return {
      key: { chainId: network.chainId, contract: asset, from, nonce },
      asset: { address: asset, separator: nonce, permit2Separator: nonce },
      facts: { payer: from, payTo: merchant.address, nonce, ...bounds, signed: undefined },
      checked: { simulation },
    }
  }
  return { pending, spend, asset }
}

it('the pending spend counts those of the last 200 payments of a payer that ended after its balance was read', async () => {
  const { pending, spend, asset } = openSpend()
  const payAndEnd = async (times: number): Promise<void> => {
    for (let time = 0; time < times; time++) {
      const one = spend(10_000n, performance.now())
      expect(await pending.take(one)).toBeUndefined()
      pending.end({ ...one.key, asset })
    }
  }

  const first = performance.now()
  await payAndEnd(900)
  const second = performance.now()
  await payAndEnd(100)
  expect(await pending.shortageOf(spend(200n, first))).toBe('balance')
  expect(await pending.shortageOf(spend(100n, second))).toBe('balance')
  expect(await pending.shortageOf(spend(101n, second))).toBeUndefined()
  expect(await pending.shortageOf(spend(1n, performance.now()))).toBeUndefined()
})

it('the pending spend counts the most that was signed with a nonce', async () => {
  const { pending, spend, asset } = openSpend()
  const nonce = newNonce()
  for (const amount of [1n, 100n, 10n])
    expect(await pending.take(spend(100n, performance.now(), amount, nonce))).toBeUndefined()
  const another = spend(100n, performance.now())
  expect(await pending.take(another)).toBe('balance')
  for (let taker = 0; taker < 3; taker++) pending.drop({ ...another.key, nonce, asset })
  expect(await pending.take(another)).toBeUndefined()
})
