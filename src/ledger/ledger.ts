/**
 * What is known of every authorization.
 *
 * One record per authorization, which moves only forward:
 *
 * ```
 *            reserve            submit (write-ahead)        receipt
 * (nothing) ────────→ reserved ─────────────────────→ submitted ────→ settled
 *                        │  release            withdraw   │ └─ reverted → failed
 *                        ↓                 (never taken)  ↓                 ┊ correct
 *                    (nothing)                        (nothing)             ↓
 *                                                                        settled
 * ```
 *
 * One move alone looks back, the dotted one: an authorization whose transaction failed can still be
 * used, by whoever has seen it on the chain, until it lapses. The merchant is paid then, and the
 * record says so.
 *
 * Beside its state a record knows whether it is *held*: whether a request is working on it, or has
 * been granted what was paid for. A payment whose outcome was unknown when its request had to be
 * answered is no longer held; the next request that presents it may claim it, once.
 */
import { createHash } from 'node:crypto'
import type { Address, Hex } from '../protocol/payment.js'
import type { AppliedRate } from '../money/rates.js'
import type { Reason } from '../protocol/reasons.js'
import type { IdempotencyStore } from '../idempotency/store.js'
import type { Purchase } from './purchase.js'

/** What makes an authorization one: made of parsed values, never of its signature. */
export interface AuthorizationKey {
  readonly chainId: number
  readonly asset: Address
  readonly from: Address
  /** The authorization's nonce, 32 bytes. */
  readonly nonce: Hex
}

/** What is written down before a transaction is sent. */
export interface Submission {
  readonly transaction: Hex
  readonly relayer: Address
  /** The relayer's transaction count that the transaction carries. */
  readonly accountNonce: number
  /** The signed transaction, so that the very same one can be sent again. */
  readonly raw: Hex
  /**
   * Hashes of the transactions it was sent to replace, under the same count, newest first. Any one
   * of them may be mined instead of it.
   */
  readonly replaces?: readonly Hex[] | undefined
}

/** A transaction, and the record of one of the payments that it makes. */
export interface KeyedSubmission {
  readonly key: AuthorizationKey
  readonly submission: Submission
}

/**
 * Milliseconds for which a process may send from an account after it has asked to.
 *
 * It asks again well before; a process that could not must stop before this time is over.
 */
export const RELAYER_LEASE_MS = 10_000

/** What a reservation knows of its payment. */
export interface LedgerEntry extends AuthorizationKey {
  readonly payTo: Address
  /** Token units. */
  readonly value: bigint
  /** Unix seconds after which the authorization can no longer be used. */
  readonly validBefore: bigint
  /** Id of the project that is paid, where there is one. */
  readonly project?: string | undefined
  /** How its amount came about, where a rate had a part in it. */
  readonly appliedRate?: AppliedRate | undefined
  /** What it was presented for; absent from records of earlier versions. */
  readonly purchase?: Purchase | undefined
}

/** Where a record stands. */
export type LedgerStatus =
  | { readonly state: 'reserved' }
  | { readonly state: 'submitted'; readonly submission: Submission }
  | ({ readonly state: 'settled'; readonly transaction: Hex } & Submitted)
  | ({ readonly state: 'failed'; readonly transaction: Hex; readonly reason: Reason } & Submitted)

/** What a final record keeps of its last transaction; nothing where a stranger's came first. */
interface Submitted {
  readonly submission?: Submission | undefined
}

/** One record. */
export type LedgerRecord = LedgerEntry &
  LedgerStatus & {
    /** Names the record to its merchant: {@link recordId} of its key. */
    readonly id: string
    /** A request works on it, or has been granted what it pays for. */
    readonly locked: boolean
    /**
     * It is held by another process, which has not been heard of for longer than one that lives
     * would let pass: perhaps it is dead, and its hold will lapse.
     */
    readonly ownerSilent: boolean
    /** It is held by another process, dead or alive. @defaultValue false */
    readonly lockedElsewhere?: boolean | undefined
    /** Its payer was given what he paid for, or was about to be. */
    readonly delivered: boolean
    /** It was first presented less than a minute ago, by the ledger's own clock. */
    readonly fresh: boolean
    /** Its transaction had failed before the merchant was paid by another one. */
    readonly paidLate: boolean
    /** Milliseconds since the epoch. */
    readonly createdAt: number
    readonly updatedAt: number
  }

