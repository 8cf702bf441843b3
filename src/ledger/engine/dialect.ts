/** The differences between the databases that matter beyond statements. */
export interface SqlDialect {
  readonly isPostgres: boolean
  /** The database's clock, in milliseconds since the epoch. */
  readonly now: string
}

export const POSTGRES: SqlDialect = {
  isPostgres: true,
  now: 'CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT)',
}

export const SQLITE: SqlDialect = {
  isPostgres: false,
  now: `CAST(unixepoch('subsec') * 1000 AS INTEGER)`,
}
