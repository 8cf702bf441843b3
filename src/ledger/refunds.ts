/**
 * Refunds: authorizations by which a merchant pays a settled payment back, in full or in part.
 *
 * A refund is a record like any other, which also names the payment that it refunds. What is left of a
 * payment is computed from its refunds whenever one is reserved: no total is kept that a crash could
 * leave wrong.
 */
import { sameHex } from '../shared/protocol/hex.js'
import { amountOf, type LedgerEntry, type LedgerRecord } from './record.js'

/** Refunds of one payment, failed ones included: each costs us gas. */
export const MOST_REFUNDS = 100

/**
 * Seconds beyond `validBefore` after which nobody can use the authorization of a failed refund any
 * more, however far the chain's clock is behind.
 */
const LAPSED_AFTER_SECONDS = 120n

export type RefundEntry = LedgerEntry & { readonly refundOf: string }

export type RefundRecord = LedgerRecord & { readonly refundOf: string }

export interface RefundRequest {
  readonly reason?: string | undefined
  /** Name of the operator, as in the audit log; absent for the merchant. */
  readonly requestedBy?: string | undefined
}

export type RefundRefusal =
  /** The project has no such payment, or it is not settled, or the refund does not pay it back. */
  | { readonly kind: 'not_refundable' }
  /** A request is about to deliver the resource. */
  | { readonly kind: 'payment_in_use' }
  /** More than is left of the payment. */
  | { readonly kind: 'exceeds_payment'; readonly left: bigint }
  /** The payment has {@link MOST_REFUNDS}. */
  | { readonly kind: 'too_many_refunds' }

export type RefundReservation =
  | { readonly kind: 'reserved' }
  /** Its authorization has a record already. */
  | { readonly kind: 'known'; readonly record: LedgerRecord }
  | RefundRefusal

export function isRefundEntry(entry: LedgerEntry): entry is RefundEntry {
  return entry.refundOf !== undefined
}

export function isRefundRecord(record: LedgerRecord): record is RefundRecord {
  return record.refundOf !== undefined
}

/**
 * Until when a failed refund takes from its payment, in Unix seconds.
 *
 * Its transaction was mined or sent, so its authorization is public: until that lapses, anybody can
 * still use it, and the payer would be refunded twice.
 */
export function heldUntil({ validBefore }: Pick<LedgerEntry, 'validBefore'>): bigint {
  return validBefore + LAPSED_AFTER_SECONDS
}

export type RefundedAmount = Pick<RefundRecord, 'state' | 'value' | 'validBefore'>

/** Computes the rest of a payment that is not refunded. @param nowSeconds - The ledger's clock. */
export function leftToRefund(
  paid: bigint,
  refunds: readonly RefundedAmount[],
  nowSeconds: bigint,
): bigint {
  const taken = refunds
    .filter((refund) => refund.state !== 'failed' || nowSeconds <= heldUntil(refund))
    .reduce((sum, refund) => sum + refund.value, 0n)
  return taken < paid ? paid - taken : 0n
}

/** A payment, as far as a refund depends on it, with its other refunds. */
export interface RefundedPayment {
  readonly payment: LedgerRecord | undefined
  readonly others: readonly RefundedAmount[]
  /** Unix time, by the ledger's clock. */
  readonly nowSeconds: bigint
}

/** Checks that a refund pays its payment back: same project, token and parties, and no more than is left. */
export function checkRefund(
  entry: RefundEntry,
  { payment, others, nowSeconds }: RefundedPayment,
): RefundRefusal | undefined {
  if (payment === undefined || !isRefundOf(entry, payment)) return { kind: 'not_refundable' }
  if (payment.locked && !payment.delivered) return { kind: 'payment_in_use' }
  if (others.length >= MOST_REFUNDS) return { kind: 'too_many_refunds' }
  const left = leftToRefund(amountOf(payment), others, nowSeconds)
  return entry.value > left ? { kind: 'exceeds_payment', left } : undefined
}

function isRefundOf(entry: RefundEntry, payment: LedgerRecord): boolean {
  return (
    payment.state === 'settled' &&
    !isRefundEntry(payment) &&
    payment.project !== undefined &&
    payment.project === entry.project &&
    payment.chainId === entry.chainId &&
    sameHex(payment.asset, entry.asset) &&
    sameHex(payment.payTo, entry.from) &&
    sameHex(payment.from, entry.payTo) &&
    entry.value > 0n
  )
}
