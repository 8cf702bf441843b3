import type * as KyselyModule from 'kysely'
import type { Kysely } from 'kysely'
import type { LedgerDatabase } from './schema.js'

/** Name of the counter of all changes of projects. */
export const PROJECTS_VERSION = 'projects'

/** Creates the tables of projects, their tokens and the audit log. */
export async function createProjectTables(
  db: Kysely<LedgerDatabase>,
  { sql }: typeof KyselyModule,
): Promise<void> {
  await db.schema
    .createTable('x402_versions')
    .addColumn('name', 'text', (column) => column.primaryKey())
    .addColumn('version', 'bigint', (column) => column.notNull())
    .execute()
  await db.insertInto('x402_versions').values({ name: PROJECTS_VERSION, version: 0 }).execute()
  await db.schema
    .createTable('x402_projects')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('settings', 'text', (column) => column.notNull())
    .addColumn('version', 'bigint', (column) => column.notNull())
    .addColumn('position', 'bigint', (column) => column.notNull())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('updated_at', 'bigint', (column) => column.notNull())
    .addColumn('deleted_at', 'bigint')
    .execute()
  await sql`CREATE UNIQUE INDEX x402_projects_position ON x402_projects (position)`.execute(db)
  await db.schema
    .createTable('x402_project_tokens')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('project', 'text', (column) => column.notNull())
    .addColumn('hash', 'text', (column) => column.notNull().unique())
    .addColumn('label', 'text', (column) => column.notNull())
    .addColumn('position', 'bigint', (column) => column.notNull())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('last_used_at', 'bigint')
    .addColumn('revoked_at', 'bigint')
    .execute()
  await sql`CREATE INDEX x402_project_tokens_project ON x402_project_tokens (project, position)`.execute(
    db,
  )
  await db.schema
    .createTable('x402_audit_log')
    .addColumn('position', 'bigint', (column) => column.primaryKey())
    .addColumn('id', 'text', (column) => column.notNull().unique())
    .addColumn('at', 'bigint', (column) => column.notNull())
    .addColumn('actor', 'text', (column) => column.notNull())
    .addColumn('action', 'text', (column) => column.notNull())
    .addColumn('project', 'text', (column) => column.notNull())
    .addColumn('token', 'text')
    .addColumn('before', 'text')
    .addColumn('after', 'text')
    .execute()
  await sql`CREATE INDEX x402_audit_log_project ON x402_audit_log (project, position)`.execute(db)
}
