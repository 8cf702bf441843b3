/** The transaction of a record. */
import type { Hex } from '../shared/protocol/payment.js'
import type { LedgerRecord, Submission } from './record.js'

/** Stands for a transaction that only a remote facilitator knows. */
export const REMOTE_SUBMISSION: Submission = {
  transaction: '0x',
  relayer: '0x',
  accountNonce: 0,
  raw: '0x',
}

/** The transaction that a record knows of: {@link REMOTE_SUBMISSION}'s where another process does. */
export function transactionOf(record: LedgerRecord): Hex | undefined {
  switch (record.state) {
    case 'reserved':
      return undefined
    case 'submitted':
      return record.submission.transaction
    case 'settled':
    case 'failed':
      return record.transaction
  }
}

/** The same, as a payer is told: an empty one where only a remote facilitator knows it. */
export function toldTransactionOf(record: LedgerRecord): Hex | '' | undefined {
  return toldTransaction(transactionOf(record))
}

export const toldTransaction = <Known extends Hex | undefined>(transaction: Known): Known | '' =>
  transaction === REMOTE_SUBMISSION.transaction ? '' : transaction