/** Which records of a project are listed; newest first. */
export interface LedgerQuery {
  readonly project: string
  /** One record, by its id. */
  readonly id?: string | undefined
  readonly state?: LedgerStatus['state'] | undefined
  /** Milliseconds since the epoch, inclusive: created at or after. */
  readonly from?: number | undefined
  /** Milliseconds since the epoch, exclusive: created before. */
  readonly until?: number | undefined
  /** The last record of the page before. */
  readonly after?: { readonly createdAt: number; readonly id: string } | undefined
  readonly limit: number
}

/** Which final records are listed; newest first. */
export interface FinalQuery {
  readonly state: 'settled' | 'failed'
  /** Milliseconds by which their last change lies back at most. */
  readonly withinMs: number
  readonly limit: number
}

/** A final record, as far as it takes to look at the chain once more: there may be many. */
export type FinalEntry = LedgerEntry & Pick<LedgerRecord, 'id' | 'state'>

/** Names a record: 128 bits of the SHA-256 of its key, in hexadecimal digits. */
export function recordId({ chainId, asset, from, nonce }: AuthorizationKey): string {
  const key = `${chainId}:${asset}:${from}:${nonce}`.toLowerCase()
  return createHash('sha256').update(key).digest('hex').slice(0, 32)
}

/**
 * What is known of every payment, and of every answer that may be asked for again.
 *
 * Made by `memoryLedger`, `sqliteLedger` or `postgresLedger`, and given to a gateway, which closes it.
 */
export interface Ledger {
  /** Ends its timers and connections. A gateway does this when it is closed. */
  close(): Promise<void>
}

/**
 * What a gateway does with its ledger.
 *
 * Every method is atomic, across processes where the store is shared, and throws `LedgerError` when
 * it did not do what it says. Whoever calls must then act as if nothing had been allowed.
 */
