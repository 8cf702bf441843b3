import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import type { Hex } from 'viem'
import { aggregate, callsIn, execute, MULTICALL3, word } from '../../../src/core/chain/abi.js'

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
        const told = callsIn({ to: MULTICALL3, data: aggregate(calls) }, [])
        expect(told.map(({ to, data }) => ({ to: to.toLowerCase(), data }))).toEqual(calls)
      }),
    )
  })

  it('leaves any other call as one call in callsIn', () => {
    const call = { to: MULTICALL3, data: '0x0f28c97d' } as const
    expect(callsIn(call, [])).toEqual([call])
    const other = { to: '0x036CbD53842c5426634e7929541eC2318f3dCF7e', data: aggregate([]) } as const
    expect(callsIn(other, [])).toEqual([other])
  })
})

describe('callsIn', () => {
  const CONTRACT = '0x00000000000000000000000000000000000c0de1'
  /** A list of so many calls, which are one and the same. */
  const listOf = (count: number, size: number): Hex =>
    `0x82ad56cb${word(32)}${word(count)}${word(count * 32).repeat(count)}${word(1)}${word(1)}${word(96)}${word(size)}${'00'.repeat(size)}`

  it('believes what executors execute, and no other contract', () => {
    const data = execute([{ to: MULTICALL3, data: '0x12', gas: 1n }])
    expect(callsIn({ to: CONTRACT, data }, [CONTRACT])).toMatchObject([{ data: '0x12' }])
    expect(callsIn({ to: CONTRACT, data }, [MULTICALL3])).toEqual([{ to: CONTRACT, data }])
  })

  it.each([
    ['nothing', '0x82ad56cb'],
    ['rubbish', '0x82ad56cbffffffff'],
    ['an offset beyond the end', `0x82ad56cb${'ff'.repeat(32)}`],
    ['more calls than fit', `0x82ad56cb${word(32)}${'ff'.repeat(32)}`],
    ['a call that is cut off', aggregate([{ to: MULTICALL3, data: '0x12' }]).slice(0, -64) as Hex],
    ['the same bytes a thousand times', listOf(1000, 60_000)],
  ] as const)('leaves a list as one call that has %s', (_name, data) => {
    expect(callsIn({ to: MULTICALL3, data }, [])).toEqual([{ to: MULTICALL3, data }])
  })

  it('reads a list that names the same bytes once', () => {
    expect(callsIn({ to: MULTICALL3, data: listOf(1, 60_000) }, [])).toHaveLength(1)
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
        expect(callsIn(call, [MULTICALL3])).toEqual([call])
      }
  })
})
