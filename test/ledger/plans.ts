/** What a ledger asks its database, and how the database finds it. */
import { afterAll } from '@jest/globals'
import type * as KyselyModule from 'kysely'
import type { Driver } from 'kysely'
import pg from 'pg'
import { loadPeer } from '../../src/shared/crypto/load-peer.cjs'
import type { SqliteConnection } from '../../src/ledger/engine/sqlite.js'

const { PostgresDriver, SqliteDriver } = loadPeer('kysely') as typeof KyselyModule

/** A statement, as it is run. */
export interface Statement {
  readonly text: string
  readonly values: readonly unknown[]
}

const restore: (() => void)[] = []
afterAll(() => {
  for (const undo of restore.toReversed()) undo()
})

/** Notes what ledgers on SQLite run that are opened from now on. */
export function recordSqlite(): Statement[] {
  return record(SqliteDriver)
}

/** Notes what ledgers on PostgreSQL run that are opened from now on. */
export function recordPostgres(): Statement[] {
  return record(PostgresDriver)
}

/** Notes every statement of the drivers of one kind that are used first from now on: others may still work for earlier tests. */
function record({ prototype }: { readonly prototype: Driver }): Statement[] {
  const statements: Statement[] = []
  const { init, acquireConnection } = prototype
  restore.push(() => Object.assign(prototype, { init, acquireConnection }))
  const drivers = new WeakSet<Driver>()
  const noted = new WeakSet<object>()
  prototype.init = function () {
    drivers.add(this)
    return init.call(this)
  }
  prototype.acquireConnection = async function () {
    const connection = await acquireConnection.call(this)
    if (!drivers.has(this) || noted.has(connection)) return connection
    noted.add(connection)
    const executeQuery = connection.executeQuery.bind(connection)
    connection.executeQuery = (query) => {
      statements.push({ text: query.sql, values: query.parameters })
      return executeQuery(query)
    }
    return connection
  }
  return statements
}

/** Runs statements on PostgreSQL, takes them back, and tells which of their steps read many rows. */
export async function explainPostgres(connectionString: string) {
  const own = new pg.Client({ connectionString })
  await own.connect()
  return {
    async explain({ text, values }: Statement): Promise<readonly string[]> {
      await own.query('BEGIN')
      const { rows } = await own.query<{ 'QUERY PLAN': readonly [{ Plan: Plan }] }>(
        `EXPLAIN (ANALYZE, FORMAT JSON) ${text}`,
        [...values],
      )
      await own.query('ROLLBACK')
      return scansOf(rows[0]!['QUERY PLAN'][0].Plan)
    },
    end: () => own.end(),
  }
}

/** A step of a plan of PostgreSQL, which was carried out. */
interface Plan {
  readonly 'Node Type': string
  readonly 'Relation Name'?: string
  readonly 'Actual Rows': number
  readonly 'Actual Loops': number
  readonly 'Rows Removed by Filter'?: number
  readonly Plans?: readonly Plan[]
}

/** The steps that read many rows. */
function scansOf(plan: Plan): string[] {
  const { 'Actual Rows': rows, 'Actual Loops': loops, 'Rows Removed by Filter': removed = 0 } = plan
  const isWide = plan['Relation Name'] !== undefined && (rows + removed) * loops > 500
  const below = (plan.Plans ?? []).flatMap(scansOf)
  return isWide ? [`${plan['Node Type']}: ${(rows + removed) * loops} rows`, ...below] : below
}

/** An instruction of a program of SQLite. @see https://sqlite.org/opcode.html */
interface Instruction {
  readonly opcode: string
  /** The cursor. */
  readonly p1: number
  /** The first page of what it opens. */
  readonly p2: number
  /** The database, 0 for the file. */
  readonly p3: number
}

/** Rows of a table that are many. */
const MANY = 500

/** The tables and indexes of many rows that a statement of SQLite, or a trigger of it, reads from one end on. */
export function wideReads(
  own: Pick<SqliteConnection, 'prepare'>,
  { text, values }: Statement,
): readonly string[] {
  const schema = own
    .prepare(`SELECT name, tbl_name, rootpage, sql FROM sqlite_schema WHERE rootpage > 0`)
    .all() as { readonly name: string; tbl_name: string; rootpage: number; sql: string | null }[]
  const roots = new Map(schema.map((one) => [one.rootpage, one]))
  // The plan leaves triggers out; the program does not.
  const program = own.prepare(`EXPLAIN ${text}`).all(...values) as Instruction[]
  const cursors = new Map<number, number>()
  const read = new Set<string>()
  for (const { opcode, p1, p2, p3 } of program) {
    if (opcode.startsWith('Open')) cursors.set(p1, /Read|Write/.test(opcode) && p3 === 0 ? p2 : 0)
    const { name, tbl_name, sql } = roots.get(cursors.get(p1) ?? 0) ?? {}
    if (!/^(Rewind|Last)$/.test(opcode) || name === undefined) continue
    // A range without a beginning ends early.
    if (program.some((other) => /^Idx[GL]/.test(other.opcode) && other.p1 === p1)) continue
    const where = /\bWHERE\b.*$/.exec(sql ?? '')?.[0] ?? ''
    const [row] = own.prepare(`SELECT count(*) AS rows FROM ${tbl_name} ${where}`).all()
    if ((row as { readonly rows: number }).rows > MANY) read.add(name)
  }
  return [...read]
}
