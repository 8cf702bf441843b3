import { LRUCache } from 'lru-cache'
import type { SqliteDatabase, SqliteStatement } from 'kysely'
import { ConfigError } from '../../errors.js'
import { loadPeer } from '../../crypto/load-peer.cjs'
import { requirePeers } from './require-peers.js'

/** The package that brings an SQLite of its own, where Node's is too old or missing. */
export const SQLITE_PACKAGE = '@photostructure/sqlite'

/**
 * First versions without the WAL-reset race (https://sqlite.org/wal.html#walresetbug): older ones may
 * lose a commit when another connection checkpoints at the same moment. By minor version of SQLite 3;
 * 51 and everything after it.
 */
const FIXED_PATCHES: Readonly<Record<number, number>> = { 44: 6, 50: 7, 51: 3 }

/** Prepared statements kept: all that a ledger uses, in their usual sizes. */
const KEPT_STATEMENTS = 100

/** What is used of `DatabaseSync` of `node:sqlite`. */
export interface SqliteConnection {
  exec(statements: string): void
  prepare(statement: string): SqlitePrepared
  close(): void
}

interface SqlitePrepared {
  all(...parameters: unknown[]): unknown[]
  run(...parameters: unknown[]): { changes: number | bigint; lastInsertRowid: number | bigint }
  iterate(...parameters: unknown[]): IterableIterator<unknown>
  columns(): readonly unknown[]
}

/** Opens a file. */
export type SqliteEngine = new (file: string) => SqliteConnection

interface SqliteModule {
  readonly DatabaseSync: SqliteEngine
}

/** Tells whether a version of SQLite keeps every commit that it has acknowledged. */
export function isSoundSqlite(version: string): boolean {
  const [major = 0, minor = 0, patch = 0] = version.split('.').map(Number)
  if (major !== 3) return major > 3
  const fixed = FIXED_PATCHES[minor]
  return fixed === undefined ? minor > 51 : patch >= fixed
}

/**
 * Loads the SQLite that keeps the ledger: Node's own where it is recent enough, else the one of
 * {@link SQLITE_PACKAGE}.
 *
 * @param nodesVersion - The version inside Node; `undefined` where there is none.
 * @throws {@link ConfigError} where the package is missing, or its SQLite has the WAL-reset race.
 */
export function loadSqlite(
  nodesVersion: string | undefined = process.versions['sqlite'],
  load: (name: string) => unknown = loadPeer,
): SqliteEngine {
  if (nodesVersion !== undefined && isSoundSqlite(nodesVersion))
    return (load('node:sqlite') as SqliteModule).DatabaseSync
  const [peer] = requirePeers([SQLITE_PACKAGE], load)
  const { DatabaseSync } = peer as SqliteModule
  const version = versionOf(DatabaseSync)
  if (!isSoundSqlite(version))
    throw new ConfigError(
      'ledger',
      `SQLite ${version} may lose what it has committed (its WAL-reset race): ` +
        `3.51.3 or newer is needed, as in ${SQLITE_PACKAGE} 1.2: npm install ${SQLITE_PACKAGE}@latest`,
    )
  return DatabaseSync
}

/** The version of an engine's SQLite. */
export function versionOf(Engine: SqliteEngine): string {
  const database = new Engine(':memory:')
  const [row] = database.prepare('SELECT sqlite_version() AS version').all()
  database.close()
  return (row as { readonly version: string }).version
}

/** A connection as Kysely takes it: with the shape of the package `better-sqlite3`. */
export function forKysely(connection: SqliteConnection): SqliteDatabase {
  const kept = new LRUCache<string, SqliteStatement>({ max: KEPT_STATEMENTS })

  const prepare = (statement: string): SqliteStatement => {
    // A transaction of ours writes: taking the lock later could fail for good, in its middle.
    if (statement === 'begin') return control(() => connection.exec('BEGIN IMMEDIATE'))
    if (statement === 'rollback') return control(() => rollBack(connection))
    const prepared = connection.prepare(statement)
    return {
      reader: prepared.columns().length > 0,
      all: (parameters) => prepared.all(...parameters),
      run: (parameters) => prepared.run(...parameters),
      iterate: (parameters) => prepared.iterate(...parameters),
    }
  }

  return {
    close: () => connection.close(),
    prepare(statement) {
      const known = kept.get(statement)
      if (known !== undefined) return known
      const prepared = prepare(statement)
      kept.set(statement, prepared)
      return prepared
    },
  }
}

/** A statement of its own that gives no rows. */
function control(run: () => void): SqliteStatement {
  return {
    reader: false,
    all: () => [],
    run() {
      run()
      return { changes: 0, lastInsertRowid: 0 }
    },
    iterate: () => [].values(),
  }
}

/** SQLite may have rolled back by itself: what went wrong before is what counts. */
function rollBack(connection: SqliteConnection): void {
  try {
    connection.exec('ROLLBACK')
  } catch (error) {
    if (!/no transaction is active/.test(String(error))) throw error
  }
}

/** Result codes of SQLite that say nothing about the statement itself, and their fixed words. */
const BUSY = 5
const LOCKED = 6
const PASSING_WORDS = /^database (table |schema )?is locked/

/** Whether an error is SQLite's, and the same statement may succeed a moment later. */
export function isSqliteBusy(error: unknown): boolean {
  const { code, errcode, message } = error as Partial<SqliteError>
  if (code !== SQLITE_ERROR) return false
  // The package leaves the number out of what `all` throws.
  if (errcode === undefined) return PASSING_WORDS.test(String(message))
  // The low byte is the primary result code.
  return [BUSY, LOCKED].includes(errcode & 255)
}

/** What kind of failure SQLite tells of, without what may name a file or quote a statement. */
export function sqliteFailure(error: unknown): string | undefined {
  const { code, errcode, errstr } = error as Partial<SqliteError>
  if (code !== SQLITE_ERROR) return undefined
  if (errcode !== undefined) return `SQLite ${errcode}: ${errstr}`
  return isSqliteBusy(error) ? `SQLite ${BUSY}: database is locked` : SQLITE_ERROR
}

const SQLITE_ERROR = 'ERR_SQLITE_ERROR'

/** What `node:sqlite` throws where SQLite itself refuses. */
interface SqliteError {
  readonly code: string
  readonly errcode: number
  readonly errstr: string
  readonly message: string
}
