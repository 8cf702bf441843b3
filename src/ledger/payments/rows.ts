/** Converts records to rows and back. */
import type { Selectable } from 'kysely'
import type { AppliedRate } from '../../money/rates.js'
import { hexOf } from '../../protocol/hex.js'
import type { Hex } from '../../protocol/payment.js'
import type { Reason } from '../../protocol/reasons.js'
import { resourceHash, type PaymentDetails } from '../payment-details.js'
import { REDEEM_WITHOUT_PROOF_MS } from '../purchase.js'
import type { LedgerEntry, LedgerRecord, LedgerStatus, Submission } from '../record.js'
import { digitsOf, idOf } from '../engine/bytes.js'
import type { AuthorizationRow } from '../schema/schema.js'

/** A row, with the database's time at which it was read. */
export type TimedRow = Omit<Selectable<AuthorizationRow>, 'transfer' | 'resource_hash'> & {
  readonly now: number | string
  /** The bytes of its transaction. Absent from a row that was read for a list. */
  readonly raw?: Uint8Array | null
}

/**
 * The columns of an entry, as members of a statement's rows: bytes are digits. One literal: put together
 * from several, they take four times as long.
 *
 * @param id - `recordId` of the entry.
 */
export function entryColumns(entry: LedgerEntry, id: string) {
  const { resource, method, route, decimals, askedPrice, reference } = entry.details ?? {}
  return {
    chain_id: entry.chainId,
    asset: digitsOf(entry.asset),
    payer: digitsOf(entry.from),
    nonce: digitsOf(entry.nonce),
    id,
    pay_to: digitsOf(entry.payTo),
    value: entry.value.toString(),
    valid_before: entry.validBefore.toString(),
    project: entry.project ?? null,
    applied_rate: entry.appliedRate === undefined ? null : JSON.stringify(entry.appliedRate),
    resource: entry.purchase?.resource ?? null,
    offer: entry.purchase?.offer ?? null,
    payment_id: entry.purchase?.paymentId ?? null,
    client: entry.purchase?.client ?? null,
    asker: entry.purchase?.asker ?? null,
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

/** The columns that {@link entryOf} needs, and the record's id. */
export const ENTRY_COLUMNS = [
  'chain_id',
  'asset',
  'payer',
  'nonce',
  'pay_to',
  'value',
  'valid_before',
  'project',
  'applied_rate',
  'resource',
  'offer',
  'payment_id',
  'client',
  'asker',
  'kind',
  'refund_of',
  'id',
] as const

/** The columns that {@link detailsOf} needs. */
export const DETAIL_COLUMNS = [
  'resource_url',
  'method',
  'route',
  'decimals',
  'asked_price',
  'reference',
] as const

/** The columns that a reservation writes. */
export const RESERVED_COLUMNS = [...ENTRY_COLUMNS, ...DETAIL_COLUMNS, 'resource_hash'] as const

/** Those of them that are bytes. */
export const RESERVED_BYTES = ['asset', 'payer', 'nonce', 'id', 'pay_to', 'refund_of'] as const

/** The columns of a record. */
export const LISTED_COLUMNS = [
  ...ENTRY_COLUMNS,
  ...DETAIL_COLUMNS,
  'state',
  'delivered',
  'lock_owner',
  'locked_until',
  'transaction_hash',
  'relayer',
  'account_nonce',
  'replaces',
  'failed',
  'reason',
  'paid_late',
  'created_at',
  'updated_at',
] as const

/** Converts a row to an entry. */
export function entryOf(
  row: Pick<Selectable<AuthorizationRow>, (typeof ENTRY_COLUMNS)[number]>,
): LedgerEntry {
  return {
    chainId: Number(row.chain_id),
    asset: hexOf(row.asset),
    from: hexOf(row.payer),
    nonce: hexOf(row.nonce),
    payTo: hexOf(row.pay_to),
    value: BigInt(row.value),
    validBefore: BigInt(row.valid_before),
    project: row.project ?? undefined,
    appliedRate:
      row.applied_rate === null ? undefined : (JSON.parse(row.applied_rate) as AppliedRate),
    ...(row.resource !== null && {
      purchase: {
        resource: row.resource,
        ...(row.offer !== null && { offer: row.offer }),
        ...(row.payment_id !== null && { paymentId: row.payment_id }),
        ...(row.client !== null && { client: row.client }),
        ...(row.asker !== null && { asker: row.asker }),
      },
    }),
    ...(row.refund_of !== null && { refundOf: idOf(row.refund_of) }),
  }
}

/** Reads the details of a row, if it has any. */
export function detailsOf(
  row: Pick<Selectable<AuthorizationRow>, (typeof DETAIL_COLUMNS)[number]>,
): Pick<LedgerEntry, 'details'> {
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

/** Converts a row to a record. */
export function recordOf(
  row: TimedRow,
  {
    isOurs,
    isUncertain,
    silentMs,
  }: { readonly isOurs: boolean; readonly isUncertain: boolean; readonly silentMs: number },
): LedgerRecord {
  const leftMs = row.lock_owner === null ? -1 : Number(row.locked_until) - Number(row.now)
  const isDelivered = row.delivered === 1 && !isUncertain
  return {
    ...entryOf(row),
    ...detailsOf(row),
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

function submissionOf(row: TimedRow): Submission {
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
