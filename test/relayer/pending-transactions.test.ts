import { describe, expect, it } from '@jest/globals'
import {
  PendingTransactions,
  type PendingTransaction,
} from '../../src/relayer/pending-transactions.js'
import type { Hex } from '../../src/protocol/payment.js'

const hash = (name: number, version = 0): Hex =>
  `0x${String(name).padStart(62, '0')}${String(version).padStart(2, '0')}`

function pendingTransaction(
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
  { submission, ...rest }: PendingTransaction,
  version: number,
): PendingTransaction {
  const { transaction, accountNonce, replaces = [] } = submission
  const next = {
    ...submission,
    transaction: hash(accountNonce, version),
    replaces: [transaction, ...replaces],
  }
  return { ...rest, submission: next }
}

describe('PendingTransactions', () => {
  it('marks every transaction up to a mined one as mined', () => {
    const pending = new PendingTransactions()
    for (const nonce of [3, 4, 5]) pending.add(pendingTransaction(nonce))
    expect(pending.nextNonce).toBe(6)
    pending.noteMined(hash(4))
    expect(pending.all().map(({ submission }) => submission.accountNonce)).toEqual([5])
    pending.noteMined(hash(99))
    expect(pending.size).toBe(1)
    expect(pending.minedAt(3)).toBeDefined()
    expect(pending.minedAt(5)).toBeUndefined()
  })

  it('marks a transaction as mined by the hash of any version of it', () => {
    const pending = new PendingTransactions()
    const first = pendingTransaction(1)
    const second = replaced(first, 1)
    pending.add(first)
    pending.update(first, second)
    expect(pending.transactionsOf(first.submission)).toEqual([hash(1, 1), hash(1)])
    pending.noteMined(hash(1))
    expect(pending.size).toBe(0)
    expect(pending.transactionsOf(first.submission)).toEqual([hash(1, 1), hash(1)])
  })

  it('changes and removes only the current version of a transaction', () => {
    const pending = new PendingTransactions()
    const first = pendingTransaction(1)
    pending.add(first)
    pending.update(first, replaced(first, 1))
    expect(pending.has(first)).toBe(false)
    pending.update(first, { isUnknown: true })
    pending.remove(first)
    expect([pending.size, pending.hasUnknown]).toEqual([1, false])
    pending.remove(replaced(first, 1))
    expect([pending.size, pending.nextNonce]).toEqual([0, 0])
  })

  it('knows transactions of other processes by their ledger record', () => {
    const pending = new PendingTransactions()
    const { submission } = replaced(pendingTransaction(7), 2)
    expect(pending.transactionsOf(submission)).toEqual([hash(7, 2), hash(7)])
    pending.add(
      pendingTransaction(7, { submission: { ...submission, transaction: hash(8), replaces: [] } }),
    )
    expect(pending.transactionsOf(submission)).toEqual([hash(7, 2), hash(7)])
  })

  it('forgets mined transactions after some time', () => {
    const pending = new PendingTransactions()
    for (let nonce = 0; nonce < 300; nonce++) pending.add(pendingTransaction(nonce))
    pending.noteMinedNonce(300)
    expect(pending.minedAt(10)).toBeUndefined()
    expect(pending.minedAt(299)).toBeDefined()
  })
})
