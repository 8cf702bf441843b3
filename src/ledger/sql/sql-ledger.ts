import { randomBytes } from 'node:crypto'
import type { Address, Hex } from '../../protocol/payment.js'
import type { Reason } from '../../protocol/reasons.js'
import type { LedgerStore } from '../ledger.js'
import type {
  AuthorizationKey,
  FinalEntry,
  FinalQuery,
  KeyedSubmission,
  LedgerEntry,
  LedgerQuery,
  LedgerRecord,
  Submission,
} from '../record.js'
import { OwnLocks, type LocksOptions } from './own-locks.js'
import { pruneRaw, type PruneRawOptions } from './prune-raw.js'
import { SqlIdempotency } from './sql-idempotency.js'
import { SqlLocks } from './sql-locks.js'
import { SqlOutcomes } from './sql-outcomes.js'
import { SqlRecords } from './sql-records.js'
import { SqlRelayerLeases } from './sql-relayer-leases.js'
import type { SqlStore } from './sql-store.js'
import { SqlSubmissions } from './sql-submissions.js'

/** Claims of idempotency keys outlive the locks of their payments by this factor. */
const CLAIMS_PER_LOCK = 1.5

/** Options of {@link SqlLedger}. */
export interface SqlLedgerOptions extends LocksOptions {
  /** When a settled payment's transaction bytes are dropped. */
  readonly bytes?: PruneRawOptions
}

/**
 * Keeps the ledger in an SQL database, which several processes may share.
 *
 * A lock is a random name that is valid for a short while, and renewed for as long as its process
 * lives. Every change of a locked record names the lock in the same statement: a process that was
 * taken for dead finds that it can change nothing any more.
 */
export class SqlLedger implements LedgerStore {
  readonly idempotency: SqlIdempotency
  readonly #store: SqlStore
  readonly #ownLocks: OwnLocks
  readonly #locks: SqlLocks
  readonly #records: SqlRecords
  readonly #submissions: SqlSubmissions
  readonly #outcomes: SqlOutcomes
  readonly #leases: SqlRelayerLeases
  readonly #endPruning: () => void

  constructor(store: SqlStore, options: SqlLedgerOptions = {}) {
    const ownLocks = new OwnLocks(store, options)
    this.#store = store
    this.#ownLocks = ownLocks
    this.#records = new SqlRecords(store, ownLocks)
    this.#locks = new SqlLocks(store, ownLocks, this.#records)
    this.#submissions = new SqlSubmissions(store, ownLocks)
    this.#outcomes = new SqlOutcomes(store, ownLocks)
    this.#leases = new SqlRelayerLeases(store)
    this.#endPruning = pruneRaw(store, options.bytes)
    this.idempotency = new SqlIdempotency(store, { leaseMs: ownLocks.lockMs * CLAIMS_PER_LOCK })
  }

  find(key: AuthorizationKey): Promise<LedgerRecord | undefined> {
    return this.#records.find(key)
  }

  list(query: LedgerQuery): Promise<readonly LedgerRecord[]> {
    return this.#records.list(query)
  }

  listSubmitted(): Promise<readonly LedgerRecord[]> {
    return this.#records.listSubmitted()
  }

  listFinal(query: FinalQuery): Promise<readonly FinalEntry[]> {
    return this.#records.listFinal(query)
  }

  reserve(entry: LedgerEntry): Promise<LedgerRecord | undefined> {
    return this.#locks.reserve(entry)
  }

  release(key: AuthorizationKey): Promise<void> {
    return this.#locks.release(key)
  }

  unlock(key: AuthorizationKey): Promise<void> {
    return this.#locks.unlock(key)
  }

  relock(key: AuthorizationKey): Promise<boolean> {
    return this.#locks.relock(key)
  }

  markDelivered(key: AuthorizationKey): Promise<void> {
    return this.#locks.markDelivered(key)
  }

  submit(key: AuthorizationKey, submission: Submission): Promise<void> {
    return this.#submissions.submit(key, submission)
  }

  submitTogether(members: readonly KeyedSubmission[]): Promise<readonly AuthorizationKey[]> {
    return this.#submissions.submitTogether(members)
  }

  withdraw(key: AuthorizationKey, transaction: Hex): Promise<void> {
    return this.#submissions.withdrawTogether([key], transaction)
  }

  withdrawTogether(keys: readonly AuthorizationKey[], transaction: Hex): Promise<void> {
    return this.#submissions.withdrawTogether(keys, transaction)
  }

  adopt(entries: readonly LedgerEntry[], submission: Submission): Promise<void> {
    return this.#submissions.adopt(entries, submission)
  }

  knowsTransaction(transaction: Hex): Promise<boolean> {
    return this.#submissions.knowsTransaction(transaction)
  }

  markSettled(key: AuthorizationKey, transaction: Hex, transfer?: string): Promise<boolean> {
    return this.#outcomes.markSettled(key, transaction, transfer)
  }

  markFailed(key: AuthorizationKey, failure: { transaction: Hex; reason: Reason }): Promise<void> {
    return this.#outcomes.markFailed(key, failure)
  }

  markSettledLate(key: AuthorizationKey, transaction: Hex, transfer?: string): Promise<boolean> {
    return this.#outcomes.markSettledLate(key, transaction, transfer)
  }

  leaseRelayers(
    chainId: number,
    relayers: readonly Address[],
    busy?: readonly Address[],
  ): Promise<readonly Address[]> {
    return this.#leases.leaseRelayers(chainId, relayers, busy)
  }

  sharedSecret(name: string): Promise<string> {
    return this.#store.run(async ({ db }) => {
      const secret = randomBytes(32).toString('base64url')
      await db
        .insertInto('x402_secrets')
        .values({ name, secret })
        .onConflict((conflict) => conflict.column('name').doNothing())
        .execute()
      // The secret of the process that was first.
      const row = await db
        .selectFrom('x402_secrets')
        .select('secret')
        .where('name', '=', name)
        .executeTakeFirstOrThrow()
      return row.secret
    })
  }

  async close(): Promise<void> {
    this.idempotency.close()
    this.#endPruning()
    // Nobody can use the remaining locks any more.
    const lapse = this.#ownLocks.end()
    await this.#store.close(async (database) => {
      await this.#leases.giveUp(database)
      await lapse(database)
    })
  }
}
