import type * as KyselyModule from 'kysely'
import type { Kysely } from 'kysely'
import type { LedgerDatabase } from './schema.js'
import type { SqlDialect } from '../engine/dialect.js'

/** The database that a migration changes. */
export interface MigrationContext {
  readonly dialect: SqlDialect
  /** Runs a statement that has no parameters. @returns Its rows, whose columns are texts. */
  readonly run: (statement: string) => Promise<readonly Readonly<Record<string, string>>[]>
}

/** Describes the database of a connection. */
export function migrationContext(
  db: Kysely<LedgerDatabase>,
  { sql }: typeof KyselyModule,
  dialect: SqlDialect,
): MigrationContext {
  return {
    dialect,
    run: async (statement) =>
      (await sql.raw<Readonly<Record<string, string>>>(statement).execute(db)).rows,
  }
}
