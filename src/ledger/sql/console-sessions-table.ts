import { primary, required, type MigrationContext } from './migration.js'

/** The migration `0019_console_sessions`: as every one that was published, it is never edited. */
export async function createConsoleSessions({ db, run }: MigrationContext): Promise<void> {
  await db.schema
    .createTable('x402_console_sessions')
    .addColumn('hash', 'text', primary)
    .addColumn('role', 'text', required)
    .addColumn('token', 'text', required)
    .addColumn('project', 'text')
    .addColumn('created_at', 'bigint', required)
    .addColumn('used_at', 'bigint', required)
    .execute()
  await run('CREATE INDEX x402_console_sessions_token ON x402_console_sessions (token, used_at)')
}
