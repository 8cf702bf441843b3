import { describe, expect, it } from '@jest/globals'
import {
  createPendingTransactions,
  type PendingTransaction,
} from '../../src/relayer/pending-transactions.js'
import type { Hex } from '../../src/protocol/payment.js'

const hash = (name: number, version = 0): Hex =>
  `0x${String(name).padStart(62, '0')}${String(version).padStart(2, '0')}`

function flightOf(
  accountNonce: number,
  changes: Partial<PendingTransaction> = {},
): PendingTransaction {
  const idle = async (): Promise<void> => undefined
  return {
    request: { call: { to: '0x', data: '0x' }, gas: 1n, writeAhead: idle },
    submission: {
      transaction: hash(accountNonce),
      relayer: '0x',
      accountNonce,
      raw: '0x',
    },
    fees: { maxFeePerGas: 1n, maxPriorityFeePerGas: 1n },
    isUnknown: false,
    pricedAt: 0,
    ...changes,
  }
}

/** The next version of a transaction. */
function replaced(
  { submission, ...flight }: PendingTransaction,
  version: number,
): PendingTransaction {
  const { transaction, accountNonce, replaces = [] } = submission
  const next = {
    ...submission,
    transaction: hash(accountNonce, version),
    replaces: [transaction, ...replaces],
  }
  return { ...flight, submission: next }
}

describe('transactions on their way', () => {
  it('are all mined up to the one that is', () => {
    const flights = createPendingTransactions()
    for (const count of [3, 4, 5]) flights.add(flightOf(count))
    expect(flights.nextNonce()).toBe(6)
    flights.noteMined(hash(4))
    expect(flights.all().map(({ submission }) => submission.accountNonce)).toEqual([5])
    flights.noteMined(hash(99))
    expect(flights.size()).toBe(1)
    expect(flights.minedAt(3)).toBeDefined()
    expect(flights.minedAt(5)).toBeUndefined()
  })

  it('are mined by the hash of any that was replaced', () => {
    const flights = createPendingTransactions()
    const first = flightOf(1)
    const second = replaced(first, 1)
    flights.add(first)
    flights.update(first, second)
    expect(flights.transactionsOf(first.submission)).toEqual([hash(1, 1), hash(1)])
    flights.noteMined(hash(1))
    expect(flights.size()).toBe(0)
    expect(flights.transactionsOf(first.submission)).toEqual([hash(1, 1), hash(1)])
  })

  it('are what they are now, not what they were', () => {
    const flights = createPendingTransactions()
    const first = flightOf(1)
    flights.add(first)
    flights.update(first, replaced(first, 1))
    expect(flights.has(first)).toBe(false)
    flights.update(first, { isUnknown: true })
    flights.remove(first)
    expect([flights.size(), flights.hasUnknown()]).toEqual([1, false])
    flights.remove(replaced(first, 1))
    expect([flights.size(), flights.nextNonce()]).toEqual([0, 0])
  })

  it('of other processes are known by what was written down', () => {
    const flights = createPendingTransactions()
    const { submission } = replaced(flightOf(7), 2)
    expect(flights.transactionsOf(submission)).toEqual([hash(7, 2), hash(7)])
    flights.add(flightOf(7, { submission: { ...submission, transaction: hash(8), replaces: [] } }))
    expect(flights.transactionsOf(submission)).toEqual([hash(7, 2), hash(7)])
  })

  it('are forgotten some time after they were mined', () => {
    const flights = createPendingTransactions()
    for (let count = 0; count < 300; count++) flights.add(flightOf(count))
    flights.noteMinedNonce(300)
    expect(flights.minedAt(10)).toBeUndefined()
    expect(flights.minedAt(299)).toBeDefined()
  })
})
