import type * as KyselyModule from 'kysely'
import type { ColumnDefinitionBuilder, Kysely } from 'kysely'
import type { LedgerDatabase } from './schema.js'

/** What a migration works with. */
export interface Migrating {
  readonly db: Kysely<LedgerDatabase>
  /** Otherwise it is SQLite. */
  readonly isPostgres: boolean
  /** Runs a statement as it is written. @returns Its rows. */
  readonly run: <Column extends string>(statement: string) => Promise<readonly Row<Column>[]>
}

/** A row of texts, each of which the statement names. */
type Row<Column extends string> = Readonly<Record<Column, string>>

/** One change of the schema. */
export type Migration = (on: Migrating) => Promise<void>

/** What migrations work with on a connection. */
export function migratingOn(
  db: Kysely<LedgerDatabase>,
  { sql, PostgresAdapter }: typeof KyselyModule,
): Migrating {
  return {
    db,
    isPostgres: db.getExecutor().adapter instanceof PostgresAdapter,
    run: async <Column extends string>(statement: string) =>
      (await sql.raw<Row<Column>>(statement).execute(db)).rows,
  }
}

/** A column that is never `NULL`. */
export const required = (column: ColumnDefinitionBuilder): ColumnDefinitionBuilder =>
  column.notNull()

/** The column that is a table's key. */
export const primary = (column: ColumnDefinitionBuilder): ColumnDefinitionBuilder =>
  column.primaryKey()
