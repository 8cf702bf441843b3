/**
 * What is known of every authorization.
 *
 * One record per authorization, which moves only forward:
 *
 * ```
 *            reserve            submit (write-ahead)        receipt
 * (nothing) ────────→ reserved ─────────────────────→ submitted ────→ settled
 *                        │  release            withdraw   │ └─ reverted → failed
 *                        ↓                 (never taken)  ↓                 ┊ markSettledLate
 *                    (nothing)                        (nothing)             ↓
 *                                                                        settled
 * ```
 *
 * A record moves back in one case: where a transaction was mined without using the authorization, the same
 * payment may be presented again. Its failed record is locked, and becomes submitted once more.
 *
 * The dotted move is the other exception: while an authorization is valid, anybody who has seen it on
 * chain can still use it, even after our transaction has failed. The merchant is paid then, and the
 * record says so.
 *
 * Apart from its state, a record is locked while a request works on it, and for good once its payment
 * was delivered. A request that has to be answered before the outcome is known unlocks its record; the
 * next request that presents the same payment may lock it again, once.
 */
import type { IdempotencyStore } from '../idempotency/store.js'
import type { SessionStore } from './console-sessions.js'
import type { ProjectStore } from './projects.js'
import type { Hex } from '../protocol/payment.js'
import type { Reason } from '../protocol/reasons.js'
import type {
  AuthorizationKey,
  FinalEntry,
  FinalQuery,
  LatestQuery,
  LedgerEntry,
  LedgerQuery,
  LedgerRecord,
  PaidTransfer,
  Submission,
  SubmittedQuery,
} from './record.js'
import type { CountStore } from './counts.js'
import type { Refunds } from './refunds.js'
import type { RelayerTransactions } from './relayer-transactions.js'
import type { Revenue } from './revenue.js'
import type { WebhookStore } from './webhooks.js'

export * from './record.js'
export * from './relayer-transactions.js'

/**
 * Keeps what is known of every payment, and the answers that may be asked for again.
 *
 * Created by `memoryLedger`, `sqliteLedger` or `postgresLedger` and given to a gateway, which closes
 * it. Its methods belong to the gateway; only `close` is public.
 *
 * @example
 * ```ts
 * import { memoryLedger, type Ledger } from 'express-x402-gateway'
 * import { sqliteLedger } from 'express-x402-gateway/sql'
 *
 * const file = process.env['LEDGER_FILE']
 * const ledger: Ledger = file === undefined ? memoryLedger() : sqliteLedger(file)
 * await ledger.close()
 * ```
 */
export interface Ledger {
  /**
   * Ends the ledger's timers and connections. A gateway calls this when it is closed.
   *
   * @returns Once all connections are closed. Never rejects.
   */
  close(): Promise<void>
}

/** The records of payments, and their transactions. @internal */
export interface Records {
  /** Finds the record of an authorization. */
  find(key: AuthorizationKey): Promise<LedgerRecord | undefined>
  /**
   * Writes down a transaction before its first byte goes to the node. If it throws, no byte may.
   *
   * The caller must have the lock, or replace a transaction by one of the same relayer and account
   * nonce, of which at most one is ever mined.
   *
   * @throws `LedgerError` if another process has the lock, because it took the caller for dead.
   */
  submit(key: AuthorizationKey, submission: Submission): Promise<void>
  /**
   * Forgets a submitted transaction whose bytes were never made here: a remote facilitator says that it
   * has sent nothing.
   *
   * @throws `LedgerError` if another process has the lock, because it may send the transaction.
   */
  withdraw(key: AuthorizationKey, transaction: Hex): Promise<void>
  /**
   * Writes down all payments of a transaction before its bytes are sent again. Payments that are
   * reserved or unknown become submitted; others stay as they are.
   */
  adopt(entries: readonly LedgerEntry[], submission: Submission): Promise<void>
  /** Tells whether a transaction, or one that replaced it, was sent for this ledger. */
  knowsTransaction(transaction: Hex): Promise<boolean>
  /**
   * Records that a transaction has paid the merchant.
   *
   * @param transfer - Names the transfer log that paid, if known. A log pays for one record.
   * @returns `false` if that log has paid for another record. Nothing is changed then.
   */
  markSettled(key: AuthorizationKey, transaction: Hex, transfer?: string): Promise<boolean>
  /** Records that the transaction was mined without paying the merchant. */
  markFailed(key: AuthorizationKey, failure: { transaction: Hex; reason: Reason }): Promise<void>
  /**
   * Records the transaction that has paid for a final record. A failed record becomes settled and
   * unlocked; a settled one names another transaction, after a reorganisation.
   *
   * @param transfer - As for {@link Records.markSettled}; omitted while the transaction is not mined.
   * @returns `false` if that log has paid for another record. Nothing is changed then.
   */
  markSettledLate(key: AuthorizationKey, transaction: Hex, transfer?: string): Promise<boolean>
  /**
   * Lists records whose transaction was sent and is not known to be mined, oldest first, without the
   * bytes of their transactions.
   */
  listSubmitted(query?: SubmittedQuery): Promise<readonly LedgerRecord[]>
  /** Lists records that became final recently. */
  listFinal(query: FinalQuery): Promise<readonly FinalEntry[]>
  /**
   * Lists what has just happened, in no order, refunds included: the submitted records that were created
   * last, and the final ones that were changed last, without the bytes of their transactions. What that
   * costs does not depend on how many records there are.
   */
  listLatest(query: LatestQuery): Promise<readonly LedgerRecord[]>
  /**
   * Lists the payments of a project, newest first, without the bytes of their transactions. Released
   * reservations and refunds are not among them.
   */
  list(query: LedgerQuery): Promise<readonly LedgerRecord[]>
}

