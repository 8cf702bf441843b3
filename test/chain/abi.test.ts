import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { encodeFunctionData, type Hex } from 'viem'
import { aggregate, multicall3Abi } from '../../src/chain/abi.js'

const hex = (options: { minLength?: number; maxLength: number }): fc.Arbitrary<Hex> =>
  fc.uint8Array(options).map((bytes) => `0x${Buffer.from(bytes).toString('hex')}` as const)

describe('calldata of several calls', () => {
  it('is what viem makes of it', () => {
    const call = fc.record({
      to: hex({ minLength: 20, maxLength: 20 }),
      data: hex({ maxLength: 300 }),
    })
    fc.assert(
      fc.property(fc.array(call, { maxLength: 25 }), (calls) => {
        const args = calls.map(({ to, data }) => ({
          target: to,
          allowFailure: true,
          callData: data,
        }))
        expect(aggregate(calls)).toBe(
          encodeFunctionData({ abi: multicall3Abi, functionName: 'aggregate3', args: [args] }),
        )
      }),
    )
  })
})
