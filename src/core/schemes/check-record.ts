/** Whether what the ledger knows of a payment allows it to be taken. */
import { UNPAID, type LedgerEntry, type LedgerRecord } from '../../ledger/index.js'
import { toldTransactionOf } from '../../ledger/record-transaction.js'
import {
  bringsSameProof,
  isSameAsker,
  isSameBuyer,
  isSamePurchase,
  whyAnotherPurchase,
  type PresentedPurchase,
} from '../../ledger/purchase.js'
import type { Reason } from '../../shared/protocol/reasons.js'
import type { MerchantTerms, Refusal } from './scheme.js'

export function purchaseOf({
  entry,
  terms,
}: {
  readonly entry: LedgerEntry
  readonly terms: MerchantTerms | undefined
}): PresentedPurchase {
  return { entry, redeemWithoutProof: terms?.redeemWithoutProof }
}

export type FailedRecord = Extract<LedgerRecord, { state: 'failed' }>

/**
 * Why the record of an authorization keeps it from being taken, if it does.
 *
 * An open record does not, if its buyer presents it for what it was reserved for: that buyer has paid,
 * or is about to have, and got nothing. Nor does one whose transaction was mined without moving money, while
 * its authorization may still be used.
 */
export function checkRecord(
  record: LedgerRecord | undefined,
  presented: PresentedPurchase,
): Reason | undefined {
  if (record === undefined) return undefined
  if (!isSamePurchase(record, presented.entry)) return whyAnotherPurchase(record, presented.entry)
  if (record.state === 'failed') return checkFailed(record, presented)
  if (record.delivered) return 'invalid_exact_evm_nonce_already_used'
  if (!record.locked) return checkBuyer(record, presented)
  // The process that sent it may be dead: once its lock has lapsed, the same payment is good again.
  const isElsewhere = record.ownerSilent || record.lockedElsewhere === true
  const isSent = record.state !== 'reserved' && record.charged !== 0n
  return isElsewhere && isSent ? 'settlement_pending' : 'duplicate_settlement'
}

/** The merchant signs a failed refund anew: what it takes from its payment is not counted again. */
function checkFailed(record: FailedRecord, presented: PresentedPurchase): Reason | undefined {
  const mayBeSentAgain = record.reason === UNPAID && record.refundOf === undefined
  if (!mayBeSentAgain || checkBuyer(record, presented) !== undefined) return record.reason
  return record.locked ? 'duplicate_settlement' : undefined
}

export function checkBuyer(record: LedgerRecord, presented: PresentedPurchase): Reason | undefined {
  return isSamePurchase(record, presented.entry) && isSameBuyer(record, presented)
    ? undefined
    : 'invalid_exact_evm_nonce_already_used'
}

/**
 * What a refusal discloses of the record that caused it.
 *
 * Nothing of a record that was made for something else: it may be another merchant's.
 */
export function refusalDetails(
  record: LedgerRecord,
  { entry }: PresentedPurchase,
  refused: Reason,
): Pick<Refusal, 'transaction' | 'settledBy' | 'isRepeat'> {
  if (!isSamePurchase(record, entry)) return {}
  const isPending = refused === 'settlement_pending'
  switch (record.state) {
    case 'reserved':
      return {}
    case 'submitted':
      return isPending ? { transaction: toldTransactionOf(record) } : {}
    case 'failed':
      return refused === record.reason ? { transaction: record.transaction } : {}
    case 'settled':
      if (isPending) return { transaction: record.transaction }
      return {
        isRepeat: true,
        ...(bringsSameProof(record, entry) &&
          isSameAsker(record, entry) && { settledBy: record.transaction }),
      }
  }
}
