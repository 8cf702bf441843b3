import type * as KyselyModule from 'kysely'
import type { Kysely } from 'kysely'
import type { LedgerDatabase } from './schema.js'
import type { SqlDialect } from '../engine/dialect.js'
import { createTables } from './tables.js'
import { createWebhookTrigger } from './webhook-trigger.js'

/** The database that a migration changes. */
export interface MigrationContext {
  readonly dialect: SqlDialect
  /** Runs a statement that has no parameters. @returns Its rows, whose columns are texts. */
  readonly run: (statement: string) => Promise<readonly Readonly<Record<string, string>>[]>
}

/** One change of the schema. */
type Migration = (context: MigrationContext) => Promise<void>

/** Every change of the schema, in order. From version 0.1.0 on, a migration is never edited. */
export const migrations: Readonly<Record<string, Migration>> = {
  '0001_tables': async (context) => {
    for (const statement of createTables(context.dialect)) await context.run(statement)
    await createWebhookTrigger(context)
  },
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
