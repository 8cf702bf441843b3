import {
  MAX_ENDPOINTS,
  type EndpointChange,
  type SecretRotation,
  type WebhookEndpoint,
  type WebhookEndpoints,
} from '../webhook-store.js'
import type { SqlStore } from './sql-store.js'
import { endpointOf, eventsColumn } from './webhook-rows.js'

/** Endpoints of webhooks, in the ledger's database. */
export class SqlWebhookEndpoints implements WebhookEndpoints {
  readonly #store: Pick<SqlStore, 'run'>

  constructor(store: Pick<SqlStore, 'run'>) {
    this.#store = store
  }

  async create(
    endpoint: Parameters<WebhookEndpoints['create']>[0],
  ): Promise<WebhookEndpoint | undefined> {
    const { id, project, url, events, secret } = endpoint
    await this.#store.run(({ db, now }) =>
      db
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
        .onConflict((conflict) => conflict.column('id').doNothing())
        .execute(),
    )
    // Counted afterwards: of those that are created at the same time, too many are taken back, never too few.
    const all = await this.list(project)
    if (all.length <= MAX_ENDPOINTS) return all.find((one) => one.id === id)
    await this.delete(project, id)
    return undefined
  }

  list(project: string): Promise<readonly WebhookEndpoint[]> {
    return this.#store.run(async ({ db }) => {
      const rows = await db
        .selectFrom('x402_webhook_endpoints')
        .selectAll()
        .where('project', '=', project)
        .orderBy('created_at')
        .orderBy('id')
        .execute()
      return rows.map((row) => endpointOf(row))
    })
  }

  find(project: string, id: string): Promise<WebhookEndpoint | undefined> {
    return this.#store.run(async ({ db }) => {
      const row = await db
        .selectFrom('x402_webhook_endpoints')
        .selectAll()
        .where('project', '=', project)
        .where('id', '=', id)
        .executeTakeFirst()
      return row && endpointOf(row)
    })
  }

  change(
    project: string,
    id: string,
    { url, events }: EndpointChange,
  ): Promise<WebhookEndpoint | undefined> {
    return this.#store.run(async ({ db, now }) => {
      const row = await db
        .updateTable('x402_webhook_endpoints')
        .set({
          ...(url !== undefined && { url }),
          ...(events !== undefined && { events: eventsColumn(events) }),
          updated_at: now,
        })
        .where('project', '=', project)
        .where('id', '=', id)
        .returningAll()
        .executeTakeFirst()
      return row && endpointOf(row)
    })
  }

  rotate(
    project: string,
    id: string,
    { secret, previousForMs }: SecretRotation,
  ): Promise<WebhookEndpoint | undefined> {
    return this.#store.run(async ({ db, now, plus }) => {
      await db
        .updateTable('x402_webhook_endpoints')
        .set((set) => ({
          secret,
          previous_secret: set.ref('secret'),
          previous_until: plus(previousForMs),
          updated_at: now,
        }))
        .where('project', '=', project)
        .where('id', '=', id)
        // The statement may run twice.
        .where('secret', '!=', secret)
        .execute()
      return this.find(project, id)
    })
  }

  delete(project: string, id: string): Promise<boolean> {
    return this.#store.run(async ({ db }) => {
      const { numDeletedRows } = await db
        .deleteFrom('x402_webhook_endpoints')
        .where('project', '=', project)
        .where('id', '=', id)
        .executeTakeFirst()
      if (numDeletedRows > 0n)
        await db.deleteFrom('x402_webhook_deliveries').where('endpoint', '=', id).execute()
      return numDeletedRows > 0n
    })
  }
}
