import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import type * as KyselyModule from 'kysely'
import { ConfigError } from '../../errors.js'
import type { Ledger, LedgerStore } from '../ledger.js'
import { migrate } from './migrate.js'
import { requirePeers } from './require-peers.js'
import type { LedgerDatabase } from './schema.js'
import { sqlLedger, type SqlLedgerOptions } from './sql-ledger.js'
import { createSqlStore, type SqlDatabase } from './sql-store.js'
import {
  forKysely,
  isSoundSqlite,
  isSqliteBusy,
  loadSqlite,
  sqliteFailure,
  SQLITE_PACKAGE,
  type SqliteConnection,
  type SqliteEngine,
} from './sqlite-engine.js'

/**
 * Milliseconds for which this whole process waits for another that writes to the same file. What
 * is still locked then is tried again later, while other requests go on.
 */
const BUSY_TIMEOUT_MS = 5

/**
 * Keeps the ledger in a file, by SQLite.
 *
 * Every change is on the disk before it counts (`synchronous=full`, WAL). Needs the package `kysely`;
 * and `@photostructure/sqlite`, where Node brings no SQLite without the WAL-reset race (3.51.3 or
 * newer, 3.50.7, 3.44.6).
 *
 * @param file - Its folder is made if need be.
 * @throws {@link ConfigError} when a package is missing or too old, or the file cannot be opened.
 */
export function sqliteLedger(file: string): Ledger {
  return openSqliteLedger(file)
}

/** {@link sqliteLedger}, with what only tests set. */
export function openSqliteLedger(file: string, options?: SqlLedgerOptions): LedgerStore {
  const { kysely, Engine } = loadPackages()
  let connection = openConfigured(Engine, file)

  const close = async (): Promise<void> => {
    connection?.close()
    connection = undefined
  }
  const open = async (): Promise<SqlDatabase> => {
    connection ??= openFile(Engine, file)
    const dialect = new kysely.SqliteDialect({ database: forKysely(connection) })
    const db = new kysely.Kysely<LedgerDatabase>({ dialect })
    await migrate(db, kysely, (work) => db.transaction().execute(work))
    const now = kysely.sql<number>`CAST(unixepoch('subsec') * 1000 AS INTEGER)`
    return { db, now, plus: (ms) => kysely.sql<number>`${now} + ${ms}`, locksRows: false }
  }
  return sqlLedger(createSqlStore({ open, end: close }), options)
}

/** Names all that is missing at once. */
function loadPackages() {
  const isOwnSound = isSoundSqlite(process.versions['sqlite'] ?? '0')
  const [kysely] = requirePeers(isOwnSound ? ['kysely'] : ['kysely', SQLITE_PACKAGE])
  return { kysely: kysely as typeof KyselyModule, Engine: loadSqlite() }
}

/** @returns Nothing where another process has the file locked: it is opened at first use. */
function openConfigured(Engine: SqliteEngine, file: string): SqliteConnection | undefined {
  try {
    return openFile(Engine, file)
  } catch (error) {
    if (isSqliteBusy(error)) return undefined
    const { code, message } = error as NodeJS.ErrnoException
    const why = sqliteFailure(error) ?? (code || message)
    throw new ConfigError('ledger', `${file} cannot be opened as a database: ${why}`)
  }
}

function openFile(Engine: SqliteEngine, file: string): SqliteConnection {
  mkdirSync(dirname(file), { recursive: true })
  const connection = new Engine(file)
  try {
    connection.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`)
    connection.exec('PRAGMA journal_mode = WAL')
    connection.exec('PRAGMA synchronous = FULL')
    return connection
  } catch (error) {
    connection.close()
    throw error
  }
}