export interface LedgerStore extends Ledger {
  /** Answers that may be asked for again, kept beside the payments they are about. */
  readonly idempotency: IdempotencyStore
  /** Finds the record of an authorization. */
  find(key: AuthorizationKey): Promise<LedgerRecord | undefined>
  /**
   * Takes an authorization for the caller alone.
   *
   * @returns The record that is in the way, or `undefined` when the caller has it now.
   */
  reserve(entry: LedgerEntry): Promise<LedgerRecord | undefined>
  /**
   * Lets go of what the caller took: a reservation for which nothing was sent is forgotten, other
   * states are left as they are.
   */
  release(key: AuthorizationKey): Promise<void>
  /**
   * Writes down a transaction before its first byte goes to the node; when it throws, none may.
   *
   * Only for whoever holds the record, or to replace a transaction by one of the same relayer and
   * transaction count: of those at most one is ever mined.
   *
   * @throws `LedgerError` where another process took the caller for dead and holds the record now.
   */
  submit(key: AuthorizationKey, submission: Submission): Promise<void>
  /**
   * Writes down a transaction that several payments share, as {@link LedgerStore.submit} does: of all of
   * them, or of none. If some were missing, sending its bytes again would pay what no record knows.
   *
   * @returns Those that another process holds now, or nobody; nothing was written down then.
   */
  submitTogether(members: readonly KeyedSubmission[]): Promise<readonly AuthorizationKey[]>
  /**
   * Forgets a transaction that was written down, but that no node took and none will be given.
   *
   * @throws `LedgerError` where another process holds the record now, and may send it.
   */
  withdraw(key: AuthorizationKey, transaction: Hex): Promise<void>
  /**
   * Forgets a transaction that several payments share, as {@link LedgerStore.withdraw} does: of all of
   * them, or of none.
   */
  withdrawTogether(keys: readonly AuthorizationKey[], transaction: Hex): Promise<void>
  /**
   * Takes note of all payments that a transaction makes, before its bytes are sent again: those that
   * are reserved or unknown are submitted by it now; others stay as they are.
   */
  adopt(entries: readonly LedgerEntry[], submission: Submission): Promise<void>
  /** Whether a record names this transaction, or one that it replaces: whether it was sent for this ledger. */
  knowsTransaction(transaction: Hex): Promise<boolean>
  /**
   * Records that the merchant was paid, by this transaction.
   *
   * @param transfer - Names the transfer log that paid, where it is known. It pays for one record.
   * @returns `false` where that transfer has paid for another record: nothing is changed then.
   */
  markSettled(key: AuthorizationKey, transaction: Hex, transfer?: string): Promise<boolean>
  /** Records that the transaction was mined without paying the merchant. */
  markFailed(key: AuthorizationKey, failure: { transaction: Hex; reason: Reason }): Promise<void>
  /**
   * Records that the merchant was paid by this transaction, of a record that is final: one that had
   * failed is settled after all, and held by nobody; one that is settled is so by another transaction,
   * after a reorganisation.
   *
   * @param transfer - As for {@link markSettled}; left out while the transaction is not mined yet.
   * @returns `false` where that transfer has paid for another record: nothing is changed then.
   */
  markSettledLate(key: AuthorizationKey, transaction: Hex, transfer?: string): Promise<boolean>
  /**
   * Records that the payer is about to be given what he paid for: the hold stays for good.
   *
   * Asked for last of all before the answer goes out; when it throws, the answer must not.
   */
  markDelivered(key: AuthorizationKey): Promise<void>
  /** Gives up a held record whose payer has not been granted anything. */
  unlock(key: AuthorizationKey): Promise<void>
  /** Holds a yielded record again; `false` when somebody else holds it. */
  relock(key: AuthorizationKey): Promise<boolean>
  /** Records whose transaction is out and not known to be mined, oldest first. */
  listSubmitted(): Promise<readonly LedgerRecord[]>
  /** Records that became final lately. */
  listFinal(query: FinalQuery): Promise<readonly FinalEntry[]>
  /** Records of a project, newest first; those that are given back are gone. */
  list(query: LedgerQuery): Promise<readonly LedgerRecord[]>
  /**
   * Leases accounts that send transactions: no two processes are given the same one.
   *
   * Processes that ask for the same accounts are given about as many each, and those of one that no
   * longer asks after {@link RELAYER_LEASE_MS}.
   *
   * @param busy - Leased accounts that have something under way, and are not to be taken away.
   * @returns Which of them the caller may send from, for {@link RELAYER_LEASE_MS} since it asked.
   */
  leaseRelayers(
    chainId: number,
    relayers: readonly Address[],
    busy?: readonly Address[],
  ): Promise<readonly Address[]>
  /**
   * A secret that all who share the store have in common; random, and made when it is first asked
   * for. A ledger without this method has none to share.
   */
  sharedSecret?(name: string): Promise<string>
  /** Lets go of what the caller still holds, and ends the store's timers and connections. */
  close(): Promise<void>
}

/** Every method of a store: the compiler sees to it that none is left out. */
const STORE_METHODS: Readonly<
  Record<Exclude<keyof LedgerStore, 'idempotency' | 'sharedSecret'>, true>
> = {
  find: true,
  reserve: true,
  release: true,
  submit: true,
  submitTogether: true,
  withdraw: true,
  withdrawTogether: true,
  adopt: true,
  knowsTransaction: true,
  markSettled: true,
  markFailed: true,
  markSettledLate: true,
  markDelivered: true,
  unlock: true,
  relock: true,
  listSubmitted: true,
  listFinal: true,
  list: true,
  leaseRelayers: true,
  close: true,
}

/** Type guard for {@link LedgerStore}: tells whether a ledger was made by this package, or a copy of it. */
export function isLedgerStore(value: unknown): value is LedgerStore {
  if (typeof value !== 'object' || value === null) return false
  const store = value as Partial<Record<string, unknown>>
  return (
    Object.keys(STORE_METHODS).every((name) => typeof store[name] === 'function') &&
    typeof store['idempotency'] === 'object'
  )
}
