/** Converts records to rows and back. */
import type { AppliedRate } from '../../shared/money/rates.js'
import { hexOf, sameHex } from '../../shared/protocol/hex.js'
import type { Hex } from '../../shared/protocol/payment.js'
import type { Reason } from '../../shared/protocol/reasons.js'
import { resourceHash, type PaymentDetails } from '../payment-details.js'
import { REDEEM_WITHOUT_PROOF_MS } from '../purchase.js'
import type { LedgerEntry, LedgerRecord, LedgerStatus, Submission } from '../record.js'
import { digitsOf, idOf } from '../engine/bytes.js'
import type { Row } from '../schema/tables.js'

/** A row, with the database's time at which it was read. */
export type TimedRow = Row<'x402_authorizations'> & {
  readonly now: number | string
  /** The bytes of its transaction. Absent from a row that was read for a list. */
  readonly raw?: Uint8Array | null
}

/**
 * The columns of an entry, as members of a statement's rows: bytes are digits. One literal: put together
 * from several, they take four times as long.
 *
 * @param record_id - `recordId` of the entry.
 */
export function entryColumns(entry: LedgerEntry, record_id: string) {
  const { resource, method, route, decimals, askedPrice, reference } = entry.details ?? {}
  return {
    chain_id: entry.chainId,
    asset: digitsOf(entry.asset),
    contract: sameHex(entry.contract, entry.asset) ? undefined : digitsOf(entry.contract),
    payer: digitsOf(entry.from),
    nonce: digitsOf(entry.nonce),
    scheme: entry.scheme,
    record_id,
    pay_to: digitsOf(entry.payTo),
    value: entry.value.toString(),
    valid_before: entry.validBefore.toString(),
    project: entry.project ?? null,
    applied_rate: entry.appliedRate === undefined ? null : JSON.stringify(entry.appliedRate),
    resource: entry.purchase?.resource ?? null,
    price: entry.purchase?.price ?? null,
    offer: entry.purchase?.offer ?? null,
    payment_id: entry.purchase?.paymentId ?? null,
    client: entry.purchase?.client ?? null,
    asker: entry.purchase?.asker ?? null,
    access: entry.purchase?.access?.key ?? null,
    access_ms: entry.purchase?.access?.ms ?? null,
    kind: entry.refundOf === undefined ? ('payment' as const) : ('refund' as const),
    refund_of: entry.refundOf ?? null,
    resource_url: resource ?? null,
    method: method ?? null,
    route: route ?? null,
    decimals: decimals ?? null,
    asked_price: askedPrice ?? null,
    reference: reference ?? null,
    resource_hash: resource === undefined ? null : resourceHash(resource),
  }
}

export function entryOf(row: Row<'x402_authorizations'>): LedgerEntry {
  return {
    chainId: Number(row.chain_id),
    asset: hexOf(row.asset),
    contract: hexOf(row.contract ?? row.asset),
    from: hexOf(row.payer),
    nonce: hexOf(row.nonce),
    scheme: row.scheme,
    payTo: hexOf(row.pay_to),
    value: BigInt(row.value),
    ...(row.charged !== null && { charged: BigInt(row.charged) }),
    validBefore: BigInt(row.valid_before),
    project: row.project ?? undefined,
    appliedRate:
      row.applied_rate === null ? undefined : (JSON.parse(row.applied_rate) as AppliedRate),
    ...(row.resource !== null && {
      purchase: {
        resource: row.resource,
        ...(row.price !== null && { price: row.price }),
        ...(row.offer !== null && { offer: row.offer }),
        ...(row.payment_id !== null && { paymentId: row.payment_id }),
        ...(row.client !== null && { client: row.client }),
        ...(row.asker !== null && { asker: row.asker }),
      },
    }),
    ...(row.refund_of !== null && { refundOf: idOf(row.refund_of) }),
    ...detailsOf(row),
  }
}

/** Reads the details of a row; nothing if all are null. */
function detailsOf(row: Row<'x402_authorizations'>): Pick<LedgerEntry, 'details'> {
  const details: PaymentDetails = {
    ...(row.resource_url !== null && { resource: row.resource_url }),
    ...(row.method !== null && { method: row.method }),
    ...(row.route !== null && { route: row.route }),
    ...(row.decimals !== null && { decimals: row.decimals }),
    ...(row.asked_price !== null && { askedPrice: row.asked_price }),
    ...(row.reference !== null && { reference: row.reference }),
  }
  return Object.keys(details).length === 0 ? {} : { details }
}

/** How a process knows a record's lock. */
interface KnownLock {
  readonly isOurs: boolean
  readonly isUncertain: boolean
  readonly silentMs: number
}

/** Converts a row to a record. @param lock - Omitted by who locks nothing. */
export function recordOf(row: TimedRow, lock?: KnownLock): LedgerRecord {
  const { isOurs = false, isUncertain = false, silentMs = 0 } = lock ?? {}
  const leftMs = row.lock_owner === null ? -1 : Number(row.locked_until) - Number(row.now)
  const isDelivered = row.delivered === 1 && !isUncertain
  return {
    ...entryOf(row),
    id: idOf(row.id),
    createdAt: Number(row.created_at),
    updatedAt: Number(row.updated_at),
    locked: isDelivered || isUncertain || isOurs || leftMs >= 0,
    lockedElsewhere: !isDelivered && !isOurs && leftMs >= 0,
    // A failed delivery is about to be reverted: until then the payment is open, but not free.
    ownerSilent: isUncertain || (!isDelivered && !isOurs && leftMs >= 0 && leftMs < silentMs),
    delivered: isDelivered,
    // A delivery keeps its lock's name, which no other has.
    ...(isDelivered && row.lock_owner !== null && { delivery: row.lock_owner }),
    fresh: Number(row.now) - Number(row.created_at) < REDEEM_WITHOUT_PROOF_MS,
    paidLate: row.paid_late === 1,
    ...statusOf(row),
  }
}

function statusOf(row: TimedRow): LedgerStatus {
  const { state } = row
  if (state === 'reserved') return { state }
  if (state === 'settled' && row.transaction_hash === null) return { state }
  const submission = submissionOf(row)
  const { transaction } = submission
  const hasBytes = row.raw !== null && row.raw !== undefined
  switch (state) {
    case 'submitted':
      return { state, submission }
    case 'settled':
      return { state, transaction, ...(hasBytes && { submission }) }
    case 'failed': {
      const reason = row.reason as Reason
      return { state, transaction, reason, ...(hasBytes && { submission }) }
    }
  }
}

const NO_BYTES = new Uint8Array()

/** The columns of a transaction, of a record or of its relayer. */
type SubmittedRow = Pick<
  TimedRow,
  'transaction_hash' | 'relayer' | 'account_nonce' | 'replaces' | 'raw'
> &
  Partial<Pick<TimedRow, 'failed'>>

/** Converts the columns of a transaction. */
export function submissionOf(row: SubmittedRow): Submission {
  const replaces = row.replaces?.split(',') as readonly Hex[] | undefined
  const failed = row.failed?.split(',') as readonly Hex[] | undefined
  return {
    transaction: hexOf(row.transaction_hash ?? NO_BYTES),
    relayer: hexOf(row.relayer ?? NO_BYTES),
    accountNonce: Number(row.account_nonce),
    raw: hexOf(row.raw ?? NO_BYTES),
    ...(replaces && { replaces }),
    ...(failed && { failed }),
  }
}
