import { recordId, SUBMITTED_PAGE } from '../record.js'
import type {
  PaymentKey,
  ChangedPage,
  ChangedQuery,
  FinalEntry,
  FinalQuery,
  LedgerQuery,
  LedgerRecord,
  SubmittedQuery,
} from '../record.js'
import { changedIds } from './changed-ids.js'
import { entryOf, recordOf, type TimedRow } from './rows.js'
import { idOf } from '../engine/bytes.js'
import { comparedTo, finalRows, listRows, selectRecords } from './list-rows.js'
import type { OwnLocks } from './own-locks.js'
import { FIND } from './statements.js'
import type { SqlDatabase, SqlStore } from '../engine/store.js'
import { StatementGroup } from '../engine/statement-group.js'
import { UNDELIVERED } from '../schema/tables.js'

export class Records {
  readonly #store: SqlStore
  readonly #locks: OwnLocks
  readonly #finds: StatementGroup<string, LedgerRecord | undefined>

  constructor(store: SqlStore, locks: OwnLocks) {
    this.#store = store
    this.#locks = locks
    this.#finds = new StatementGroup(store, async (database, ids) => {
      const rows = await this.rowsById(database, ids)
      return ids.map((id) => this.recordOf(rows.get(id)))
    })
  }

  find(key: PaymentKey): Promise<LedgerRecord | undefined> {
    return this.#finds.add(recordId(key))
  }

  /** Reads rows by the ids of their records. */
  async rowsById(
    { run }: SqlDatabase,
    ids: readonly string[],
  ): Promise<ReadonlyMap<string, TimedRow>> {
    const rows = await run(FIND, [JSON.stringify(ids.map((id) => ({ record_id: id })))])
    return new Map((rows as readonly TimedRow[]).map((row) => [idOf(row.id), row]))
  }

  /** The record of a row, if there is one that counts. */
  recordOf(row: TimedRow | undefined): LedgerRecord | undefined {
    if (row === undefined) return undefined
    const record = this.#toRecord(row)
    // Its process is dead and has sent nothing: the authorization is free.
    const isAbandoned = record.state === 'reserved' && row.lock_owner !== null && !record.locked
    return isAbandoned ? undefined : record
  }

  /**
   * Lists records whose transaction was sent and is not known to be mined, oldest first, without the
   * bytes of their transactions.
   */
  listSubmitted({ after, limit = SUBMITTED_PAGE }: SubmittedQuery = {}): Promise<
    readonly LedgerRecord[]
  > {
    return this.#store.run(async (database) => {
      let select = selectRecords(database).where('state', '=', 'submitted')
      if (after !== undefined) select = select.where((where) => comparedTo(where, '>', after))
      const rows = await select.orderBy('created_at').orderBy('id').limit(limit).execute()
      return rows.map((row) => this.#toRecord(row))
    })
  }

  /** Finds the oldest payment that is paid and was not delivered. */
  findUndelivered(): Promise<LedgerRecord | undefined> {
    return this.#store.run(async (database) => {
      const isUndelivered = database.sql.raw<boolean>(UNDELIVERED)
      const oldest = selectRecords(database).where(isUndelivered).orderBy('created_at')
      const row = await oldest.limit(1).executeTakeFirst()
      return row && this.#toRecord(row)
    })
  }

  /** Lists records that became final recently, and that the chain decides about. */
  listFinal(query: FinalQuery): Promise<readonly FinalEntry[]> {
    return this.#store.run(async (database) => {
      const rows = await finalRows(database, query)
      return rows.map((row) => ({ id: idOf(row.id), state: query.state, ...entryOf(row) }))
    })
  }

  /**
   * Lists the payments of a project, without the bytes of their transactions: newest first, or sorted by what the
   * search for a beginning compares. Released reservations and refunds are not among them.
   */
  list(query: LedgerQuery): Promise<readonly LedgerRecord[]> {
    return this.#store.run(async (database) => {
      const rows = await listRows(database, query)
      return rows.map((row) => this.#toRecord(row))
    })
  }

  /** Lists records by the time of their last change, oldest first. */
  listChanged(query: ChangedQuery): Promise<ChangedPage> {
    return this.#store.run(async (database) => {
      const { ids, next } = await changedIds(database, query)
      const rows = await this.rowsById(database, ids)
      const records = ids
        .flatMap((id) => rows.get(id) ?? [])
        .map((row) => this.#toRecord(row))
        .toSorted((one, other) => one.updatedAt - other.updatedAt)
      return { records, ...(next && { next }) }
    })
  }

  #toRecord(row: TimedRow): LedgerRecord {
    return recordOf(row, {
      silentMs: this.#locks.silentMs,
      isOurs: this.#locks.isOurs(row),
      isUncertain: this.#locks.isUncertain(row),
    })
  }
}
