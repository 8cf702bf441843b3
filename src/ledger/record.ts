/** The records of the ledger, and what identifies them. */
import { sha256 } from '../shared/crypto/sha256.js'
import { LedgerError } from '../shared/errors.js'
import type { AppliedRate } from '../shared/money/rates.js'
import type { Address, Hex } from '../shared/protocol/payment.js'
import type { PaymentKey } from '../shared/protocol/payment-key.js'
import type { Reason } from '../shared/protocol/reasons.js'
import type { PaymentDetails } from './payment-details.js'

export type { PaymentKey } from '../shared/protocol/payment-key.js'
export type { PaymentDetails } from './payment-details.js'

/** A signed transaction, written down before it is sent. */
export interface Submission {
  readonly transaction: Hex
  readonly relayer: Address
  readonly accountNonce: number
  /** The signed transaction, so that the same bytes can be sent again. Lists have `0x` instead. */
  readonly raw: Hex
  /**
   * Hashes of the transactions that it replaces, with the same account nonce, newest first. Any one
   * of them may be mined instead of it.
   */
  readonly replaces?: readonly Hex[] | undefined
  /**
   * Hashes of earlier transactions of the payment, which were mined without moving money. They decide nothing
   * any more, but should a reorganisation revive one, it may pay.
   */
  readonly failed?: readonly Hex[] | undefined
}

/** A transaction, with the key of one of the payments that it makes. */
export interface KeyedSubmission {
  readonly key: PaymentKey
  readonly submission: Submission
  /** As `charged` of {@link LedgerEntry}. @defaultValue what is recorded, or the whole value */
  readonly charged?: bigint | undefined
}

export interface PaidTransfer {
  readonly transaction: Hex
  /** Names its log. A log pays for one record. */
  readonly transfer: string
}

/** Which resource a payment buys, and who presented it. Members are hashes, because each may be a secret. */
export interface Purchase {
  /** Method, URL, route and signed quote; of a price that is a maximum, the request's body. */
  readonly resource: string
  /** The declared price: `0.01 USD`, or `function` and a hash of its `quoteFor`. It is no hash. */
  readonly price?: string | undefined
  /** `extra.offerId` of the entry that the buyer accepted. */
  readonly offer?: string | undefined
  readonly paymentId?: string | undefined
  /** The address that the buyer's request came from. */
  readonly client?: string | undefined
  /**
   * Who asked for the settlement, by `Idempotency-Key`: the last one that had the record locked. Nobody else is
   * told that it was settled.
   */
  readonly asker?: string | undefined
  /** Written with the reservation, and not read back: `SignIns` finds it. */
  readonly access?: BoughtAccess | undefined
}

/** Access for a time, from the delivery on. */
export interface BoughtAccess {
  /** Hashes project and what is opened. */
  readonly key: string
  readonly ms: number
}

export interface LedgerEntry extends PaymentKey {
  readonly scheme: string
  readonly asset: Address
  readonly payTo: Address
  /** Atomic units of the token that the payer has signed: a maximum, where the scheme takes what is charged. */
  readonly value: bigint
  /**
   * What is taken of `value`, of `upto` payments alone; 0 where nothing is, and no transaction is sent. It is written
   * with the first transaction, and stays: every later transaction of the payment takes the same.
   */
  readonly charged?: bigint | undefined
  /** Unix time in seconds after which the authorization cannot be used any more. */
  readonly validBefore: bigint
  readonly project?: string | undefined
  readonly appliedRate?: AppliedRate | undefined
  /** The resource it buys, and who presented it. */
  readonly purchase?: Purchase | undefined
  /** Describes what it was for, if the caller did. */
  readonly details?: PaymentDetails | undefined
  /** Id of the payment that it refunds: then its payer is the merchant, and its payee the buyer. */
  readonly refundOf?: string | undefined
}

/** The reason of a record whose transaction was mined without using the authorization. */
export const UNPAID = 'invalid_transaction_state' satisfies Reason

export type LedgerStatus =
  | { readonly state: 'reserved' }
  | { readonly state: 'submitted'; readonly submission: Submission }
  | {
      readonly state: 'settled'
      /** Absent where nothing was charged. */
      readonly transaction?: Hex | undefined
      /** The last transaction that was submitted. Absent when a foreign transaction came first. */
      readonly submission?: Submission | undefined
    }
  | {
      readonly state: 'failed'
      readonly transaction: Hex
      readonly reason: Reason
      /** As for `settled`. */
      readonly submission?: Submission | undefined
    }

