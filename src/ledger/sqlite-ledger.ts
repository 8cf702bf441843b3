import { closeSync, existsSync, mkdirSync, openSync } from 'node:fs'
import { dirname } from 'node:path'
import { ConfigError } from '../shared/errors.js'
import type { Ledger, LedgerStore } from './index.js'
import { migrate } from './schema/migrate.js'
import { explainFailure, failureKind } from './engine/explain-failure.js'
import { createNextSubmission } from './relayers/statements.js'
import { LockOwner } from './owners/lock-owner.js'
import { OwnerFile } from './owners/owner-file.js'
import { loadKysely } from './engine/load-kysely.js'
import type { LedgerDatabase } from './schema/tables.js'
import { SQLITE, type SqlDialect } from './engine/dialect.js'
import { SqlLedger, type SqlLedgerOptions } from './store.js'
import { databaseOf, SqlStore, type SqlDatabase } from './engine/store.js'
import {
  forKysely,
  isSqliteBusy,
  loadSqlite,
  type SqliteConnection,
  type SqliteEngine,
} from './engine/sqlite.js'

/**
 * How long SQLite blocks this process while another one writes to the same file. If the file is still
 * locked then, the statement is tried again later, and other requests go on meanwhile.
 */
const BUSY_TIMEOUT_MS = 5

/** KiB of the file that are kept in memory; SQLite's own default is 2 MiB. */
const CACHE_KIB = 16 * 1024

/**
 * Pages of 4 KiB in the write-ahead log before they are copied into the file, which blocks this process:
 * many payments change the same pages. SQLite's own default is 1000.
 */
const CHECKPOINT_PAGES = 4000

/** Mode of a new file: read and written by its owner alone. */
const OWNER_ONLY = 0o600

/**
 * Creates a ledger in an SQLite file. It survives restarts, and processes of one machine can share it.
 *
 * Every change is on disk before it counts (WAL, `synchronous=full`). The tables (`x402_…`) are created
 * and migrated on first use. Each process keeps a small file beside it locked (`…-owner-…`), by which
 * others see at once that it has died. SQLite comes with the package `@photostructure/sqlite`, or with Node:
 * whichever is there and free of the [WAL-reset race](https://sqlite.org/wal.html#walresetbug), as 3.51.3
 * and newer are.
 *
 * @param file - Path of the file. It and its folder are created if they do not exist.
 * @returns A ledger for one gateway, which closes it. While the file cannot be read or written, requests
 * fail with the `LedgerError` code `ledger_unavailable`.
 * @throws `ConfigError` (`config_invalid`) if there is no SQLite, or if the file cannot be opened as a
 * database.
 *
 * @example
 * ```ts
 * import { createGateway } from 'express-x402-gateway'
 * import { sqliteLedger } from 'express-x402-gateway/sql'
 *
 * const gateway = createGateway({
 *   networks: { 'base-sepolia': { relayerKeys: [`0x${'5e'.repeat(32)}`] } },
 *   ledger: sqliteLedger('./data/ledger.db'),
 * })
 * await gateway.close()
 * ```
 */
export function sqliteLedger(file: string): Ledger {
  return openSqliteLedger(file)
}

/**
 * {@link sqliteLedger}, with the methods that a gateway uses and the options that tests set.
 *
 * @internal
 */
export function openSqliteLedger(file: string, options?: SqlLedgerOptions): LedgerStore {
  const Engine = loadSqlite()
  const owner = new LockOwner(new OwnerFile(Engine, file))
  const connect = (): SqliteConnection => openFile(Engine, file)
  const store = sqliteStore({
    owner,
    connect,
    first: tryOpen(connect, file),
    dialect: SQLITE,
  })
  return new SqlLedger(store, owner, options)
}

interface SqliteStoreOptions {
  readonly owner: LockOwner
  readonly connect: () => SqliteConnection
  readonly first?: SqliteConnection | undefined
  readonly dialect: SqlDialect
  /** Statements that are run once the tables are there. */
  readonly setUp?: string
}

/** A store of one SQLite connection, which is opened on first use. @internal */
export function sqliteStore({
  owner,
  connect,
  first,
  dialect,
  setUp,
}: SqliteStoreOptions): SqlStore {
  let connection = first
  const end = async (): Promise<void> => {
    connection?.close()
    connection = undefined
  }
  const open = async (): Promise<SqlDatabase> => {
    connection ??= connect()
    const kysely = loadKysely()
    const db = new kysely.Kysely<LedgerDatabase>({
      dialect: new kysely.SqliteDialect({ database: forKysely(connection) }),
    })
    const target = { db, kysely, dialect }
    await migrate(target, (work) => db.transaction().execute(work))
    connection.exec(createNextSubmission(dialect))
    if (setUp !== undefined) connection.exec(setUp)
    const database = databaseOf(target)
    await owner.start(database)
    return database
  }
  return new SqlStore({ open, end })
}

/** @returns `undefined` if another process has the file locked: it is opened on first use then. */
function tryOpen(connect: () => SqliteConnection, file: string): SqliteConnection | undefined {
  try {
    return connect()
  } catch (error) {
    if (isSqliteBusy(error)) return undefined
    throw new ConfigError('ledger', explainFailure(failureKind(error), { file }), 'unusable_ledger')
  }
}

/** Makes the file of a ledger, if there is none. It holds signed payments and stored responses: nobody else may read it. */
export function makeLedgerFile(file: string): void {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
  if (!/^(:|file:)/.test(file) && !existsSync(file)) closeSync(openSync(file, 'a', OWNER_ONLY))
}

function openFile(Engine: SqliteEngine, file: string): SqliteConnection {
  makeLedgerFile(file)
  const connection = new Engine(file)
  try {
    connection.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`)
    connection.exec('PRAGMA journal_mode = WAL')
    connection.exec('PRAGMA synchronous = FULL')
    connection.exec(`PRAGMA cache_size = -${CACHE_KIB}`)
    connection.exec(`PRAGMA wal_autocheckpoint = ${CHECKPOINT_PAGES}`)
    return connection
  } catch (error) {
    connection.close()
    throw error
  }
}
