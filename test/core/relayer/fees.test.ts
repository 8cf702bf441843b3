import { describe, expect, it } from '@jest/globals'
import { feesWithin, bumpFees } from '../../../src/core/relayer/fees.js'

const fees = { baseFeePerGas: 100n, maxFeePerGas: 210n, maxPriorityFeePerGas: 10n }
const offer = (maxFeePerGas: bigint, maxPriorityFeePerGas: bigint) => ({
  maxFeePerGas,
  maxPriorityFeePerGas,
})

describe('feesWithin', () => {
  it('follows the suggestion of the chain', () => {
    expect(feesWithin(fees, undefined)).toEqual(offer(210n, 10n))
    expect(feesWithin(fees, 210n)).toEqual(offer(210n, 10n))
  })

  it('is the cap if that is less, as long as the next block costs no more', () => {
    expect(feesWithin(fees, 209n)).toEqual(offer(209n, 10n))
    expect(feesWithin(fees, 110n)).toEqual(offer(110n, 10n))
    expect(feesWithin(fees, 109n)).toBeUndefined()
  })
})

describe('bumpFees', () => {
  it('follows the suggestion of the chain if that is an eighth more', () => {
    expect(bumpFees(offer(100n, 1n), fees, undefined)).toEqual(offer(210n, 10n))
  })

  it('is an eighth more in both members if the chain suggests less', () => {
    expect(bumpFees(offer(800n, 80n), fees, undefined)).toEqual(offer(901n, 91n))
  })

  it('is more than zero', () => {
    const none = { ...fees, maxPriorityFeePerGas: 0n }
    expect(bumpFees(offer(80n, 0n), none, undefined)).toEqual(offer(210n, 1n))
  })

  it('stays below the cap, or gives no fees', () => {
    expect(bumpFees(offer(100n, 1n), fees, 150n)).toEqual(offer(150n, 10n))
    expect(bumpFees(offer(140n, 1n), fees, 150n)).toBeUndefined()
    expect(bumpFees(offer(50n, 1n), fees, 109n)).toBeUndefined()
  })

  it('never tips more than it offers in all', () => {
    expect(bumpFees(offer(100n, 100n), { ...fees, maxFeePerGas: 101n }, 113n)).toEqual(
      offer(113n, 113n),
    )
    expect(bumpFees(offer(100n, 110n), fees, 130n)).toEqual(offer(130n, 124n))
  })
})