export type LedgerRecord = LedgerEntry &
  LedgerStatus & {
    /** The record's public name: `recordId` of its key. */
    readonly id: string
    /** A request works on it, or its payment was delivered. */
    readonly locked: boolean
    /**
     * Another process has the lock and has missed renewals. It may be dead, in which case the lock
     * lapses.
     */
    readonly ownerSilent: boolean
    /** Another process has the lock, dead or alive. @defaultValue false */
    readonly lockedElsewhere?: boolean | undefined
    /** The payer was given what was paid for, or was about to be. */
    readonly delivered: boolean
    /** The name of the delivery: the lock of the request that delivered it. */
    readonly delivery?: string | undefined
    /** It was first presented less than a minute ago, by the ledger's own clock. */
    readonly fresh: boolean
    /** The merchant was paid by another transaction after this record had failed. */
    readonly paidLate: boolean
    /** When it was reserved, in milliseconds since the epoch. */
    readonly createdAt: number
    /** When it was last changed, in milliseconds since the epoch. */
    readonly updatedAt: number
  }

/** Stands for all projects, and payments without one. Only the operator may ask for it. */
export const EVERY_PROJECT = Symbol('every project')

/** Which records are listed: newest first, or by payer or reference where its beginning is searched for. */
export interface LedgerQuery {
  readonly project: string | typeof EVERY_PROJECT
  readonly id?: string | undefined
  readonly search?: RecordSearch | undefined
  readonly state?: LedgerStatus['state'] | undefined
  /** Whether payments, refunds or both are listed. @defaultValue `'payment'` */
  readonly kind?: 'payment' | 'refund' | 'any' | undefined
  readonly chainId?: number | undefined
  /** Unix time in milliseconds: created at or after. */
  readonly from?: number | undefined
  /** Unix time in milliseconds: created before. */
  readonly until?: number | undefined
  /** The last record of the previous page. A search for a beginning needs all of it. */
  readonly after?: ListPlace | undefined
  /** Records listed at most. */
  readonly limit: number
}

export type ListPlace = Pick<LedgerRecord, 'createdAt' | 'id'> &
  Partial<Pick<LedgerRecord, 'state' | 'from' | 'details'>>

/** Which records are listed by the time of their last change, oldest first. */
export interface ChangedQuery extends Pick<LedgerQuery, 'project' | 'state' | 'chainId' | 'limit'> {
  readonly kind: 'payment' | 'refund'
  /** Unix time in milliseconds: changed at or after. */
  readonly since: number
  /** The end of the previous page. */
  readonly after?: ChangePlace | undefined
}

export type ChangePlace = Pick<LedgerRecord, 'updatedAt' | 'id'>

/** A page of records that have changed. It may be short, or empty, and not be the last. */
export interface ChangedPage {
  readonly records: readonly LedgerRecord[]
  /** Where the next page begins, unless this is the last. */
  readonly next?: ChangePlace
}

/** One thing that records are searched by: each has an index of its own. */
export type RecordSearch =
  | { readonly payer: Address }
  /** The transaction that pays, or was last sent to pay. */
  | { readonly transaction: Hex }
  | { readonly resource: string }
  /** The merchant's own name for the payment. */
  | { readonly reference: string }
  /** The beginning of the payer's address: `0x` and digits; and an even number of its last digits. */
  | { readonly payerStart: Hex; readonly payerEnd?: string }
  /** The beginning of that name. */
  | { readonly referenceStart: string }

export const SUBMITTED_PAGE = 500

/** Which submitted records are listed, oldest first. */
export interface SubmittedQuery {
  readonly after?: Pick<LedgerRecord, 'createdAt' | 'id'> | undefined
  /** Records listed at most. @defaultValue 500 */
  readonly limit?: number | undefined
}

/** Which final records are listed, newest first. */
export interface FinalQuery {
  readonly state: 'settled' | 'failed'
  /** Lists records whose last change is at most this many milliseconds old. */
  readonly withinMs: number
  readonly limit: number
}

/** A final record, for the check against the chain. */
export type FinalEntry = LedgerEntry & Pick<LedgerRecord, 'id' | 'state'>

/** Computes a record's id: 128 bits of the SHA-256 of its key, as hexadecimal digits. */
export function recordId({ chainId, contract, from, nonce }: PaymentKey): string {
  const key = `${chainId}:${contract}:${from}:${nonce}`.toLowerCase()
  return sha256(key, 'hex').slice(0, 32)
}

/** What a payment takes, in atomic units: of one that nothing was sent for yet, what it may take at most. */
export function amountOf({ charged, value }: Pick<LedgerEntry, 'charged' | 'value'>): bigint {
  return charged ?? value
}

/** Creates the error of a method whose caller has lost its lock, or never had it. */
export function lockLost(): LedgerError {
  return new LedgerError('ledger_unavailable', 'This payment is no longer locked: it was let go.')
}
