import type { Kysely } from 'kysely'
import type { AuditAction, ChangeAuthor } from '../projects.js'
import {
  auditedEndpoint,
  DECLARED,
  declaredIdOf,
  MAX_ENDPOINTS,
  type DeclaredEndpoint,
  type EndpointChange,
  type SecretRotation,
  type WebhookEndpoint,
} from '../webhooks.js'
import { makeChange, Undone } from '../projects/changes.js'
import { takeTurn } from '../projects/limited.js'
import type { LedgerDatabase, Row } from '../schema/tables.js'
import type { SqlDatabase, SqlStore } from '../engine/store.js'
import { endpointOf, eventsColumn } from './rows.js'

/** Projects that one statement looks up. */
const PROJECTS_AT_ONCE = 500

/** An endpoint before and after a change. */
interface Changed {
  readonly before?: WebhookEndpoint | undefined
  readonly after?: WebhookEndpoint | undefined
}

/** Endpoints of webhooks, in the ledger's database. */
export class WebhookEndpoints {
  readonly #store: SqlStore
  readonly #author: ChangeAuthor | undefined

  /** @param author - The admin who makes a change; absent for changes by projects. */
  constructor(store: SqlStore, author?: ChangeAuthor) {
    this.#store = store
    this.#author = author
  }

