import { privateKeyToAddress } from 'viem/accounts'
import { expect, it } from '@jest/globals'
import { RpcChain } from '../../../../src/chain/chain.js'
import { findNetwork } from '../../../../src/protocol/networks.js'
import { PendingSpend, type Spend } from '../../../../src/schemes/evm/network/pending-spend.js'
import { useDevnet } from '../../../support/devnet.js'
import { newNonce } from '../../../support/sign-payment.js'

const devnet = useDevnet()

it('the pending spend counts those of the last 200 payments of a payer that ended after its balance was read', async () => {
  const network = findNetwork('base-sepolia')!
  const pending = new PendingSpend(new RpcChain({ network, rpcUrl: devnet.rpcUrl }), Date.now)
  // Has nothing on chain, which is asked where the balance that was read does not suffice.
  const from = privateKeyToAddress(newNonce())
  const { asset, merchant } = devnet
  /** A payment of one unit, by a payer whose balance was read at some time. */
  const spend = (balance: bigint, at: number): Spend => {
    const nonce = newNonce()
    const bounds = { amount: 1n, validAfter: 0n, validBefore: 2n ** 40n }
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
