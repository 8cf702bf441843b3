import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import type { Hex } from 'viem'
import { aggregate, callsIn, MULTICALL3 } from '../../src/chain/abi.js'

const hex = (options: { minLength?: number; maxLength: number }): fc.Arbitrary<Hex> =>
  fc.uint8Array(options).map((bytes) => `0x${Buffer.from(bytes).toString('hex')}` as const)

const severalCalls = fc.array(
  fc.record({ to: hex({ minLength: 20, maxLength: 20 }), data: hex({ maxLength: 300 }) }),
  { maxLength: 25 },
)

describe('aggregate', () => {
  it('is decoded by callsIn', () => {
    fc.assert(
      fc.property(severalCalls, (calls) => {
        const told = callsIn({ to: MULTICALL3, data: aggregate(calls) })
        expect(told.map(({ to, data }) => ({ to: to.toLowerCase(), data }))).toEqual(calls)
      }),
    )
  })

  it('leaves any other call as one call in callsIn', () => {
    const call = { to: MULTICALL3, data: '0x0f28c97d' } as const
    expect(callsIn(call)).toEqual([call])
    const other = { to: '0x036CbD53842c5426634e7929541eC2318f3dCF7e', data: aggregate([]) } as const
    expect(callsIn(other)).toEqual([other])
  })

  it('takes what nobody can have written for one call, however large it claims to be', () => {
    const word = (value: number | bigint): string => value.toString(16).padStart(64, '0')
    const one = word(1) + word(1) + word(96) + word(30_000) + '00'.repeat(30_000)
    /** A list whose members are all the same bytes. */
    const bomb = word(32) + word(100) + word(3200).repeat(100) + one
    const rubbish = ['ffffffff', '', word(32), word(32) + word(2n ** 200n), word(2n ** 255n), bomb]
    for (const digits of rubbish)
      for (const selector of ['0x82ad56cb', '0x3f707e6b'] as const) {
        const call = { to: MULTICALL3, data: `${selector}${digits}` } as const
        expect(callsIn(call)).toEqual([call])
      }
  })
})
