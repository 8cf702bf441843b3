import { describe, expect, it } from '@jest/globals'
import { numberToHex, padHex } from 'viem/utils'
import { AUTHORIZATION_USED, TRANSFER } from '../../../../../src/core/chain/abi.js'
import type { Log, Receipt } from '../../../../../src/core/chain/types.js'
import { judgeLogs } from '../../../../../src/core/schemes/evm/erc3009/transfer-log.js'
import { newEntry } from '../../../../support/ledger-entries.js'
import type { Hex } from '../../../../../src/shared/protocol/payment.js'

const PAYER: Hex = `0x${'a1'.repeat(20)}`
const MERCHANT: Hex = `0x${'b2'.repeat(20)}`
const TOKEN: Hex = `0x${'c3'.repeat(20)}`
const nonceOf = (index: number): Hex => numberToHex(index + 1, { size: 32 })
const entryOf = (index: number) =>
  newEntry({ asset: TOKEN, from: PAYER, payTo: MERCHANT, value: 5n, nonce: nonceOf(index) })

const use = (index: number): Log => ({
  address: TOKEN,
  topics: [AUTHORIZATION_USED, padHex(PAYER), nonceOf(index)],
  data: '0x',
})
const move = (to: Hex = MERCHANT, value = 5n): Log => ({
  address: TOKEN,
  topics: [TRANSFER, padHex(PAYER), padHex(to)],
  data: numberToHex(value, { size: 32 }),
})
const self = (): Log => move(PAYER)

function paid(logs: readonly Log[], uses: number, blockHash: Hex = '0xb1'): (string | undefined)[] {
  const receipt: Receipt = {
    ...{ transaction: '0x01', sender: PAYER, to: TOKEN, succeeded: true, blockNumber: 1n },
    ...{ blockHash, logs, gasUsed: 1n, gasPrice: 1n, l1Fee: 0n },
  }
  return Array.from({ length: uses }, (_none, index) => {
    const judged = judgeLogs(receipt, entryOf(index))
    return judged.kind === 'paid' ? judged.transfer : undefined
  })
}

/** Which of some uses were paid, each by a transfer of its own. */
function paidOnes(logs: readonly Log[], uses: number): boolean[] {
  const transfers = paid(logs, uses)
  const known = transfers.filter((transfer) => transfer !== undefined)
  expect(new Set(known).size).toBe(known.length)
  return transfers.map((transfer) => transfer !== undefined)
}

describe('the transfer of an authorization', () => {
  it('follows its use, as in the reference and in Circle’s token', () => {
    expect(paidOnes([use(0), move()], 1)).toEqual([true])
    expect(paidOnes([use(0), move(), use(1), move()], 2)).toEqual([true, true])
    expect(paidOnes([use(0), self(), use(1), move()], 2)).toEqual([false, true])
    expect(paidOnes([use(0), move(), use(1), self()], 2)).toEqual([true, false])
    expect(paidOnes([use(0), self(), use(1), self(), use(2), move()], 3)).toEqual([
      false,
      false,
      true,
    ])
  })

  it('precedes its use if the token logs in that order', () => {
    expect(paidOnes([move(), use(0)], 1)).toEqual([true])
    expect(paidOnes([move(), use(0), move(), use(1)], 2)).toEqual([true, true])
    expect(paidOnes([self(), use(0), move(), use(1)], 2)).toEqual([false, true])
    expect(paidOnes([move(), use(0), self(), use(1)], 2)).toEqual([true, false])
  })

  it('counts for one use only, whatever else its payer moves', () => {
    const one = (logs: readonly Log[], uses: number): void => {
      expect(paidOnes(logs, uses).filter(Boolean).length).toBeLessThanOrEqual(1)
    }
    one([self(), use(0), self(), use(1), move()], 2)
    one([move(), use(0), self(), use(1), self()], 2)
    one([use(0), use(1), move()], 2)
    one([move(), use(0), use(1)], 2)
    one([use(0), self(), move(), use(1), self()], 2)
    one([self(), use(0), move(), use(1), self(), use(2), self()], 3)
  })

  it('is not one of another amount, nor one of twice the amount', () => {
    expect(paidOnes([use(0), move(MERCHANT, 6n)], 1)).toEqual([false])
    expect(paidOnes([use(0), move(), move()], 1)).toEqual([false])
    expect(paidOnes([use(0), self(), move()], 1)).toEqual([false])
    expect(paidOnes([use(0)], 1)).toEqual([false])
  })

  it('never belongs to two uses, in any order of logs', () => {
    const uses = 3
    const logs = [use(0), use(1), use(2), move(), self(), move(), self()]
    for (const order of permutations(logs)) {
      const moves = logs.filter((log) => log.topics[2] === padHex(MERCHANT)).length
      expect(paidOnes(order, uses).filter(Boolean).length).toBeLessThanOrEqual(moves)
    }
  })

  it('is named differently in another block', () => {
    const logs = [use(0), move()]
    expect(paid(logs, 1, '0xb1')).toEqual(paid(logs, 1, '0xb1'))
    expect(paid(logs, 1, '0xb1')).not.toEqual(paid(logs, 1, '0xb2'))
  })
})

function* permutations<T>(items: readonly T[]): Generator<readonly T[]> {
  if (items.length < 2) return void (yield items)
  for (const [index, item] of items.entries())
    for (const rest of permutations(items.toSpliced(index, 1))) yield [item, ...rest]
}
