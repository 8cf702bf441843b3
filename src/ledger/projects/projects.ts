import type { Kysely, RawBuilder } from 'kysely'
import type { AuditedChange, AuditEntry, ChangeAuthor, ChangeOutcome } from '../projects.js'
import type { NewToken, PageQuery } from '../projects.js'
import type { ProjectSnapshot, ProjectUpdate, StoredProject, StoredToken } from '../projects.js'
import { sha256 } from '../../shared/crypto/sha256.js'
import { makeChange, Undone, type Changing } from './changes.js'
import { differenceOf } from './difference.js'
import { limited } from './limited.js'
import { auditedOf, tellPayTo } from './pay-to.js'
import { auditOf, changedBetween, findProject, projectOf, revokeTokens } from './rows.js'
import { selectProjects, tokenOf, versionOf } from './rows.js'
import type { LedgerDatabase } from '../schema/tables.js'
import type { SqlStore } from '../engine/store.js'

export interface ChangeChannel {
  /** Whether announcements by others arrive at present. */
  readonly isOpen: boolean
  /** Calls back after a change by any process, and after changes may have been missed. */
  listen(listener: () => void): void
  /** Announces a change to all processes, once its transaction has committed. */
  announce(transaction: Kysely<LedgerDatabase>): Promise<void>
}

/** Most tokens of a project that are listed, and most revoked ones that are kept. */
const MAX_TOKENS = 1000

/** Keeps projects in an SQL database, which several processes may share. */
export class Projects {
  readonly #store: SqlStore
  readonly #channel: ChangeChannel | undefined
  readonly #listeners = new Set<() => void>()

  /** @param channel - Absent where the database is polled for changes by other processes. */
  constructor(store: SqlStore, channel?: ChangeChannel) {
    this.#store = store
    this.#channel = channel
    channel?.listen(() => this.#tell())
  }

  /** Whether a change by another process calls back {@link ProjectStore.watch} at present. */
  get announces(): boolean {
    return this.#channel?.isOpen ?? false
  }

  /** Calls back after each change, and after changes may have been missed. @returns Ends that. */
  watch(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  version(): Promise<number> {
    return this.#store.run(({ db }) => versionOf(db))
  }

  /**
   * Loads projects, oldest first, and their tokens.
   *
   * @param since - Number of a change: only what has changed after it is loaded. @defaultValue all
   */
  load(since = -1): Promise<ProjectSnapshot> {
    return this.#store.run(async ({ db }) => {
      // First: what changes meanwhile is loaded again.
      const version = await versionOf(db)
      const changed = await changedBetween(db, since, version)
      if (changed?.length === 0) return { version, changed, projects: [], tokens: [] }
      const ids = changed ?? []
      const projects = await selectProjects(db)
        .$if(changed !== undefined, (query) => query.where('id', 'in', ids))
        .orderBy('position')
        .execute()
      const tokens = await db
        .selectFrom('x402_project_tokens')
        .selectAll()
        .where('revoked_at', 'is', null)
        .$if(changed !== undefined, (query) => query.where('project', 'in', ids))
        .execute()
      return { version, changed, projects: projects.map(projectOf), tokens: tokens.map(tokenOf) }
    })
  }

