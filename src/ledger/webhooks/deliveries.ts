import {
  newDeliveryId,
  type AttemptOutcome,
  type ClaimedDelivery,
  type DeliveryQuery,
  type FailingWebhook,
  type WebhookDelivery,
  type WebhookEndpoint,
} from '../webhooks.js'
import type { Records } from '../payments/records.js'
import type { SqlDatabase, SqlStore } from '../engine/store.js'
import { StatementGroup } from '../engine/statement-group.js'
import { conclusionOf, deliveryOf, endpointOf, insertDelivery, type ClaimedRow } from './rows.js'
import {
  CLAIM,
  CONCLUDE,
  DROP_ORPHANS,
  GIVE_UP,
  NAME_DUE,
  NAME_FAILING,
  PRUNE,
  PRUNED_AT_ONCE,
} from './statements.js'
import { world } from '../../shared/world.js'

/** Endpoints that one statement looks up. */
const NAMED_AT_ONCE = 500

/** PostgreSQL's driver reads times as text. */
type FailingRow = Omit<FailingWebhook, 'since'> & { readonly since: number | string }

/** A delivery that is not about a payment. */
interface NewDelivery {
  readonly endpoint: WebhookEndpoint
  readonly type: string
  readonly data: object
}

/** Deliveries of webhooks, in the ledger's database. Its triggers write those that report payments. */
export class WebhookDeliveries {
  readonly #store: SqlStore
  readonly #records: Records
  readonly #newName: () => string
  readonly #conclusions: StatementGroup<object, undefined>

  /** @param newName - Returns a name for a claim, which no other has. */
  constructor(store: SqlStore, records: Records, newName: () => string) {
    this.#store = store
    this.#records = records
    this.#newName = newName
    this.#conclusions = new StatementGroup(store, async ({ run }, members) => {
      await run(CONCLUDE, [JSON.stringify(members)])
      return members.map(() => undefined)
    })
  }

  /** Endpoints with a delivery that is due, without those that rest. */
  listDue(rests = (_endpoint: string) => false): Promise<readonly WebhookEndpoint[]> {
    return this.#store.run(async ({ db, run }) => {
      const named = (await run(NAME_DUE, [])) as readonly { readonly endpoint: string }[]
      const due = named.filter(({ endpoint }) => !rests(endpoint))
      const endpoints: WebhookEndpoint[] = []
      for (let start = 0; start < due.length; start += NAMED_AT_ONCE) {
        const ids = due.slice(start, start + NAMED_AT_ONCE).map(({ endpoint }) => endpoint)
        const query = db.selectFrom('x402_webhook_endpoints').selectAll().where('id', 'in', ids)
        endpoints.push(...(await query.execute()).map(endpointOf))
      }
      return endpoints
    })
  }

  /**
   * Claims due deliveries of an endpoint, those that wait longest first. A later event of a payment is not
   * claimed while an earlier one is pending.
   */
  claim(endpoint: string, limit: number): Promise<readonly ClaimedDelivery[]> {
    const claim = this.#newName()
    return this.#store.run(async (database) => {
      const rows = (await database.run(CLAIM, [endpoint, limit, claim])) as readonly ClaimedRow[]
      const recordOf = await this.#recordsOf(database, rows)
      return rows.map((row) => {
        const ageMs = Number(row.now) - Number(row.retry_from)
        return { ...deliveryOf(row, recordOf(row)), claim, ageMs }
      })
    })
  }

  async #recordsOf(database: SqlDatabase, rows: ReadonlyArray<Pick<ClaimedRow, 'payment'>>) {
    const ids = rows.flatMap(({ payment }) => payment ?? [])
    const records = ids.length > 0 ? await this.#records.rowsById(database, ids) : new Map()
    return ({ payment }: (typeof rows)[number]) =>
      this.#records.recordOf(records.get(payment ?? ''))
  }

  /** Records the result of an attempt, unless the claim has lapsed and another process has taken it. */
  async conclude({ id, claim }: ClaimedDelivery, outcome: AttemptOutcome): Promise<void> {
    await this.#conclusions.add({ id, claim, ...conclusionOf(outcome) })
  }

  /** Adds a delivery that is not about a payment. */
  add({ endpoint, type, data }: NewDelivery): Promise<WebhookDelivery> {
    const id = newDeliveryId()
    return this.#store.run(async ({ db, now }) => {
      const { id: endpointId, project } = endpoint
      await insertDelivery({ db, now }, { id, endpoint: endpointId, project, type, data })
      const row = await db
        .selectFrom('x402_webhook_deliveries')
        .selectAll()
        .where('id', '=', id)
        .executeTakeFirstOrThrow()
      return deliveryOf(row)
    })
  }

  list({
    project,
    endpoint,
    state,
    after,
    limit,
  }: DeliveryQuery): Promise<readonly WebhookDelivery[]> {
    return this.#store.run(async (database) => {
      let select = database.db
        .selectFrom('x402_webhook_deliveries')
        .selectAll()
        .where('endpoint', '=', endpoint)
        .where('project', '=', project)
      if (state !== undefined) select = select.where('state', '=', state)
      if (after !== undefined)
        select = select.where((where) =>
          where(where.refTuple('created_at', 'id'), '<', where.tuple(after.createdAt, after.id)),
        )
      const rows = await select
        .orderBy('created_at', 'desc')
        .orderBy('id', 'desc')
        .limit(limit)
        .execute()
      const recordOf = await this.#recordsOf(database, rows)
      return rows.map((row) => deliveryOf(row, recordOf(row)))
    })
  }

  /** Webhooks to which nothing could be delivered for so long (ms), those that fail longest first. */
  listFailing(forMs: number): Promise<readonly FailingWebhook[]> {
    return this.#store.run(async ({ run }) => {
      const rows = (await run(NAME_FAILING, [forMs])) as readonly FailingRow[]
      return rows.map((row) => ({ ...row, since: Number(row.since) }))
    })
  }

  /**
   * Makes a delivery due now, for three more days. One that is being attempted stays as it is.
   *
   * @returns `undefined` if the endpoint of this project has no such delivery.
   */
  resend(
    { project, id: endpoint }: Pick<WebhookEndpoint, 'project' | 'id'>,
    id: string,
  ): Promise<WebhookDelivery | undefined> {
    return this.#store.run(async ({ db, now }) => {
      await db
        .updateTable('x402_webhook_deliveries')
        .set({ state: 'pending', attempts: 0, next_at: now, retry_from: now })
        .where((where) => where.and({ id, endpoint, project }))
        .where('claim', 'is', null)
        .execute()
      const row = await db
        .selectFrom('x402_webhook_deliveries')
        .selectAll()
        .where((where) => where.and({ id, endpoint, project }))
        .executeTakeFirst()
      return row && deliveryOf(row)
    })
  }

  /** Gives up what an endpoint was not given for so long (ms). */
  async giveUp(endpoint: string, forMs: number, error: string): Promise<void> {
    const givePage = () => this.#store.run(({ run }) => run(GIVE_UP, [error, endpoint, forMs]))
    while ((await givePage()).length === PRUNED_AT_ONCE) await world.nextTurn()
  }

  /** Deletes deliveries that succeeded, or were given up, long ago. */
  async prune(): Promise<void> {
    const prunePage = () => this.#store.run(({ run }) => run(PRUNE, []))
    while ((await prunePage()).length === PRUNED_AT_ONCE) await world.nextTurn()
    await this.#store.run(({ run }) => run(DROP_ORPHANS, []))
  }
}
