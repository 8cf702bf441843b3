import { describe, expect, it } from '@jest/globals'
import { AUTHORIZATION_USED } from '../../../../../src/core/chain/abi.js'
import type { Receipt } from '../../../../../src/core/chain/types.js'
import type { Hex } from '../../../../../src/shared/protocol/payment.js'
import { GasShares } from '../../../../../src/core/schemes/evm/network/gas-shares.js'

const TOKEN = `0x${'70'.repeat(20)}` as const
const HASH = `0x${'ab'.repeat(32)}` as const

/** A transaction that cost 100 wei and made so many payments. */
const receipt = (payments: number, token: Hex = TOKEN): Receipt => ({
  ...{
    transaction: HASH,
    sender: '0x',
    to: '0x',
    succeeded: true,
    blockNumber: 1n,
    blockHash: '0x',
  },
  logs: Array.from({ length: payments }, () => ({
    ...{ address: token, topics: [AUTHORIZATION_USED], data: '0x' },
  })) as Receipt['logs'],
  gasUsed: 50n,
  gasPrice: 2n,
  l1Fee: 0n,
})

describe('the shares of gas', () => {
  it('divide the cost of a transaction among its payments, all of it and no more', () => {
    const shares = new GasShares(new Set([TOKEN]))
    shares.add(receipt(3))
    shares.add(receipt(3))
    expect([1, 2, 3, 4].map(() => shares.charge(HASH).wei)).toEqual([34n, 34n, 32n, 0n])
  })

  it('charge one payment of a transaction that made none, and nobody for one that is not known', () => {
    const shares = new GasShares(new Set([TOKEN]))
    shares.add(receipt(0))
    expect([1, 2].map(() => shares.charge(HASH).wei)).toEqual([100n, 0n])
    expect(shares.charge('0x')).toEqual({ gas: 0n, wei: 0n })
  })

  it('hold what a rollup takes for data, and are rounded up to whole wei for each gas', () => {
    const shares = new GasShares(new Set([TOKEN]))
    shares.add({ ...receipt(2), l1Fee: 101n })
    expect([1, 2, 3].map(() => shares.charge(HASH).wei)).toEqual([125n, 125n, 0n])
  })

  it('do not count what another contract has logged', () => {
    const shares = new GasShares(new Set([TOKEN]))
    const { logs } = receipt(9, HASH)
    const own = receipt(1)
    shares.add({ ...own, logs: [...own.logs, ...logs] })
    expect([1, 2].map(() => shares.charge(HASH).wei)).toEqual([100n, 0n])
  })
})
