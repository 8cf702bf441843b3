/** Types of the columns of given rows. In JSON, bytes are hexadecimal digits. */
type Type = 'bytes' | 'text' | 'int' | 'bigint'

export type Columns = Readonly<Record<string, Type>>

/** The words in which the databases differ. */
export interface SqlDialect {
  readonly isPostgres: boolean
  /** The database's clock, in milliseconds since the epoch. */
  readonly now: string
  /**
   * Selects the rows of a statement's first parameter, a JSON array.
   *
   * - PostgreSQL would expect 100 rows of an array, and read a small table as a whole for them, and a prepared
   *   statement would go on to do so when the table has grown. Of two limits that are computed, which leave
   *   nothing out, it expects one row, and looks it up by its id.
   * - SQLite reads columns from `jsonb` in a third of the time, and converts each row once because of the
   *   limit, which is none.
   */
  readonly rows: (columns: Columns) => string
  /** A parameter, by its place. */
  readonly parameter: (place: number, type: 'bytes' | 'text' | 'bigint') => string
  /** Bytes of hexadecimal digits. */
  readonly bytes: (digits: string) => string
  /** Hexadecimal digits of bytes. */
  readonly digits: (bytes: string) => string
  /**
   * Has records be looked up by their ids: by the statistics of a small table (`ANALYZE`), SQLite would read all of
   * it.
   */
  readonly byId: string
}

const listed = (columns: Columns, write: (name: string, isBytes: boolean) => string): string =>
  Object.entries(columns)
    .map(([name, type]) => write(name, type === 'bytes'))
    .join(', ')

export const POSTGRES: SqlDialect = {
  isPostgres: true,
  now: 'CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT)',
  rows: (columns) => `
   SELECT * FROM (
     SELECT ${listed(columns, (name, isBytes) => (isBytes ? `decode(${name}, 'hex') AS ${name}` : name))}
     FROM json_to_recordset($1::json)
       AS one(${listed(columns, (name, isBytes) => `${name} ${isBytes ? 'text' : columns[name]}`)})
     LIMIT (SELECT 2147483647)) AS all_rows
   LIMIT (SELECT 2147483647)`,
  parameter: (place, type) => `CAST($${place} AS ${type === 'bytes' ? 'bytea' : type})`,
  bytes: (digits) => `decode(${digits}, 'hex')`,
  digits: (bytes) => `encode(${bytes}, 'hex')`,
  byId: '',
}

export const SQLITE: SqlDialect = {
  isPostgres: false,
  now: `CAST(unixepoch('subsec') * 1000 AS INTEGER)`,
  rows: (columns) => `
   SELECT ${listed(columns, (name, isBytes) => `${isBytes ? 'unhex' : ''}(value->>'${name}') AS ${name}`)}
   FROM (SELECT jsonb(value) AS value FROM json_each(?) LIMIT -1)`,
  parameter: (_place, type) =>
    `CAST(? AS ${{ bytes: 'BLOB', text: 'TEXT', bigint: 'INTEGER' }[type]})`,
  bytes: (digits) => `unhex(${digits})`,
  digits: (bytes) => `lower(hex(${bytes}))`,
  byId: 'INDEXED BY x402_authorizations_id',
}
