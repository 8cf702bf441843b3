import { bytesOf, hexOf } from '../../protocol/hex.js'
import type { Hex } from '../../protocol/payment.js'
import type { AuthorizationKey, LedgerEntry, LedgerRecord, Submission } from '../record.js'

/** A record, as it is kept: its transaction has `0x` in place of its bytes. */
export type StoredRecord = LedgerRecord & {
  /** The transfer log that paid for it. */
  readonly transfer?: string | undefined
  /** The payments of a batch share them. */
  readonly bytes?: TransactionBytes
}

/** A signed transaction: half the size of its digits, and outside the heap. `undefined` for `0x`. */
export type TransactionBytes = Uint8Array | undefined

/** The bytes of a transaction, to be kept. */
export function bytesToKeep({ raw }: Submission): TransactionBytes {
  // A copy: small buffers are cut from a large one, which would be kept as a whole.
  return raw === '0x' ? undefined : new Uint8Array(bytesOf(raw))
}

/** A transaction without its bytes. */
export function withoutBytes(submission: Submission): Submission {
  const { transaction, relayer, accountNonce, replaces } = submission
  return { transaction, relayer, accountNonce, raw: '0x', ...(replaces && { replaces }) }
}

/** A transaction, with the bytes that were kept of it. */
export function withBytes(submission: Submission, bytes: TransactionBytes): Submission {
  return bytes ? { ...submission, raw: hexOf(bytes) } : submission
}

/** The members of a record that make an entry. */
export function entryOf(record: LedgerEntry): LedgerEntry {
  const { chainId, asset, from, nonce, payTo, value, validBefore, project } = record
  const { appliedRate, purchase, details, refundOf } = record
  // One literal, without a spread, takes half the memory: thousands are kept.
  return {
    chainId,
    asset,
    from,
    nonce,
    payTo,
    value,
    validBefore,
    project,
    appliedRate,
    purchase,
    details,
    refundOf,
  }
}

/**
 * Stands for a delivered payment whose record was dropped. Its payee is nobody's: it refuses its
 * authorization, and discloses nothing.
 */
export function tombstoneOf(key: AuthorizationKey, id: string): StoredRecord {
  const { chainId, asset, from, nonce } = key
  const flags = { locked: true, ownerSilent: false, delivered: true, fresh: false, paidLate: false }
  return {
    ...{ chainId, asset, from, nonce, id, payTo: '0x', value: 0n, validBefore: 0n },
    ...{ state: 'settled', transaction: '0x', ...flags, createdAt: 0, updatedAt: 0 },
  }
}

/** The last transaction that was submitted for a record. */
export function submissionOf(record: LedgerRecord | undefined): Submission | undefined {
  return record === undefined || record.state === 'reserved' ? undefined : record.submission
}

/** All transactions that were sent for a record, and the one that paid for it. */
export function hashesOf(record: LedgerRecord): readonly Hex[] {
  if (record.state === 'reserved') return []
  const { transaction, replaces = [] } = record.submission ?? {}
  const sent = transaction === undefined ? replaces : [transaction, ...replaces]
  // A failed record may name a foreign transaction, which used its authorization.
  return record.state === 'settled' ? [record.transaction, ...sent] : sent
}

/**
 * Tells whether a transaction replaces the one that was submitted for a record: same relayer, same
 * account nonce. At most one of them is ever mined.
 */
export function isReplacement(
  record: LedgerRecord,
  { relayer, accountNonce }: Submission,
): boolean {
  if (record.state !== 'submitted') return false
  const { submission } = record
  return submission.relayer === relayer && submission.accountNonce === accountNonce
}

/** Compares records: newest first, and by descending id within a millisecond. */
export function newestFirst(one: Position, other: Position): number {
  return other.createdAt - one.createdAt || (one.id < other.id ? 1 : one.id > other.id ? -1 : 0)
}

type Position = Pick<LedgerRecord, 'createdAt' | 'id'>
