/** Rows of projects, their tokens and the audit log. */
import type { Kysely } from 'kysely'
import type {
  AuditAction,
  AuditEntry,
  PausedBy,
  StoredProject,
  StoredToken,
  TokenScope,
} from '../projects.js'
import { PROJECTS_VERSION, type LedgerDatabase, type Row } from '../schema/tables.js'

export function selectProjects(db: Kysely<LedgerDatabase>) {
  return db.selectFrom('x402_projects').selectAll().where('deleted_at', 'is', null)
}

export async function findProject(
  db: Kysely<LedgerDatabase>,
  id: string,
): Promise<StoredProject | undefined> {
  const row = await selectProjects(db).where('id', '=', id).executeTakeFirst()
  return row && projectOf(row)
}

export async function revokeTokens(
  db: Kysely<LedgerDatabase>,
  project: string,
  at: number,
): Promise<void> {
  await db
    .updateTable('x402_project_tokens')
    .set({ revoked_at: at })
    .where('project', '=', project)
    .where('revoked_at', 'is', null)
    .execute()
}

export async function versionOf(db: Kysely<LedgerDatabase>): Promise<number> {
  const { version } = await db
    .selectFrom('x402_versions')
    .select('version')
    .where('name', '=', PROJECTS_VERSION)
    .executeTakeFirstOrThrow()
  return Number(version)
}

/** Changes that are looked through for projects. After more, all projects are read again. */
const MAX_CHANGES = 500

/** Names the projects that changes were about; `undefined` if there are too many, or not all are in the log. */
export async function changedBetween(
  db: Kysely<LedgerDatabase>,
  since: number,
  version: number,
): Promise<readonly string[] | undefined> {
  const changes = version - since
  if (since < 0 || changes > MAX_CHANGES) return undefined
  const entries = await db
    .selectFrom('x402_audit_log')
    .select(['project', 'action'])
    .where('position', '>', since)
    .where('position', '<=', version)
    .execute()
  if (entries.length !== changes) return undefined
  const changed = entries.filter(({ action }) => /^(?:project|token)\./.test(action))
  return [...new Set(changed.map(({ project }) => project))]
}

export function projectOf(row: Row<'x402_projects'>): StoredProject {
  return {
    id: row.id,
    settings: JSON.parse(row.settings) as object,
    ...(row.paused_by !== null && { pausedBy: row.paused_by as PausedBy }),
    ...(row.next_pay_to !== null && {
      nextPayTo: { payTo: row.next_pay_to, at: Number(row.next_pay_to_at) },
    }),
    version: Number(row.version),
    position: Number(row.position),
    createdAt: Number(row.created_at),
    updatedAt: Number(row.updated_at),
  }
}

export function tokenOf(row: Row<'x402_project_tokens'>): StoredToken {
  const { id, project, hash, label, last_used_at, revoked_at } = row
  return {
    id,
    project,
    hash,
    label,
    scopes: row.scopes.split(',') as TokenScope[],
    createdAt: Number(row.created_at),
    ...(last_used_at !== null && { lastUsedAt: Number(last_used_at) }),
    ...(revoked_at !== null && { revokedAt: Number(revoked_at) }),
  }
}

export function auditOf(row: Row<'x402_audit_log'>): AuditEntry {
  const { id, actor, project, token, before, after } = row
  return {
    id,
    position: Number(row.position),
    at: Number(row.at),
    actor,
    action: row.action as AuditAction,
    project,
    ...(token !== null && { token }),
    ...(before !== null && { before: JSON.parse(before) as object }),
    ...(after !== null && { after: JSON.parse(after) as object }),
  }
}