  /**
   * The same endpoints for one change by an admin, which is written into the audit log with it: both are
   * there or neither, and a change that is tried twice is made once.
   */
  by(author: ChangeAuthor): WebhookEndpoints {
    return new WebhookEndpoints(this.#store, author)
  }

  /** @returns `undefined` if the project has {@link MAX_ENDPOINTS}. */
  create(
    endpoint: Omit<WebhookEndpoint, 'previous' | 'createdAt' | 'updatedAt'>,
  ): Promise<WebhookEndpoint | undefined> {
    const { id, project, url, events, secret } = endpoint
    return this.#change('webhook.created', { project, id }, async (database) => {
      const { db, now } = database
      await takeTurn(database, project)
      const all = await listOf(db, project)
      const known = all.find((one) => one.id === id)
      if (known !== undefined || all.length >= MAX_ENDPOINTS) return known && { after: known }
      const row = await db
        .insertInto('x402_webhook_endpoints')
        .values({
          id,
          project,
          url,
          secret,
          events: eventsColumn(events),
          created_at: now,
          updated_at: now,
        })
        .returningAll()
        .executeTakeFirstOrThrow()
      return { after: endpointOf(row) }
    })
  }

  /** Oldest first. */
  list(project: string): Promise<readonly WebhookEndpoint[]> {
    return this.#store.run(({ db }) => listOf(db, project))
  }

  find(project: string, id: string): Promise<WebhookEndpoint | undefined> {
    return this.#store.run(({ db }) => findOne(db, project, id))
  }

  /** @returns `undefined` if the project has no such endpoint, as for the methods below. */
  change(
    project: string,
    id: string,
    { url, events }: EndpointChange,
  ): Promise<WebhookEndpoint | undefined> {
    return this.#change('webhook.updated', { project, id }, async ({ db, now }) => {
      const before = await findOne(db, project, id)
      const row = await db
        .updateTable('x402_webhook_endpoints')
        .set({
          ...(url !== undefined && { url }),
          ...(events !== undefined && { events: eventsColumn(events) }),
          updated_at: now,
        })
        .where((where) => where.and({ id, project }))
        .returningAll()
        .executeTakeFirst()
      return row && { before, after: endpointOf(row) }
    })
  }

  rotate(
    project: string,
    id: string,
    { secret, previousForMs }: SecretRotation,
  ): Promise<WebhookEndpoint | undefined> {
    return this.#change('webhook.secret_rotated', { project, id }, async ({ db, now, plus }) => {
      await db
        .updateTable('x402_webhook_endpoints')
        .set((set) => ({
          secret,
          previous_secret: set.ref('secret'),
          previous_until: plus(previousForMs),
          updated_at: now,
        }))
        .where((where) => where.and({ id, project }))
        // The statement may run twice.
        .where('secret', '!=', secret)
        .execute()
      const after = await findOne(db, project, id)
      return after && { after }
    })
  }

  /** Deletes an endpoint with its deliveries. @returns Whether there was one. */
  async delete(project: string, id: string): Promise<boolean> {
    let isDeleted = false
    await this.#change('webhook.deleted', { project, id }, async ({ db }) => {
      const before = await deleteFrom(db, project, id)
      isDeleted = before !== undefined
      return before && { before }
    })
    return isDeleted
  }

  /**
   * Makes declared endpoints what the configuration says, and deletes those of its projects that it no longer
   * declares. Processes do so in turn. Registered endpoints stay, however many there are. An endpoint that takes
   * another's place with its secret, as where a URL was corrected, takes its deliveries too.
   *
   * @returns Those that were deleted with their deliveries.
   */
  declare(
    projects: readonly string[],
    declared: readonly DeclaredEndpoint[],
  ): Promise<readonly WebhookEndpoint[]> {
    return this.#store.transact(async (database) => {
      const { db, now } = database
      await takeTurn(database, DECLARED)
      const table = 'x402_webhook_endpoints'
      const before: Row<'x402_webhook_endpoints'>[] = []
      for (let start = 0; start < projects.length; start += PROJECTS_AT_ONCE)
        before.push(
          ...(await db
            .selectFrom(table)
            .selectAll()
            .where('project', 'in', projects.slice(start, start + PROJECTS_AT_ONCE))
            .where('id', 'like', `${DECLARED}%`)
            .execute()),
        )
      for (const { project, url, events, secret } of declared) {
        const given = { events: eventsColumn(events), secret, updated_at: now }
        const id = declaredIdOf({ project, url })
        await db
          .insertInto(table)
          .values({ id, project, url, ...given, created_at: now })
          .onConflict((conflict) =>
            conflict
              .column('id')
              .doUpdateSet(given)
              .where((where) =>
                where.or([
                  where(`${table}.events`, '!=', given.events),
                  where(`${table}.secret`, '!=', secret),
                ]),
              ),
          )
          .execute()
      }
      const ids = new Set(declared.map(declaredIdOf))
      const gone = before.filter(({ id }) => !ids.has(id))
      const added = declared.filter((one) => !before.some(({ id }) => id === declaredIdOf(one)))
      const deleted: WebhookEndpoint[] = []
      for (const row of gone) {
        const { id, project, secret } = row
        const successor = added.find((one) => one.project === project && one.secret === secret)
        if (successor === undefined) deleted.push(endpointOf(row))
        else
          await db
            .updateTable('x402_webhook_deliveries')
            .set({ endpoint: declaredIdOf(successor), next_at: now })
            .where('endpoint', '=', id)
            .execute()
        await deleteFrom(db, project, id)
      }
      return deleted
    })
  }

  /**
   * Changes an endpoint in one transaction; with an author, with its entry of the audit log.
   *
   * @param make - Makes the change. It returns `undefined` if there is nothing to change.
   * @returns The endpoint as it is then, if it is there.
   */
  #change(
    action: AuditAction,
    { project, id }: Pick<WebhookEndpoint, 'project' | 'id'>,
    make: (database: SqlDatabase) => Promise<Changed | undefined>,
  ): Promise<WebhookEndpoint | undefined> {
    const author = this.#author
    if (author === undefined)
      return this.#store.transact(async (database) => (await make(database))?.after)
    return this.#store.run(async (database) => {
      const outcome = await makeChange(database, author, async ({ db }) => {
        const changed = await make({ ...database, db })
        if (changed === undefined) throw new Undone('missing')
        const [before, after] = [changed.before, changed.after].map(
          (one) => one && auditedEndpoint(one),
        )
        return { project, action, before, after }
      })
      return outcome === 'done' ? findOne(database.db, project, id) : undefined
    })
  }
}

async function listOf(
  db: Kysely<LedgerDatabase>,
  project: string,
): Promise<readonly WebhookEndpoint[]> {
  const rows = await db
    .selectFrom('x402_webhook_endpoints')
    .selectAll()
    .where('project', '=', project)
    .orderBy('created_at')
    .orderBy('id')
    .execute()
  return rows.map((row) => endpointOf(row))
}

async function findOne(
  db: Kysely<LedgerDatabase>,
  project: string,
  id: string,
): Promise<WebhookEndpoint | undefined> {
  const row = await db
    .selectFrom('x402_webhook_endpoints')
    .selectAll()
    .where((where) => where.and({ id, project }))
    .executeTakeFirst()
  return row && endpointOf(row)
}

/** Deletes an endpoint with its deliveries. */
async function deleteFrom(
  db: Kysely<LedgerDatabase>,
  project: string,
  id: string,
): Promise<WebhookEndpoint | undefined> {
  const row = await db
    .deleteFrom('x402_webhook_endpoints')
    .where((where) => where.and({ id, project }))
    .returningAll()
    .executeTakeFirst()
  if (row === undefined) return undefined
  await db.deleteFrom('x402_webhook_deliveries').where('endpoint', '=', id).execute()
  return endpointOf(row)
}
