/** Statements that are written by hand, for both databases, and made once. */
import type * as KyselyModule from 'kysely'
import type { Kysely } from 'kysely'
import type { LedgerDatabase } from '../schema/schema.js'

/** What differs between the databases in a statement. */
export interface SqlDialect {
  readonly isPostgres: boolean
  /** The database's clock, in milliseconds since the epoch. */
  readonly now: string
  /** Follows the table of authorizations where its rows are found by their ids. */
  readonly indexedById: string
  /** The types of whole numbers, and of bytes. */
  readonly bigint: string
  readonly bytes: string
  /** Ends the statement that creates a table: only values of a column's type may go into it. */
  readonly strict: string
  /** 32 random digits. */
  readonly randomId: string
  /** Bytes as hexadecimal digits, in lower case. */
  readonly toDigits: (bytes: string) => string
  /** The bytes of hexadecimal digits. */
  readonly fromDigits: (digits: string) => string
  /** The table `w`: the members of a JSON array of objects, which is the first parameter. */
  readonly rows: (columns: RowColumns) => string
}

/** The members of rows that a statement is given, with their types. Bytes are given as digits. */
export type RowColumns = Readonly<Record<string, 'text' | 'bigint' | 'bytes'>>

/** A statement in the words of a database. */
export type Statement = (dialect: SqlDialect) => string

/** A statement that is written whole for each database. Each text is given the SQL of the database's clock. */
export function byDatabase(texts: {
  readonly postgres: (now: string) => string
  readonly sqlite: (now: string) => string
}): Statement {
  return ({ isPostgres, now }) => (isPostgres ? texts.postgres(now) : texts.sqlite(now))
}

/** Runs a statement. */
export type RunStatement = (
  statement: Statement,
  parameters: readonly unknown[],
  connection?: Kysely<LedgerDatabase>,
) => Promise<readonly unknown[]>

/** The members of the first parameter, in PostgreSQL. */
const JSON_ROWS = 'json_to_recordset($1::json)'

export const POSTGRES: SqlDialect = {
  isPostgres: true,
  now: 'CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT)',
  indexedById: '',
  bigint: 'BIGINT',
  bytes: 'BYTEA',
  strict: '',
  randomId: `replace(gen_random_uuid()::text, '-', '')`,
  toDigits: (bytes) => `encode(${bytes}, 'hex')`,
  fromDigits: (digits) => `decode(${digits}, 'hex')`,
  rows(columns) {
    const given = Object.entries(columns)
    const typed = given.map(([name, type]) => `${name} ${type === 'bytes' ? 'text' : type}`)
    const read = given.map(([name, type]) =>
      type === 'bytes' ? `${POSTGRES.fromDigits(name)} AS ${name}` : name,
    )
    const all = `SELECT ${read.join(', ')} FROM ${JSON_ROWS} AS one(${typed.join(', ')})`
    const limit = `LIMIT (SELECT ${2 ** 31 - 1})`
    // Neither limit leaves anything out. Of one that is computed, PostgreSQL expects a tenth of the rows: of
    // two, one row. Without them it expects 100, for which it would read a small table as a whole; and a
    // prepared statement would go on to do so when the table has grown.
    return `(SELECT * FROM (${all} ${limit}) AS all_rows ${limit}) AS w`
  },
}

/** Tells whether a statement for PostgreSQL takes rows, as those of the hot path do. */
export function takesRows(text: string): boolean {
  return text.includes(JSON_ROWS)
}

export const SQLITE: SqlDialect = {
  isPostgres: false,
  now: `CAST(unixepoch('subsec') * 1000 AS INTEGER)`,
  // By the statistics of a small table (`ANALYZE`), SQLite would read all of it, also when it has grown.
  indexedById: 'INDEXED BY x402_authorizations_id',
  // Of a column that is `INTEGER PRIMARY KEY`, SQLite would make the row's own number.
  bigint: 'INT',
  bytes: 'BLOB',
  strict: 'STRICT',
  randomId: 'lower(hex(randomblob(16)))',
  toDigits: (bytes) => `lower(hex(${bytes}))`,
  fromDigits: (digits) => `unhex(${digits})`,
  rows(columns) {
    const named = Object.entries(columns).map(([name, type]) => {
      const member = `value->>'${name}'`
      return `${type === 'bytes' ? SQLITE.fromDigits(member) : member} AS ${name}`
    })
    // Columns are read from `jsonb` in a third of the time. The limit, which is none, has SQLite convert
    // each member once, not once a column.
    const parsed = 'SELECT jsonb(value) AS value FROM json_each(?) LIMIT -1'
    return `(SELECT ${named.join(', ')} FROM (${parsed})) AS w`
  },
}

/** Runs statements on a database. The text of each is made on its first use. */
export function statementsOf(
  db: Kysely<LedgerDatabase>,
  { CompiledQuery }: typeof KyselyModule,
  dialect: SqlDialect,
): RunStatement {
  const texts = new Map<Statement, string>()
  return async (statement, parameters, connection = db) => {
    const text = texts.get(statement) ?? statement(dialect)
    texts.set(statement, text)
    const { rows } = await connection.executeQuery(CompiledQuery.raw(text, [...parameters]))
    return rows
  }
}

/**
 * A statement that changes rows of authorizations, each by a member `w` with its `record_id`, and returns
 * the ids of those that it has changed. Its members are given {@link inOrder}.
 */
export function updateEach({
  columns,
  set,
  where,
}: {
  /** Columns of `w` beside `record_id`. */
  readonly columns: RowColumns
  readonly set: string
  /** About a row `a` and its member `w`. */
  readonly where: string
}): Statement {
  return ({ now, rows, indexedById, toDigits }) =>
    `UPDATE x402_authorizations AS a ${indexedById} SET ${set}, updated_at = ${now}
     FROM ${rows({ record_id: 'bytes', ...columns })}
     WHERE a.id = w.record_id AND ${where}
     RETURNING ${toDigits('id')} AS id`
}

/**
 * The members of a statement, in the order of their ids. Their rows are changed in that order: two statements
 * that changed the same rows in different orders would deadlock.
 */
export function inOrder<Member extends { readonly record_id: string }>(
  members: readonly Member[],
): readonly Member[] {
  return members.toSorted((one, other) => (one.record_id < other.record_id ? -1 : 1))
}

/** The condition that the transfer log of a member `w`, if it names one, has not paid for another record. */
export const UNSPENT = `NOT EXISTS (
  SELECT 1 FROM x402_authorizations AS other
  WHERE other.transfer = w.transfer AND other.id <> w.record_id)`

/**
 * What `failed` of a row becomes when another transaction is sent for it: after a failure, the hashes under
 * which that transaction may be mined in another block.
 */
export const failedBefore = ({ toDigits }: SqlDialect, row: string): string =>
  `CASE ${row}.state WHEN 'failed' THEN '0x' || ${toDigits(`${row}.transaction_hash`)}
     || coalesce(',' || ${row}.replaces, '') || coalesce(',' || ${row}.failed, '')
     ELSE ${row}.failed END`

/** The ids that such a statement has returned, as digits. */
export function idsOf(rows: readonly unknown[]): ReadonlySet<string> {
  return new Set((rows as readonly { readonly id: string }[]).map(({ id }) => id))
}
