import { describe, expect, it } from '@jest/globals'
import { AUTHORIZATION_USED } from '../../../../src/chain/abi.js'
import type { Receipt } from '../../../../src/chain/types.js'
import { GasShares } from '../../../../src/schemes/evm/network/gas-shares.js'

const HASH = `0x${'ab'.repeat(32)}` as const

/** A transaction that cost 100 wei and made so many payments. */
const receipt = (payments: number): Receipt => ({
  ...{
    transaction: HASH,
    sender: '0x',
    to: '0x',
    succeeded: true,
    blockNumber: 1n,
    blockHash: '0x',
  },
  logs: Array.from({ length: payments }, () => ({
    ...{ address: '0x', topics: [AUTHORIZATION_USED], data: '0x' },
  })) as Receipt['logs'],
  gasUsed: 50n,
  gasPrice: 2n,
})

describe('the shares of gas', () => {
  it('divide the cost of a transaction among its payments, all of it and no more', () => {
    const shares = new GasShares()
    shares.note(receipt(3))
    shares.note(receipt(3))
    expect([1, 2, 3, 4].map(() => shares.charge(HASH))).toEqual([34n, 34n, 32n, 0n])
  })

  it('charge one payment of a transaction that made none, and nobody for one that is not known', () => {
    const shares = new GasShares()
    shares.note(receipt(0))
    expect([shares.charge(HASH), shares.charge(HASH)]).toEqual([100n, 0n])
    expect(shares.charge('0x')).toBe(0n)
  })
})
