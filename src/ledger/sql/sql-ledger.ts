import { randomBytes } from 'node:crypto'
import type { LedgerStore } from '../ledger.js'
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

  readonly find: LedgerStore['find'] = (key) => this.#records.find(key)
  readonly list: LedgerStore['list'] = (query) => this.#records.list(query)
  readonly listSubmitted: LedgerStore['listSubmitted'] = () => this.#records.listSubmitted()
  readonly listFinal: LedgerStore['listFinal'] = (query) => this.#records.listFinal(query)

  readonly reserve: LedgerStore['reserve'] = (entry) => this.#locks.reserve(entry)
  readonly release: LedgerStore['release'] = (key) => this.#locks.release(key)
  readonly unlock: LedgerStore['unlock'] = (key) => this.#locks.unlock(key)
  readonly relock: LedgerStore['relock'] = (key) => this.#locks.relock(key)
  readonly markDelivered: LedgerStore['markDelivered'] = (key) => this.#locks.markDelivered(key)

  readonly submit: LedgerStore['submit'] = (...args) => this.#submissions.submit(...args)
  readonly submitTogether: LedgerStore['submitTogether'] = (members) =>
    this.#submissions.submitTogether(members)
  readonly withdraw: LedgerStore['withdraw'] = (key, transaction) =>
    this.#submissions.withdrawTogether([key], transaction)
  readonly withdrawTogether: LedgerStore['withdrawTogether'] = (...args) =>
    this.#submissions.withdrawTogether(...args)
  readonly adopt: LedgerStore['adopt'] = (...args) => this.#submissions.adopt(...args)
  readonly knowsTransaction: LedgerStore['knowsTransaction'] = (transaction) =>
    this.#submissions.knowsTransaction(transaction)

  readonly markSettled: LedgerStore['markSettled'] = (...args) =>
    this.#outcomes.markSettled(...args)
  readonly markFailed: LedgerStore['markFailed'] = (...args) => this.#outcomes.markFailed(...args)
  readonly markSettledLate: LedgerStore['markSettledLate'] = (...args) =>
    this.#outcomes.markSettledLate(...args)

  readonly leaseRelayers: LedgerStore['leaseRelayers'] = (...args) =>
    this.#leases.leaseRelayers(...args)

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
