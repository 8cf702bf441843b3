import { LRUCache } from 'lru-cache'
import type { SqliteDatabase, SqliteStatement } from 'kysely'
import { ConfigError } from '../../shared/errors.js'
import { installing, isMissing, loadInstalled } from './require-peers.js'

/** The package with an SQLite of its own, for when Node's is too old or missing. */
export const SQLITE_PACKAGE = '@photostructure/sqlite'

/**
 * First patch versions without the WAL-reset race (https://sqlite.org/wal.html#walresetbug), by minor
 * version of SQLite 3. All minor versions after 51 are free of it. Older versions may lose a commit
 * when another connection checkpoints at the same moment. 3.44.6 would not, but lacks the function
 * `jsonb`, which statements use.
 */
const FIXED_PATCHES: Readonly<Record<number, number>> = { 50: 7, 51: 3 }

/** Prepared statements that are cached: all of a ledger, with the usual numbers of parameters. */
const KEPT_STATEMENTS = 100

/** The part of `DatabaseSync` of `node:sqlite` that is used. */
export interface SqliteConnection {
  exec(statements: string): void
  prepare(statement: string): SqlitePrepared
  close(): void
  /** Lets statements call a function. */
  function(name: string, run: () => number): void
}

interface SqlitePrepared {
  all(...parameters: unknown[]): unknown[]
  run(...parameters: unknown[]): { changes: number | bigint; lastInsertRowid: number | bigint }
  iterate(...parameters: unknown[]): IterableIterator<unknown>
  columns(): readonly unknown[]
}

export type SqliteEngine = new (file: string) => SqliteConnection

interface SqliteModule {
  readonly DatabaseSync: SqliteEngine
}

/** Tells whether a version of SQLite never loses an acknowledged commit. */
export function isSoundSqlite(version: string): boolean {
  const [major = 0, minor = 0, patch = 0] = version.split('.').map(Number)
  if (major !== 3) return major > 3
  const fixed = FIXED_PATCHES[minor]
  return fixed === undefined ? minor > 51 : patch >= fixed
}

/** The first major version of Node whose own SQLite is used without a warning that it is experimental. */
const QUIET_NODE = 24

/** The part of `process.versions` that decides which SQLite is used. */
export interface NodeVersions {
  readonly node: string
  /** Version of Node's own SQLite, `undefined` if it has none. */
  readonly sqlite?: string | undefined
}

/**
 * Loads SQLite: Node's own, or the one of {@link SQLITE_PACKAGE}, whichever is there and has no WAL-reset race.
 * Of both, Node's is taken from Node 24 on: before, using it prints a warning.
 *
 * @throws {@link ConfigError} if neither can be used.
 */
export function loadSqlite(
  versions: NodeVersions = process.versions,
  load: (name: string) => unknown = loadInstalled,
): SqliteEngine {
  const isOwnSound = isSoundSqlite(versions.sqlite ?? '0')
  const fromNode = (): SqliteEngine => (load('node:sqlite') as SqliteModule).DatabaseSync
  if (isOwnSound && Number.parseInt(versions.node) >= QUIET_NODE) return fromNode()
  const { engine, problem } = fromPackage(load)
  if (engine !== undefined) return engine
  if (isOwnSound) return fromNode()
  throw new ConfigError(
    'ledger',
    `needs SQLite 3.51.3 or newer, and ${problem}: ${installing([SQLITE_PACKAGE])}, or run it on Node 24, which has it`,
    'missing_package',
  )
}

/** The engine of {@link SQLITE_PACKAGE}, or why there is none. */
function fromPackage(load: (name: string) => unknown): {
  readonly engine?: SqliteEngine
  readonly problem?: string
} {
  let loaded: SqliteModule
  try {
    loaded = load(SQLITE_PACKAGE) as SqliteModule
  } catch (error) {
    if (isMissing(error, SQLITE_PACKAGE)) return { problem: `'${SQLITE_PACKAGE}' is not installed` }
    return { problem: `'${SQLITE_PACKAGE}' has no binary for this machine` }
  }
  const { DatabaseSync: engine } = loaded
  const version = versionOf(engine)
  if (isSoundSqlite(version)) return { engine }
  return { problem: `version ${version} of '${SQLITE_PACKAGE}' may lose what it has committed` }
}

export function versionOf(Engine: SqliteEngine): string {
  const database = new Engine(':memory:')
  const [row] = database.prepare('SELECT sqlite_version() AS version').all()
  database.close()
  return (row as { readonly version: string }).version
}

/** Adapts a connection to Kysely, which expects the shape of the package `better-sqlite3`. */
export function forKysely(connection: SqliteConnection): SqliteDatabase {
  const kept = new LRUCache<string, SqliteStatement>({ max: KEPT_STATEMENTS })

  const prepare = (statement: string): SqliteStatement => {
    // Every transaction writes. A plain BEGIN would take the write lock later, which can fail for good.
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

/** A statement of transaction control, which returns no rows. */
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

/** Rolls back, unless SQLite has done so itself: the error before is the one to report. */
function rollBack(connection: SqliteConnection): void {
  try {
    connection.exec('ROLLBACK')
  } catch (error) {
    if (!/no transaction is active/.test(String(error))) throw error
  }
}

/** SQLite's result codes of passing failures, and their fixed messages. */
const BUSY = 5
const LOCKED = 6
const PASSING_WORDS = /^database (table |schema )?is locked/

/** Tells whether an error is SQLite's, and the same statement may succeed a moment later. */
export function isSqliteBusy(error: unknown): boolean {
  const { code, errcode, message } = error as Partial<SqliteError>
  if (code !== SQLITE_ERROR) return false
  // The package's `all` throws errors without a number.
  if (errcode === undefined) return PASSING_WORDS.test(String(message))
  // The low byte is the primary result code.
  return [BUSY, LOCKED].includes(errcode & 255)
}

/** The kind of an SQLite failure, without the message, which may name a file or quote a statement. */
export function sqliteFailure(error: unknown): string | undefined {
  const { code, errcode, errstr } = error as Partial<SqliteError>
  if (code !== SQLITE_ERROR) return undefined
  if (errcode !== undefined) return `SQLite ${errcode}: ${errstr}`
  return isSqliteBusy(error) ? `SQLite ${BUSY}: database is locked` : SQLITE_ERROR
}

const SQLITE_ERROR = 'ERR_SQLITE_ERROR'

/** The error that `node:sqlite` throws when SQLite fails. */
interface SqliteError {
  readonly code: string
  readonly errcode: number
  readonly errstr: string
  readonly message: string
}
