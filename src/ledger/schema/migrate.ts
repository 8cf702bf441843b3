import type * as KyselyModule from 'kysely'
import type { Kysely } from 'kysely'
import { createTables, type LedgerDatabase } from './tables.js'
import { createWebhookTrigger, type RunSql } from './webhook-trigger.js'
import type { SqlDialect } from '../engine/dialect.js'
import { isSqliteBusy } from '../engine/sqlite.js'
import { world } from '../../shared/world.js'

/** Every change of the schema, in order. From version 0.1.0 on, a migration is never edited. */
export const migrations: Readonly<
  Record<string, (dialect: SqlDialect, run: RunSql) => Promise<void>>
> = {
  '0001_tables': async (dialect, run) => {
    for (const statement of createTables(dialect)) await run(statement)
    await createWebhookTrigger(dialect, run)
  },
}

/** How long a migration by another process is waited for, with SQLite: millions of rows take a while. */
const PATIENCE_MS = 20_000

/** Pause before the next look. */
const PAUSE_MS = 100

export interface MigrationTarget {
  readonly db: Kysely<LedgerDatabase>
  readonly kysely: typeof KyselyModule
  readonly dialect: SqlDialect
}

/** Runs work in a transaction during which no other process can migrate. */
export type Exclusively = (
  work: (connection: Kysely<LedgerDatabase>) => Promise<void>,
) => Promise<void>

/**
 * Brings the schema up to date. Several processes may call it at once.
 *
 * Kysely's `Migrator` is not used: on SQLite it takes no lock and no transaction, so two processes
 * could migrate side by side and a crash could leave half a migration; on PostgreSQL it looks for its
 * tables in every schema, not in the search path; and it refuses a database that a newer version has
 * migrated, so that an older process could not restart during an upgrade.
 *
 * @param exclusively - Starts a transaction in which nobody else migrates.
 */
export async function migrate(target: MigrationTarget, exclusively: Exclusively): Promise<void> {
  const deadline = world.elapsed() + PATIENCE_MS
  for (;;) {
    // Usually all are applied, and the user of the database may lack the right to create tables.
    const applied = await appliedMigrations(target.db).catch((): readonly string[] => [])
    if (Object.keys(migrations).every((name) => applied.includes(name))) return
    try {
      return await exclusively((db) => applyMissing({ ...target, db }))
    } catch (error) {
      if (!isSqliteBusy(error) || world.elapsed() > deadline) throw error
      await world.sleep(PAUSE_MS)
    }
  }
}

async function applyMissing({ db, kysely, dialect }: MigrationTarget): Promise<void> {
  const run: RunSql = async (statement) => {
    const raw = kysely.sql.raw<Readonly<Record<string, string>>>(statement)
    return (await raw.execute(db)).rows
  }
  await run('CREATE TABLE IF NOT EXISTS x402_migrations (name TEXT NOT NULL PRIMARY KEY)')
  const applied = await appliedMigrations(db)
  for (const [name, apply] of Object.entries(migrations)) {
    if (applied.includes(name)) continue
    await apply(dialect, run)
    await db.insertInto('x402_migrations').values({ name }).execute()
  }
}

/** The names of the migrations that were applied. @throws if there is no table of them. */
export async function appliedMigrations(db: Kysely<LedgerDatabase>): Promise<readonly string[]> {
  const rows = await db.selectFrom('x402_migrations').select('name').execute()
  return rows.map(({ name }) => name)
}
