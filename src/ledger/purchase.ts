/**
 * Which resource a payment buys, and who may redeem it later.
 *
 * An authorization and its signature are public once they are on chain. They say who pays how much to
 * whom, and nothing else. Only the checks here make sure that a record buys what it was reserved for,
 * and for its own buyer.
 */
import { sha256 } from '../shared/crypto/sha256.js'
import type { Reason } from '../shared/protocol/reasons.js'
import type { LedgerEntry, LedgerRecord } from './record.js'

export type { Purchase } from './record.js'

/**
 * Who may redeem an open payment that was reserved with neither an offer id nor a payment identifier:
 * nobody (`'never'`), or the client address that presented it first (`'same-address'`). If that
 * address was not recorded, anybody may within a minute of the first presentation.
 */
export type RedeemWithoutProof = 'never' | 'same-address'

/** How long a payment that is bound to nothing may be redeemed without proof. */
export const REDEEM_WITHOUT_PROOF_MS = 60_000

/** A payment, as a request presents it. @internal */
export interface PresentedPurchase {
  readonly entry: LedgerEntry
  /** @defaultValue `'same-address'` */
  readonly redeemWithoutProof?: RedeemWithoutProof | undefined
}

/**
 * Tells whether a record was reserved for the purchase that is presented now: same payee, amount, resource and price.
 *
 * @internal
 */
export function isSamePurchase(record: LedgerEntry, entry: LedgerEntry): boolean {
  return (
    record.chainId === entry.chainId &&
    sameText(record.contract, entry.contract) &&
    sameText(record.asset, entry.asset) &&
    sameText(record.from, entry.from) &&
    sameText(record.nonce, entry.nonce) &&
    sameText(record.payTo, entry.payTo) &&
    record.value === entry.value &&
    record.refundOf === entry.refundOf &&
    (record.purchase === undefined
      ? // A record without a resource may lack its project too. isSameBuyer limits who redeems it.
        record.project === undefined || record.project === entry.project
      : record.project === entry.project &&
        record.purchase.resource === entry.purchase?.resource &&
        record.purchase.price === entry.purchase.price)
  )
}

/**
 * Why a record that was not reserved for the purchase presented now does not buy it: it may have been reserved for
 * the same one at another declared price.
 *
 * @internal
 */
export function whyAnotherPurchase(record: LedgerRecord, entry: LedgerEntry): Reason {
  const { price } = record.purchase ?? {}
  const isOpenAtAnother = !record.delivered && price !== entry.purchase?.price
  const purchase = entry.purchase && { ...entry.purchase, price }
  return isOpenAtAnother && isSamePurchase(record, { ...entry, purchase })
    ? 'price_changed'
    : 'invalid_exact_evm_nonce_already_used'
}

/**
 * Tells whether a payment that was taken on earlier terms still buys its resource: the payee,
 * token or rate may be another one by now.
 *
 * A record without a resource may be another merchant's, or another route's. One whose
 * transaction failed buys nothing: its terms would hold for as long as the authorization.
 *
 * @internal
 */
export function isGoodOnEarlierTerms(
  record: LedgerRecord | undefined,
  entry: LedgerEntry,
): record is LedgerRecord {
  if (record?.project === undefined || record.purchase === undefined) return false
  if (record.state === 'failed' || (record.paidLate && !record.delivered)) return false
  return isSamePurchase(record, entry)
}

/**
 * Tells whether a payment presented now brings every proof of its buyer that the record has. It may bring
 * more: a client may take a `payment-identifier` only when it has to ask again.
 *
 * @internal
 */
export function bringsSameProof(record: LedgerEntry, entry: LedgerEntry): boolean {
  const { offer, paymentId } = record.purchase ?? {}
  return (
    (offer === undefined || offer === entry.purchase?.offer) &&
    (paymentId === undefined || paymentId === entry.purchase?.paymentId)
  )
}

/** Tells whether the asker of a payment is the one that had its record locked last. @internal */
export function isSameAsker(record: LedgerEntry, entry: LedgerEntry): boolean {
  return record.purchase?.asker === entry.purchase?.asker
}

/**
 * Tells whether a payment presented now brings the secret that its record was reserved with.
 *
 * @internal
 */
export function provesBuyer(record: LedgerEntry, entry: LedgerEntry): boolean {
  const { offer, paymentId } = record.purchase ?? {}
  return (offer !== undefined || paymentId !== undefined) && bringsSameProof(record, entry)
}

/**
 * Tells whether an open record is presented by its buyer, as far as that can be proven.
 *
 * @internal
 */
export function isSameBuyer(
  record: LedgerRecord,
  { entry, redeemWithoutProof = 'same-address' }: PresentedPurchase,
): boolean {
  // The merchant's, who was authenticated. Nobody else can present it: isSamePurchase sees to that.
  if (record.refundOf !== undefined) return true
  const bound = record.purchase
  if (bound?.offer !== undefined || bound?.paymentId !== undefined)
    return bringsSameProof(record, entry)
  if (record.paidLate || redeemWithoutProof === 'never') return false
  if (bound === undefined) return record.fresh
  if (!bringsSameProof(record, entry)) return false
  return bound.client === undefined ? record.fresh : bound.client === entry.purchase?.client
}

/** Hashes values that must not be stored in the clear. The boundaries of the parts count. */
export function hashOf(...parts: readonly (string | undefined)[]): string {
  const text = JSON.stringify(parts.map((part) => part ?? null))
  return sha256(text, 'base64url')
}

function sameText(one: string, other: string): boolean {
  return one === other || one.toLowerCase() === other.toLowerCase()
}
