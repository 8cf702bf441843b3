import type { Expression, ExpressionBuilder, Kysely, RawBuilder, Sql, SqlBool } from 'kysely'
import { GatewayError, LedgerError } from '../../shared/errors.js'
import { idBytes } from './bytes.js'
import { failureKind, failureWords, UNLOADABLE } from './explain-failure.js'
import { failedAsPrepared } from './prepared-statements.js'
import type { LedgerDatabase } from '../schema/tables.js'
import type { MigrationTarget } from '../schema/migrate.js'
import { statementsOf, type RunStatement } from './statement.js'
import { isSqliteBusy, sqliteFailure } from './sqlite.js'
import { world } from '../../shared/world.js'

/** How long a failing statement is retried. A request is waiting. */
const PATIENCE_MS = 3000

/** Pause before the second attempt. It doubles with each further one. */
const FIRST_PAUSE_MS = 10
const LONGEST_PAUSE_MS = 160

/** The message of the trigger that refuses a payment because it cannot drop another one. */
export const LEDGER_FULL = 'x402: ledger_full'

export interface SqlDatabase {
  readonly db: Kysely<LedgerDatabase>
  /** Makes a statement that is clearer in SQL than in the words of Kysely. */
  readonly sql: Sql
  /** Runs a statement of the hot path: its text is made once. */
  readonly run: RunStatement
  /** The database's own clock in milliseconds since the epoch, which is the same for all processes. */
  readonly now: RawBuilder<number>
  /** That clock, plus milliseconds. */
  readonly plus: (ms: number) => RawBuilder<number>
  /** Whether connections can change rows concurrently. SQLite has one writer at a time. */
  readonly locksRows: boolean
}

export function databaseOf({ db, kysely, dialect }: MigrationTarget): SqlDatabase {
  const { sql } = kysely
  const now = sql<number>`${sql.raw(dialect.now)}`
  return {
    db,
    sql,
    run: statementsOf(db, kysely, dialect),
    now,
    plus: (ms) => sql`${now} + CAST(${ms} AS BIGINT)`,
    locksRows: dialect.isPostgres,
  }
}

/**
 * A time that is computed once a statement. PostgreSQL's clock may differ from row to row, so that no
 * index is of use for it.
 */
export function timeOnce(db: Kysely<LedgerDatabase>, time: RawBuilder<number>) {
  return db.selectNoFrom(time.as('time'))
}

type Where = ExpressionBuilder<LedgerDatabase, 'x402_authorizations'>

/**
 * Returns the condition of a change of several rows, such that they are locked in the order of their
 * ids. Two changes that locked the same rows in different orders would deadlock, which PostgreSQL
 * notices after a second.
 */
export function rowsInOrder(
  { db, locksRows }: SqlDatabase,
  condition: (where: Where) => Expression<SqlBool>,
): (where: Where) => Expression<SqlBool> {
  if (!locksRows) return condition
  const rows = db.selectFrom('x402_authorizations').select('id').where(condition)
  return (where) => where('id', 'in', rows.orderBy('id').forUpdate())
}

export interface SqlStoreOptions {
  /** Opens the database and migrates it. Called again if it failed. */
  readonly open: () => Promise<SqlDatabase>
  readonly end: () => Promise<void>
  /** The option or variable that names the database, for errors. @defaultValue `ledger` */
  readonly option?: string | undefined
}

/** A database that is opened on first use, and tried again after a passing failure. */
export class SqlStore {
  readonly #options: SqlStoreOptions
  #opening: Promise<SqlDatabase> | undefined
  #closing: Promise<void> | undefined

  constructor(options: SqlStoreOptions) {
    this.#options = options
  }

  /** Whether it was used, and not closed since. */
  get isOpen(): boolean {
    return this.#opening !== undefined && !this.isClosed
  }

  get isClosed(): boolean {
    return this.#closing !== undefined
  }

  /**
   * Runs statements. They may run twice, because it is unknown whether they did when a connection
   * breaks.
   *
   * @throws {@link LedgerError} `ledger_unavailable`, without the details of the database.
   */
  async run<T>(work: (database: SqlDatabase) => Promise<T>): Promise<T> {
    const deadline = world.elapsed() + PATIENCE_MS
    for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)) {
      if (this.isClosed) throw new LedgerError('ledger_unavailable', 'The ledger is closed.')
      try {
        return await work(await this.#database())
      } catch (error) {
        if (error instanceof GatewayError) throw error
        if (!mayPass(error) || world.elapsed() + pauseMs > deadline)
          throw unavailable(error, this.#options.option)
      }
      await world.sleep(pauseMs)
    }
  }

  /** As {@link run}, in one transaction. */
  transact<T>(work: (database: SqlDatabase) => Promise<T>): Promise<T> {
    return this.run(({ run, ...database }) =>
      database.db
        .transaction()
        .execute((db) => work({ ...database, db, run: (one, given) => run(one, given, db) })),
    )
  }

  /** Runs last statements, if the database is open, and closes the connections. Never rejects. */
  close(last: (database: SqlDatabase) => Promise<unknown>): Promise<void> {
    this.#closing ??= this.#end(last)
    return this.#closing
  }

  #database(): Promise<SqlDatabase> {
    this.#opening ??= openWritable(this.#options.open).catch((error: unknown) => {
      this.#opening = undefined
      throw error
    })
    return this.#opening
  }

  async #end(last: (database: SqlDatabase) => Promise<unknown>): Promise<void> {
    const done = this.#opening?.then(last).catch(() => undefined)
    await Promise.race([done, world.sleep(PATIENCE_MS, undefined, { ref: false })])
    await this.#options.end().catch(() => undefined)
  }
}

async function openWritable(open: SqlStoreOptions['open']): Promise<SqlDatabase> {
  const opened = await open()
  const nothing = opened.db.updateTable('x402_authorizations').where('id', '=', idBytes(''))
  const write = nothing.set({ updated_at: 0 }).execute()
  await write.catch((error: unknown) => {
    // Another process writes to it now.
    if (!isSqliteBusy(error)) throw error
  })
  return opened
}

/**
 * SQLSTATEs of failures that are not the statement's own: connection lost (08), read-only server (25006: the next
 * connection may lead to another), conflict with another transaction (40), out of resources (53), in use (55),
 * ended by the operator (57).
 */
const PASSING_STATES = /^((08|40|53|55|57)...|25006)$/

/** Tells whether the same statement may succeed a moment later. */
export function mayPass(error: unknown): boolean {
  if (error instanceof TypeError) return false
  const { code } = error as { code?: unknown }
  if (typeof code !== 'string') return true
  if (sqliteFailure(error) !== undefined) return isSqliteBusy(error)
  // A closed connection stays closed.
  if (code === 'ERR_INVALID_STATE' || UNLOADABLE.test(code)) return false
  return PASSING_STATES.test(code) || failedAsPrepared(error) || !/^[0-9A-Z]{5}$/.test(code)
}

/** Explains a failure without the driver's own words, which repeat hosts, users and statements. */
function unavailable(error: unknown, option = 'ledger'): LedgerError {
  if ((error as Error).message === LEDGER_FULL)
    return new LedgerError('ledger_full', 'The ledger is full of payments that may not be dropped.')
  const kind = failureKind(error)
  return new LedgerError('ledger_unavailable', `${option}: ${failureWords(kind)}.`, {
    cause: new Error(kind),
  })
}
