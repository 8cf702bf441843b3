import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import type * as KyselyModule from 'kysely'
import type { SqliteDatabase } from 'kysely'
import { ConfigError } from '../../errors.js'
import type { Ledger } from '../ledger.js'
import { migrate, requirePeers } from './open.js'
import type { LedgerDatabase } from './schema.js'
import { sqlLedger, type SqlLedgerOptions } from './sql-ledger.js'
import { createSqlStore, type SqlDatabase } from './sql-store.js'

/**
 * Milliseconds for which this whole process waits for another that writes to the same file. What
 * is still locked then is tried again later, while other requests go on.
 */
const BUSY_TIMEOUT_MS = 5

/** What we use of the package `libsql`, which speaks as `better-sqlite3` does. */
type Database = SqliteDatabase & { exec(statements: string): void }
type DatabaseClass = new (file: string) => Database

/**
 * Keeps the ledger in a file, by SQLite.
 *
 * Every change is on the disk before it counts (`synchronous=full`, WAL). Needs the packages
 * `kysely` and `libsql`.
 *
 * @param file - Its folder is made if need be.
 * @throws {@link ConfigError} when a package is missing or the file cannot be opened.
 */
export function sqliteLedger(file: string): Ledger {
  return openSqliteLedger(file)
}

/** {@link sqliteLedger}, with what only tests set. */
export function openSqliteLedger(file: string, options?: SqlLedgerOptions): Ledger {
  const peers = requirePeers(['kysely', 'libsql'])
  const [kysely, LibsqlDatabase] = peers as [typeof KyselyModule, DatabaseClass]
  let database: Database | undefined = openConfigured(LibsqlDatabase, file)

  const close = async (): Promise<void> => {
    database?.close()
    database = undefined
  }
  const open = async (): Promise<SqlDatabase> => {
    database ??= openFile(LibsqlDatabase, file)
    const dialect = new kysely.SqliteDialect({ database: lockFirst(database) })
    const db = new kysely.Kysely<LedgerDatabase>({ dialect })
    await migrate(db, kysely, (work) => db.transaction().execute(work))
    const now = kysely.sql<number>`CAST(unixepoch('subsec') * 1000 AS INTEGER)`
    return { db, now, plus: (ms) => kysely.sql<number>`${now} + ${ms}` }
  }
  return sqlLedger(createSqlStore({ open, end: close }), options)
}

/**
 * Takes the lock of the file before every statement that writes, by statements of their own.
 *
 * libsql 0.5 does not reset a prepared statement that met a locked file: it stays under way, and
 * what is written after it is not committed for as long as it does.
 */
function lockFirst(database: Database): SqliteDatabase {
  let isInTransaction = false

  const control = (statement: string, opens: boolean) => ({
    reader: false,
    all: (): unknown[] => [],
    run: () => {
      database.exec(statement)
      isInTransaction = opens
      return { changes: 0, lastInsertRowid: 0 }
    },
    iterate: () => [].values(),
  })

  const locked = <T>(write: () => T): T => {
    if (isInTransaction) return write()
    database.exec('BEGIN IMMEDIATE')
    try {
      const result = write()
      database.exec('COMMIT')
      return result
    } catch (error) {
      database.exec('ROLLBACK')
      throw error
    }
  }

  return {
    close: () => database.close(),
    prepare(statement) {
      const [verb] = /^\w+/.exec(statement.trimStart().toLowerCase()) ?? []
      if (verb === 'begin') return control('BEGIN IMMEDIATE', true)
      if (verb === 'commit' || verb === 'rollback') return control(verb, false)
      const prepared = database.prepare(statement)
      if (verb === 'select') return prepared
      return {
        reader: prepared.reader,
        all: (parameters) => locked(() => prepared.all(parameters)),
        run: (parameters) => locked(() => prepared.run(parameters)),
        iterate: (parameters) => prepared.iterate(parameters),
      }
    },
  }
}

function openConfigured(LibsqlDatabase: DatabaseClass, file: string): Database {
  try {
    return openFile(LibsqlDatabase, file)
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    throw new ConfigError('ledger', `${file} cannot be opened as a database: ${code || message}`)
  }
}

function openFile(LibsqlDatabase: DatabaseClass, file: string): Database {
  mkdirSync(dirname(file), { recursive: true })
  const database = new LibsqlDatabase(file)
  try {
    database.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`)
    database.exec('PRAGMA journal_mode = WAL')
    database.exec('PRAGMA synchronous = FULL')
    return database
  } catch (error) {
    database.close()
    throw error
  }
}
