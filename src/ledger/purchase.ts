/**
 * What a payment was reserved for, and who may redeem it later.
 *
 * An authorization and its signature are public once they are on chain. They say who pays how much to
 * whom, and nothing else: that a record buys only what it was opened for, and for its own buyer, is
 * checked here and nowhere else.
 */
import { createHash } from 'node:crypto'
import type { LedgerEntry, LedgerRecord } from './ledger.js'

/** What a payment was presented for, and by whom. All members are hashes: each may be a secret. */
export interface Purchase {
  /** Method, URL and signed quote. */
  readonly resource: string
  /** `extra.offerId` of the entry that the buyer accepted. */
  readonly offer?: string | undefined
  /** The buyer's `payment-identifier`. */
  readonly paymentId?: string | undefined
  /** The address that the buyer's request came from. */
  readonly client?: string | undefined
}

/**
 * What happens to an open payment that was reserved with neither an offer id nor a payment
 * identifier: nobody redeems it, or the address does that presented it first. Where that address was
 * not recorded, anybody within a minute of its first presentation.
 */
export type RedeemWithoutProof = 'never' | 'same-address'

/** Milliseconds for which a payment that nothing was bound to may be redeemed without proof. */
export const REDEEM_WITHOUT_PROOF_MS = 60_000

/** A payment as it is presented now. */
export interface PresentedPurchase {
  readonly entry: LedgerEntry
  /** @defaultValue `'same-address'` */
  readonly redeemWithoutProof?: RedeemWithoutProof | undefined
}

/** Tells whether a record was made for what is presented now: same payee, amount and resource. */
export function isSamePurchase(record: LedgerEntry, entry: LedgerEntry): boolean {
  return (
    record.chainId === entry.chainId &&
    sameText(record.asset, entry.asset) &&
    sameText(record.from, entry.from) &&
    sameText(record.nonce, entry.nonce) &&
    sameText(record.payTo, entry.payTo) &&
    record.value === entry.value &&
    (record.purchase === undefined
      ? // Earlier versions did not name the resource, and a batch's calldata not even the project;
        // isSameBuyer bounds who redeems such a record.
        record.project === undefined || record.project === entry.project
      : record.project === entry.project && record.purchase.resource === entry.purchase?.resource)
  )
}

/** Tells whether a record names the same proof of its buyer as a payment that is presented now. */
export function bringsSameProof(record: LedgerEntry, entry: LedgerEntry): boolean {
  return (
    record.purchase?.offer === entry.purchase?.offer &&
    record.purchase?.paymentId === entry.purchase?.paymentId
  )
}

/** Tells whether the buyer of an open record presents it, as far as that can be proven. */
export function isSameBuyer(
  record: LedgerRecord,
  { entry, redeemWithoutProof = 'same-address' }: PresentedPurchase,
): boolean {
  const bound = record.purchase
  if (bound?.offer !== undefined || bound?.paymentId !== undefined)
    return bringsSameProof(record, entry)
  if (record.paidLate || redeemWithoutProof === 'never') return false
  if (bound === undefined) return record.fresh
  if (!bringsSameProof(record, entry)) return false
  return bound.client === undefined ? record.fresh : bound.client === entry.purchase?.client
}

/** Hashes what must not lie in a ledger as it is. Parts are told apart. */
export function hashOf(...parts: readonly (string | undefined)[]): string {
  const text = JSON.stringify(parts.map((part) => part ?? null))
  return createHash('sha256').update(text).digest('base64url')
}

function sameText(one: string, other: string): boolean {
  return one === other || one.toLowerCase() === other.toLowerCase()
}
