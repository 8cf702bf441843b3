import type * as KyselyModule from 'kysely'
import type { ColumnDefinitionBuilder, Kysely } from 'kysely'
import type { LedgerDatabase } from './schema.js'

/** The database that a migration changes. */
export interface MigrationContext {
  readonly db: Kysely<LedgerDatabase>
  /** Whether it is PostgreSQL, not SQLite. */
  readonly isPostgres: boolean
  /** Runs a statement that has no parameters. @returns Its rows. */
  readonly run: <Column extends string>(statement: string) => Promise<readonly Row<Column>[]>
}

/** A row of texts, each of which the statement names. */
type Row<Column extends string> = Readonly<Record<Column, string>>

/** One change of the schema. */
export type Migration = (context: MigrationContext) => Promise<void>

/** Describes the database of a connection. */
export function migrationContext(
  db: Kysely<LedgerDatabase>,
  { sql, PostgresAdapter }: typeof KyselyModule,
): MigrationContext {
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