  /** Creates a project. Tokens that its id has had are revoked. */
  createProject(
    { id, settings }: Pick<StoredProject, 'id' | 'settings'>,
    by: ChangeAuthor,
  ): Promise<ChangeOutcome> {
    return this.#change(by, async ({ db, position, at }) => {
      const { numInsertedOrUpdatedRows } = await db
        .insertInto('x402_projects')
        .values({
          id,
          settings: JSON.stringify(settings),
          version: 1,
          position,
          created_at: at,
          updated_at: at,
        })
        .onConflict((conflict) => conflict.column('id').doNothing())
        .executeTakeFirst()
      if (numInsertedOrUpdatedRows !== 1n)
        throw new Undone((await findProject(db, id)) === undefined ? 'deleted' : 'taken')
      await revokeTokens(db, id, at)
      return { action: 'project.created', project: id, after: settings }
    })
  }

  /** Changes a project that still has this version. */
  updateProject(
    { id, settings, version, pausedBy, nextPayTo: next }: ProjectUpdate,
    by: ChangeAuthor,
  ): Promise<ChangeOutcome> {
    return this.#change(by, async (changing) => {
      const before = await findProject(changing.db, id)
      if (before === undefined) throw new Undone('missing')
      if (before.version !== version) throw new Undone('changed')
      const { nextPayTo: waiting } = before
      const planned = typeof next === 'object' && { ...next, at: changing.at + next.afterMs }
      const nextPayTo = next === undefined ? waiting : planned || undefined
      return update(changing, before, { settings, pausedBy, nextPayTo })
    })
  }

  /** Pays a project at the address that has waited for this moment, if there is one. */
  applyNextPayTo({ id, version }: Pick<StoredProject, 'id' | 'version'>): Promise<ChangeOutcome> {
    // Several processes try it at once.
    const by = { actor: 'gateway', change: sha256(`pay_to ${version} ${id}`, 'hex') }
    return this.#change(by, async (changing) => {
      const before = await findProject(changing.db, id)
      if (before === undefined) throw new Undone('missing')
      const { nextPayTo: waiting } = before
      if (waiting === undefined || waiting.at > changing.at) throw new Undone('changed')
      const settings = { ...before.settings, payTo: waiting.payTo }
      return update(changing, before, { settings, pausedBy: before.pausedBy })
    })
  }

  /** Deletes a project and revokes its tokens. Its payments stay. */
  deleteProject(id: string, by: ChangeAuthor): Promise<ChangeOutcome> {
    return this.#change(by, async ({ db, at }) => {
      const project = await findProject(db, id)
      if (project === undefined) throw new Undone('missing')
      await db
        .updateTable('x402_projects')
        .set({ deleted_at: at, updated_at: at })
        .where('id', '=', id)
        .execute()
      await revokeTokens(db, id, at)
      return { action: 'project.deleted', project: id, before: project.settings }
    })
  }

  findProject(id: string): Promise<StoredProject | undefined> {
    return this.#store.run(({ db }) => findProject(db, id))
  }

  /**
   * Creates a token.
   *
   * @param isConfigured - Whether its project is not one of the database.
   * @param most - How many its project may have in use.
   */
  createToken(
    token: NewToken & { readonly isConfigured: boolean; readonly most?: number | undefined },
    by: ChangeAuthor,
  ): Promise<ChangeOutcome> {
    const { id, project, hash, label, scopes, isConfigured } = token
    return this.#change(by, async ({ db, sql, position, at }) => {
      if (!isConfigured && (await findProject(db, project)) === undefined)
        throw new Undone('missing')
      const tokens = (most: number, of: RawBuilder<unknown>) =>
        limited({ db, sql }, 'x402_project_tokens', { project, most, of })
      const { most = Number.MAX_SAFE_INTEGER } = token
      if (await tokens(most, sql`revoked_at IS NULL`).isFull()) throw new Undone('full')
      await db
        .insertInto('x402_project_tokens')
        .values({ id, project, hash, label, scopes: scopes.join(','), position, created_at: at })
        .execute()
      await tokens(MAX_TOKENS, sql`revoked_at IS NOT NULL`).keepNewest()
      return { action: 'token.created', project, token: id, after: { label, scopes } }
    })
  }

  revokeToken(
    { id, project }: Pick<StoredToken, 'id' | 'project'>,
    by: ChangeAuthor,
  ): Promise<ChangeOutcome> {
    return this.#change(by, async ({ db, at }) => {
      const [revoked] = await db
        .updateTable('x402_project_tokens')
        .set({ revoked_at: at })
        .where((where) => where.and({ id, project }))
        .where('revoked_at', 'is', null)
        .returning('label')
        .execute()
      if (revoked === undefined) throw new Undone('missing')
      return { action: 'token.revoked', project, token: id, before: { label: revoked.label } }
    })
  }

  /**
   * Lists the tokens of a project, oldest first. However many were revoked, those in use are among them: nobody hides one
   * behind others.
   */
  listTokens(project: string): Promise<readonly StoredToken[]> {
    return this.#store.run(async ({ db }) => {
      const select = db
        .selectFrom('x402_project_tokens')
        .selectAll()
        .where('project', '=', project)
        .orderBy('position', 'desc')
      const used = await select.where('revoked_at', 'is', null).limit(MAX_TOKENS).execute()
      const left = MAX_TOKENS - used.length
      const revoked = await select.where('revoked_at', 'is not', null).limit(left).execute()
      const rows = [...used, ...revoked]
      return rows
        .toSorted((one, other) => Number(one.position) - Number(other.position))
        .map(tokenOf)
    })
  }

  async noteUse(tokens: readonly string[]): Promise<void> {
    await this.#store.run(({ db, now }) =>
      db
        .updateTable('x402_project_tokens')
        .set({ last_used_at: now })
        .where('id', 'in', tokens)
        .execute(),
    )
  }

  /** Writes an admin's act into the audit log that changes no project, once for each change id. */
  async noteAct(act: AuditedChange, by: ChangeAuthor): Promise<void> {
    await this.#change(by, async () => act)
  }

  listAudit({
    after,
    limit,
    project,
  }: PageQuery & { readonly project?: string | undefined }): Promise<readonly AuditEntry[]> {
    return this.#store.run(async ({ db }) => {
      const rows = await db
        .selectFrom('x402_audit_log')
        .selectAll()
        .$if(after !== undefined, (query) => query.where('position', '<', after ?? 0))
        .$if(project !== undefined, (query) => query.where('project', '=', project ?? ''))
        .orderBy('position', 'desc')
        .limit(limit)
        .execute()
      return rows.map(auditOf)
    })
  }

  async #change(
    by: ChangeAuthor,
    make: (changing: Changing) => Promise<AuditedChange>,
  ): Promise<ChangeOutcome> {
    const outcome = await this.#store.run((database) =>
      makeChange(database, by, async (changing) => {
        const change = await make(changing)
        await this.#channel?.announce(changing.db)
        return change
      }),
    )
    if (outcome === 'done') this.#tell()
    return outcome
  }

  #tell(): void {
    for (const listener of this.#listeners) listener()
  }
}

/** Writes the settings of a project, and tells of another address. */
async function update(
  changing: Changing,
  before: StoredProject,
  after: Pick<StoredProject, 'settings' | 'pausedBy' | 'nextPayTo'>,
): Promise<AuditedChange> {
  const { id, version } = before
  await changing.db
    .updateTable('x402_projects')
    .set({
      settings: JSON.stringify(after.settings),
      paused_by: after.pausedBy ?? null,
      next_pay_to: after.nextPayTo?.payTo ?? null,
      next_pay_to_at: after.nextPayTo?.at ?? null,
      version: version + 1,
      updated_at: changing.at,
    })
    .where('id', '=', id)
    .execute()
  await tellPayTo(changing, before, after)
  const changed = differenceOf(auditedOf(before), auditedOf(after))
  return { action: 'project.updated', project: id, ...changed }
}