/** Who may work on a payment: one request at a time, across all processes that share the store. @internal */
export interface Locks {
  /**
   * Creates the record of an authorization, locked for the caller.
   *
   * @returns The record that exists already, or `undefined` if the caller has it now.
   */
  reserve(entry: LedgerEntry): Promise<LedgerRecord | undefined>
  /** Unlocks a record. A reservation for which nothing was sent is forgotten. */
  release(key: AuthorizationKey): Promise<void>
  /** Unlocks a record whose payment was not delivered. */
  unlock(key: AuthorizationKey): Promise<void>
  /**
   * Locks an unlocked record again; a failed one only if its transaction has left the authorization unused.
   *
   * @param asker - As `Purchase.asker`: replaces who had it locked before.
   * @returns `false` if another request has the lock.
   */
  relock(key: AuthorizationKey, asker?: string): Promise<boolean>
  /**
   * Records that the payer is about to be given what was paid for. The record stays locked for good.
   *
   * This is the last step before the response is sent. If it throws, the response must not be sent.
   *
   * @param paid - Does what {@link Records.markSettled} does in the same write. It throws where the
   * transfer log has paid for another record.
   */
  markDelivered(key: AuthorizationKey, paid?: PaidTransfer): Promise<void>
  /**
   * Opens a payment again that the caller has marked as delivered, though nothing went out. A payment that
   * has a refund stays as it is.
   */
  undeliver(key: AuthorizationKey): Promise<void>
  /**
   * The name that a delivery by the caller will have, which no other delivery has. `undefined` where this
   * process does not have the lock.
   */
  deliveryName(key: AuthorizationKey): string | undefined
}

/**
 * What a gateway does with its ledger.
 *
 * Every method is atomic, across processes where the store is shared, and throws `LedgerError` if it
 * did not do what it says. The caller must then act as if nothing had been allowed.
 *
 * @internal
 */
export interface LedgerStore
  extends Ledger, Records, Locks, Refunds, RelayerTransactions, Revenue, CountStore {
  /** Whether it ends with its process, and no other process can share it. */
  readonly isInMemory: boolean
  /** Answers that may be asked for again, kept beside the payments they are about. */
  readonly idempotency: IdempotencyStore
  /** Projects that were made at run time. */
  readonly projects: ProjectStore
  /** Who is signed in to the console. */
  readonly sessions: SessionStore
  /** The endpoints of webhooks, and the deliveries to them. */
  readonly webhooks: WebhookStore
  /** Returns a random secret that all processes of the store share, created on first use. */
  sharedSecret(name: string): Promise<string>
  /** Calls back when what a dead process had locked was freed. */
  onFreed(listener: () => void): void
}

/** Every method of a store. The compiler makes sure that none is missing. */
const STORE_METHODS: Readonly<
  Record<
    Exclude<keyof LedgerStore, 'isInMemory' | 'idempotency' | 'projects' | 'sessions' | 'webhooks'>,
    true
  >
> = {
  find: true,
  reserve: true,
  release: true,
  submit: true,
  withdraw: true,
  adopt: true,
  knowsTransaction: true,
  markSettled: true,
  markFailed: true,
  markSettledLate: true,
  markDelivered: true,
  undeliver: true,
  deliveryName: true,
  unlock: true,
  relock: true,
  listSubmitted: true,
  listFinal: true,
  listLatest: true,
  list: true,
  reserveRefund: true,
  refundsOf: true,
  submitNext: true,
  replaceTransaction: true,
  fillNonce: true,
  claimPending: true,
  listTransactions: true,
  noteMinedNonce: true,
  lowerNonce: true,
  sumRevenue: true,
  addCounts: true,
  listCounts: true,
  dropCounts: true,
  sharedSecret: true,
  onFreed: true,
  close: true,
}

/** Type guard for {@link LedgerStore}: a ledger that this package made, or a copy of the package. @internal */
export function isLedgerStore(value: unknown): value is LedgerStore {
  if (typeof value !== 'object' || value === null) return false
  const store = value as Partial<Record<string, unknown>>
  return (
    Object.keys(STORE_METHODS).every((name) => typeof store[name] === 'function') &&
    typeof store['isInMemory'] === 'boolean' &&
    typeof store['idempotency'] === 'object' &&
    typeof store['projects'] === 'object' &&
    typeof store['sessions'] === 'object' &&
    typeof store['webhooks'] === 'object'
  )
}
