import type { Records } from '../ledger.js'
import type {
  AuthorizationKey,
  FinalEntry,
  FinalQuery,
  LedgerQuery,
  LedgerRecord,
} from '../record.js'
import {
  ENTRY_COLUMNS,
  entryOf,
  keyColumns,
  recordOf,
  type TimedRow,
} from './authorization-rows.js'
import type { OwnLocks } from './own-locks.js'
import type { SqlStore } from './sql-store.js'

/** Reads records. */
export class SqlRecords implements Pick<Records, 'find' | 'list' | 'listSubmitted' | 'listFinal'> {
  readonly #store: SqlStore
  readonly #locks: OwnLocks

  constructor(store: SqlStore, locks: OwnLocks) {
    this.#store = store
    this.#locks = locks
  }

  find(key: AuthorizationKey): Promise<LedgerRecord | undefined> {
    return this.#store.run(async ({ db, now }) => {
      const row = await db
        .selectFrom('x402_authorizations')
        .selectAll()
        .select(now.as('now'))
        .where((where) => where.and(keyColumns(key)))
        .executeTakeFirst()
      if (row === undefined) return undefined
      const record = this.#toRecord(row)
      // Its process is dead and has sent nothing: the authorization is free.
      const isAbandoned = record.state === 'reserved' && row.lock_owner !== null && !record.locked
      return isAbandoned ? undefined : record
    })
  }

  listSubmitted(): Promise<readonly LedgerRecord[]> {
    return this.#store.run(async ({ db, now }) => {
      const rows = await db
        .selectFrom('x402_authorizations')
        .selectAll()
        .select(now.as('now'))
        .where('state', '=', 'submitted')
        .orderBy('created_at')
        .orderBy('id')
        .execute()
      return rows.map((row) => this.#toRecord(row))
    })
  }

  listFinal({ state, withinMs, limit }: FinalQuery): Promise<readonly FinalEntry[]> {
    return this.#store.run(async ({ db, plus }) => {
      const rows = await db
        .selectFrom('x402_authorizations')
        .select(ENTRY_COLUMNS)
        .where('state', '=', state)
        .where('updated_at', '>=', plus(-Math.ceil(withinMs)))
        .orderBy('updated_at', 'desc')
        .limit(limit)
        .execute()
      return rows.map((row) => ({ ...entryOf(row), id: row.id, state }))
    })
  }

  list(query: LedgerQuery): Promise<readonly LedgerRecord[]> {
    const { project, id, state, from, until, after, limit } = query
    return this.#store.run(async ({ db, now }) => {
      let select = db
        .selectFrom('x402_authorizations')
        .selectAll()
        .select(now.as('now'))
        .where('project', '=', project)
        .where((where) =>
          where.or([
            where('state', '!=', 'reserved'),
            where('lock_owner', 'is', null),
            where('locked_until', '>=', now),
          ]),
        )
      if (id !== undefined) select = select.where('id', '=', id)
      if (state !== undefined) select = select.where('state', '=', state)
      if (from !== undefined) select = select.where('created_at', '>=', from)
      if (until !== undefined) select = select.where('created_at', '<', until)
      if (after !== undefined)
        select = select.where((where) =>
          where.or([
            where('created_at', '<', after.createdAt),
            where.and([where('created_at', '=', after.createdAt), where('id', '<', after.id)]),
          ]),
        )
      const rows = await select
        .orderBy('created_at', 'desc')
        .orderBy('id', 'desc')
        .limit(limit)
        .execute()
      return rows.map((row) => this.#toRecord(row))
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
