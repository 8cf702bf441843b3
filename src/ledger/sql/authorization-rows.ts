/** Converts records to rows and back. */
import type { Selectable } from 'kysely'
import type { AppliedRate } from '../../money/rates.js'
import type { Address, Hex } from '../../protocol/payment.js'
import type { Reason } from '../../protocol/reasons.js'
import { recordId } from '../ledger.js'
import { REDEEM_WITHOUT_PROOF_MS } from '../purchase.js'
import type {
  AuthorizationKey,
  LedgerEntry,
  LedgerRecord,
  LedgerStatus,
  Submission,
} from '../ledger.js'
import type { AuthorizationRow } from './schema.js'

/** A row, with the database's time at which it was read. */
export type TimedRow = Selectable<AuthorizationRow> & { readonly now: number | string }

/** The columns of a key. */
export function keyColumns({ chainId, asset, from, nonce }: AuthorizationKey) {
  return {
    chain_id: chainId,
    asset: asset.toLowerCase(),
    payer: from.toLowerCase(),
    nonce: nonce.toLowerCase(),
  }
}

/** The columns of an entry, without those of its key. */
export function entryColumns(entry: LedgerEntry) {
  return {
    id: recordId(entry),
    pay_to: entry.payTo,
    value: entry.value.toString(),
    valid_before: entry.validBefore.toString(),
    project: entry.project ?? null,
    applied_rate: entry.appliedRate === undefined ? null : JSON.stringify(entry.appliedRate),
    resource: entry.purchase?.resource ?? null,
    offer: entry.purchase?.offer ?? null,
    payment_id: entry.purchase?.paymentId ?? null,
    client: entry.purchase?.client ?? null,
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
  'id',
] as const

/** Converts a row to an entry. */
export function entryOf(
  row: Pick<Selectable<AuthorizationRow>, (typeof ENTRY_COLUMNS)[number]>,
): LedgerEntry {
  return {
    chainId: Number(row.chain_id),
    asset: row.asset as Address,
    from: row.payer as Address,
    nonce: row.nonce as Hex,
    payTo: row.pay_to as Address,
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
      },
    }),
  }
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
    id: row.id,
    createdAt: Number(row.created_at),
    updatedAt: Number(row.updated_at),
    locked: isDelivered || isUncertain || isOurs || leftMs >= 0,
    lockedElsewhere: !isDelivered && !isOurs && leftMs >= 0,
    // A failed delivery is about to be reverted: until then the payment is open, but not free.
    ownerSilent: isUncertain || (!isDelivered && !isOurs && leftMs >= 0 && leftMs < silentMs),
    delivered: isDelivered,
    fresh: Number(row.now) - Number(row.created_at) < REDEEM_WITHOUT_PROOF_MS,
    paidLate: row.paid_late === 1,
    ...statusOf(row),
  }
}

function statusOf(row: Selectable<AuthorizationRow>): LedgerStatus {
  const { state } = row
  if (state === 'reserved') return { state }
  const transaction = row.transaction_hash as Hex
  const submission = submissionOf(row)
  switch (state) {
    case 'submitted':
      return { state, submission }
    case 'settled':
      return { state, transaction, ...(row.raw !== null && { submission }) }
    case 'failed': {
      const reason = row.reason as Reason
      return { state, transaction, reason, ...(row.raw !== null && { submission }) }
    }
  }
}

function submissionOf(row: Selectable<AuthorizationRow>): Submission {
  const replaces = row.replaces?.split(',') as readonly Hex[] | undefined
  return {
    transaction: row.transaction_hash as Hex,
    relayer: row.relayer as Address,
    accountNonce: Number(row.account_nonce),
    raw: row.raw as Hex,
    ...(replaces && { replaces }),
  }
}
