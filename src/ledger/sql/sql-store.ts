import { setTimeout as sleep } from 'node:timers/promises'
import type { Kysely, RawBuilder } from 'kysely'
import { GatewayError, LedgerError } from '../../errors.js'
import type { LedgerDatabase } from './schema.js'
import { isSqliteBusy, sqliteFailure } from './sqlite-engine.js'

/** Milliseconds for which what could not be done is tried again: a request is waiting. */
const PATIENCE_MS = 3000

/** Milliseconds before the second try; doubled each time. */
const FIRST_PAUSE_MS = 10
const LONGEST_PAUSE_MS = 160

/** A database that is open, and what differs between databases. */
export interface SqlDatabase {
  readonly db: Kysely<LedgerDatabase>
  /** The database's own clock, in milliseconds since the epoch: no two processes disagree on it. */
  readonly now: RawBuilder<number>
  /** That clock, so many milliseconds later. */
  readonly plus: (ms: number) => RawBuilder<number>
  /** Whether several connections change rows side by side: SQLite has one writer at a time. */
  readonly locksRows: boolean
}

/** How a database is opened and left. */
export interface SqlStoreOptions {
  /** Opens the database and brings its schema up to date; asked again where that failed. */
  readonly open: () => Promise<SqlDatabase>
  /** Ends what was opened. */
  readonly end: () => Promise<void>
}

/** A database that is opened at first use, and asked again where it was away for a moment. */
export interface SqlStore {
  /**
   * Runs statements. They may run twice: whether they did is not known where a connection breaks.
   *
   * @throws {@link LedgerError} without the details of the database.
   */
  run<T>(work: (database: SqlDatabase) => Promise<T>): Promise<T>
  readonly isClosed: () => boolean
  /** Runs last statements, as far as there is a database to run them, and ends the connections. */
  close(last: (database: SqlDatabase) => Promise<unknown>): Promise<void>
}

/** Opens no database yet. */
export function createSqlStore({ open, end }: SqlStoreOptions): SqlStore {
  let opening: Promise<SqlDatabase> | undefined
  let closing: Promise<void> | undefined

  const database = (): Promise<SqlDatabase> => {
    opening ??= openWritable(open).catch((error: unknown) => {
      opening = undefined
      throw error
    })
    return opening
  }

  const bidFarewell = async (last: (database: SqlDatabase) => Promise<unknown>): Promise<void> => {
    const done = opening?.then(last).catch(() => undefined)
    await Promise.race([done, sleep(PATIENCE_MS, undefined, { ref: false })])
    await end().catch(() => undefined)
  }

  return {
    async run(work) {
      const deadline = performance.now() + PATIENCE_MS
      for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)) {
        if (closing !== undefined)
          throw new LedgerError('ledger_unavailable', 'The ledger is closed.')
        try {
          return await work(await database())
        } catch (error) {
          if (error instanceof GatewayError) throw error
          if (!mayPass(error) || performance.now() + pauseMs > deadline) throw unavailable(error)
        }
        await sleep(pauseMs)
      }
    },
    isClosed: () => closing !== undefined,
    close(last) {
      closing ??= bidFarewell(last)
      return closing
    },
  }
}

/** Opens a database that can be written to; one that cannot is of no use. */
async function openWritable(open: SqlStoreOptions['open']): Promise<SqlDatabase> {
  const opened = await open()
  const nothing = opened.db.updateTable('x402_authorizations').where('id', '=', '')
  await nothing.set({ updated_at: 0 }).execute()
  return opened
}

/**
 * Classes of SQLSTATE that say nothing about the statement itself: connection lost (08), conflict
 * with another transaction (40), out of resources (53), in use (55), ended by the operator (57).
 */
const PASSING_STATES = /^(08|40|53|55|57)...$/

/** Tells whether the same statement may succeed a moment later. */
function mayPass(error: unknown): boolean {
  if (error instanceof TypeError) return false
  const { code } = error as { code?: unknown }
  if (typeof code !== 'string') return true
  if (sqliteFailure(error) !== undefined) return isSqliteBusy(error)
  // A connection that is closed stays closed.
  if (code === 'ERR_INVALID_STATE') return false
  return PASSING_STATES.test(code) || !/^[0-9A-Z]{5}$/.test(code)
}

/** Drivers repeat hosts, users and statements in their errors; only the kind of failure is kept. */
function unavailable(error: unknown): LedgerError {
  const { code, name } = error as { code?: unknown; name?: string }
  const kind =
    sqliteFailure(error) ?? (typeof code === 'string' && /^\w{1,40}$/.test(code) ? code : name)
  return new LedgerError('ledger_unavailable', 'The ledger’s database did not answer.', {
    cause: new Error(kind ?? 'unknown failure'),
  })
}
