import { primary, required, type MigrationContext } from './migration.js'

/** Name of the counter of all changes of projects. */
export const PROJECTS_VERSION = 'projects'

/** Creates the tables of projects, their tokens and the audit log. */
export async function createProjectTables({ db, run }: MigrationContext): Promise<void> {
  await db.schema
    .createTable('x402_versions')
    .addColumn('name', 'text', primary)
    .addColumn('version', 'bigint', required)
    .execute()
  await db.insertInto('x402_versions').values({ name: PROJECTS_VERSION, version: 0 }).execute()
  await db.schema
    .createTable('x402_projects')
    .addColumn('id', 'text', primary)
    .addColumn('settings', 'text', required)
    .addColumn('version', 'bigint', required)
    .addColumn('position', 'bigint', required)
    .addColumn('created_at', 'bigint', required)
    .addColumn('updated_at', 'bigint', required)
    .addColumn('deleted_at', 'bigint')
    .execute()
  await run('CREATE UNIQUE INDEX x402_projects_position ON x402_projects (position)')
  await db.schema
    .createTable('x402_project_tokens')
    .addColumn('id', 'text', primary)
    .addColumn('project', 'text', required)
    .addColumn('hash', 'text', (column) => column.notNull().unique())
    .addColumn('label', 'text', required)
    .addColumn('position', 'bigint', required)
    .addColumn('created_at', 'bigint', required)
    .addColumn('last_used_at', 'bigint')
    .addColumn('revoked_at', 'bigint')
    .execute()
  await run('CREATE INDEX x402_project_tokens_project ON x402_project_tokens (project, position)')
  await db.schema
    .createTable('x402_audit_log')
    .addColumn('position', 'bigint', primary)
    .addColumn('id', 'text', (column) => column.notNull().unique())
    .addColumn('at', 'bigint', required)
    .addColumn('actor', 'text', required)
    .addColumn('action', 'text', required)
    .addColumn('project', 'text', required)
    .addColumn('token', 'text')
    .addColumn('before', 'text')
    .addColumn('after', 'text')
    .execute()
  await run('CREATE INDEX x402_audit_log_project ON x402_audit_log (project, position)')
}
