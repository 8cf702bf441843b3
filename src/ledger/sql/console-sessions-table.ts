import type * as KyselyModule from 'kysely'
import type { Kysely } from 'kysely'
import type { LedgerDatabase } from './schema.js'

/** The migration `0019_console_sessions`: as every one that was published, it is never edited. */
export async function createConsoleSessions(
  db: Kysely<LedgerDatabase>,
  { sql }: typeof KyselyModule,
): Promise<void> {
  await db.schema
    .createTable('x402_console_sessions')
    .addColumn('hash', 'text', (column) => column.primaryKey())
    .addColumn('role', 'text', (column) => column.notNull())
    .addColumn('token', 'text', (column) => column.notNull())
    .addColumn('project', 'text')
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('used_at', 'bigint', (column) => column.notNull())
    .execute()
  await sql`CREATE INDEX x402_console_sessions_token ON x402_console_sessions (token, used_at)`.execute(
    db,
  )
}
