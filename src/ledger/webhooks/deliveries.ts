import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Selectable } from 'kysely'
import {
  CLAIM_MS,
  KEPT_MS,
  type AttemptOutcome,
  type ClaimedDelivery,
  type DeliveryQuery,
  type WebhookDelivery,
  type WebhookEndpoint,
} from '../webhooks.js'
import { newDeliveryId } from './delivery-id.js'
import { byDatabase, type Statement } from '../engine/dialect.js'
import type { Records } from '../payments/records.js'
import type { SqlDatabase, SqlStore } from '../engine/store.js'
import { StatementGroup } from '../engine/statement-group.js'
import { claimedOf, conclusionOf, deliveryOf, endpointOf, type ClaimedRow } from './rows.js'
import type { WebhookEndpointRow } from '../schema/webhook-schema.js'

/** Deliveries that one statement forgets. Others wait for it. */
const PRUNED_AT_ONCE = 500

/** Endpoints that one statement looks up. */
const NAMED_AT_ONCE = 500

const IS_DUE = (now: string): string => `a.state = 'pending' AND a.next_at <= (SELECT ${now})`

/** Selects the endpoints that have deliveries, by one look-up in an index for each. */
const endpointsIn = (where: string): string =>
  `WITH RECURSIVE named(endpoint) AS (
    SELECT * FROM (SELECT a.endpoint FROM x402_webhook_deliveries AS a
      WHERE ${where} AND a.endpoint > '' ORDER BY a.endpoint LIMIT 1) AS first
    UNION ALL
    SELECT (SELECT a.endpoint FROM x402_webhook_deliveries AS a
      WHERE ${where} AND a.endpoint > named.endpoint ORDER BY a.endpoint LIMIT 1)
    FROM named WHERE named.endpoint IS NOT NULL)
  SELECT endpoint FROM named WHERE endpoint IS NOT NULL`

const NAME_DUE: Statement = ({ now }) =>
  `${endpointsIn(`a.state = 'pending'`)} AND EXISTS (
    SELECT 1 FROM x402_webhook_deliveries AS a WHERE a.endpoint = named.endpoint AND ${IS_DUE(now)})`

const NAME_ALL: Statement = () => endpointsIn('a.id IS NOT NULL')

/** A later event of a payment waits for the earlier ones. */
const IS_NEXT = `NOT EXISTS (
      SELECT 1 FROM x402_webhook_deliveries AS before
      WHERE before.payment = a.payment AND before.endpoint = a.endpoint
        AND before.version < a.version AND before.state = 'pending')`

/** A claim moves the time at which a delivery is due: it lapses by itself. */
const CLAIM: Statement = byDatabase({
  // Gateways that look at the same moment take different deliveries.
  postgres: (now) => `
   WITH due AS (
     SELECT a.id FROM x402_webhook_deliveries AS a
     WHERE a.endpoint = $1 AND ${IS_DUE(now)} AND ${IS_NEXT}
     ORDER BY a.next_at, a.id LIMIT $2 FOR UPDATE OF a SKIP LOCKED)
   UPDATE x402_webhook_deliveries SET claim = $3, next_at = ${now} + ${CLAIM_MS}
   WHERE id IN (SELECT id FROM due) RETURNING *, ${now} AS now`,

  sqlite: (now) => `
   WITH due AS (
     SELECT a.id FROM x402_webhook_deliveries AS a
     WHERE a.endpoint = ? AND ${IS_DUE(now)} AND ${IS_NEXT}
     ORDER BY a.next_at, a.id LIMIT ?)
   UPDATE x402_webhook_deliveries SET claim = ?, next_at = ${now} + ${CLAIM_MS}
   WHERE id IN (SELECT id FROM due) RETURNING *, ${now} AS now`,
})

const CONCLUDE: Statement = ({ now, rows }) => {
  const columns = {
    id: 'text',
    claim: 'text',
    state: 'text',
    error: 'text',
    response: 'text',
  } as const
  const numbers = { attempted: 'bigint', after_ms: 'bigint', status: 'bigint' } as const
  return `WITH w AS (SELECT * FROM ${rows({ ...columns, ...numbers })})
    UPDATE x402_webhook_deliveries AS a SET state = w.state, claim = NULL, attempts = a.attempts + w.attempted,
      next_at = ${now} + w.after_ms,
      delivered_at = CASE w.state WHEN 'delivered' THEN ${now} ELSE a.delivered_at END,
      last_status = CASE w.attempted WHEN 1 THEN w.status ELSE a.last_status END,
      last_error = CASE w.attempted WHEN 1 THEN w.error ELSE a.last_error END,
      last_response = CASE w.attempted WHEN 1 THEN w.response ELSE a.last_response END
    FROM w WHERE a.id = w.id AND a.claim = w.claim`
}

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

  /** Endpoints with a delivery that is due. */
  listDue(): Promise<readonly WebhookEndpoint[]> {
    return this.#store.run(async (database) => {
      const names = await namesBy(NAME_DUE, database)
      return (await findEndpoints(database, names)).map(endpointOf)
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
      const ids = rows.flatMap(({ payment }) => payment ?? [])
      const records = ids.length > 0 ? await this.#records.rowsById(database, ids) : new Map()
      return rows.map((row) => {
        const record = this.#records.recordOf(records.get(row.payment ?? ''))
        return claimedOf(row, claim, record)
      })
    })
  }

  /** Records the result of an attempt, unless the claim has lapsed and another process has taken it. */
  async conclude({ id, claim }: ClaimedDelivery, outcome: AttemptOutcome): Promise<void> {
    const { state, ...changed } = conclusionOf(outcome)
    await this.#conclusions.add({ id, claim, state, ...changed })
  }

  /** Adds a delivery that is not about a payment. */
  add({ endpoint, type, data }: NewDelivery): Promise<WebhookDelivery> {
    const id = newDeliveryId()
    return this.#store.run(async (database) => {
      const { db, now } = database
      await db
        .insertInto('x402_webhook_deliveries')
        .values({
          ...{ id, type, endpoint: endpoint.id, project: endpoint.project },
          ...{ data: JSON.stringify(data), state: 'pending', attempts: 0 },
          ...{ next_at: now, retry_from: now, created_at: now },
        })
        .onConflict((conflict) => conflict.column('id').doNothing())
        .execute()
      return findDelivery(database, id)
    })
  }

  list({
    project,
    endpoint,
    state,
    after,
    limit,
  }: DeliveryQuery): Promise<readonly WebhookDelivery[]> {
    return this.#store.run(async ({ db }) => {
      let select = db
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
      return rows.map(deliveryOf)
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

  /** Deletes deliveries that succeeded, or were given up, long ago. */
  async prune(): Promise<void> {
    while ((await this.#store.run(prunePage)) === PRUNED_AT_ONCE) await nextTurn()
    await this.#store.run(dropOrphans)
  }
}

async function findDelivery({ db }: SqlDatabase, id: string): Promise<WebhookDelivery> {
  const row = await db
    .selectFrom('x402_webhook_deliveries')
    .selectAll()
    .where('id', '=', id)
    .executeTakeFirstOrThrow()
  return deliveryOf(row)
}

/**
 * Forgets finished deliveries of long ago. Those of a failed payment stay, because their versions go on if
 * it is paid after all.
 */
const PRUNE: Statement = ({ now, fromDigits }) =>
  `DELETE FROM x402_webhook_deliveries WHERE id IN (
    SELECT d.id FROM x402_webhook_deliveries AS d
    WHERE d.state <> 'pending' AND d.created_at < (SELECT ${now} - ${KEPT_MS}) AND NOT EXISTS (
      SELECT 1 FROM x402_authorizations AS a WHERE a.id = ${fromDigits('d.payment')} AND a.state = 'failed')
    LIMIT ${PRUNED_AT_ONCE})
  RETURNING id`

async function prunePage({ run }: SqlDatabase): Promise<number> {
  return (await run(PRUNE, [])).length
}

async function namesBy(statement: Statement, { run }: SqlDatabase): Promise<readonly string[]> {
  const rows = (await run(statement, [])) as readonly { readonly endpoint: string }[]
  return rows.map(({ endpoint }) => endpoint)
}

async function findEndpoints({ db }: SqlDatabase, ids: readonly string[]) {
  const found: Selectable<WebhookEndpointRow>[] = []
  for (let start = 0; start < ids.length; start += NAMED_AT_ONCE) {
    const some = ids.slice(start, start + NAMED_AT_ONCE)
    const query = db.selectFrom('x402_webhook_endpoints').selectAll().where('id', 'in', some)
    found.push(...(await query.execute()))
  }
  return found
}

/** Forgets the deliveries of endpoints that were deleted while an event was written. */
async function dropOrphans(database: SqlDatabase): Promise<void> {
  const names = await namesBy(NAME_ALL, database)
  const known = new Set((await findEndpoints(database, names)).map(({ id }) => id))
  for (const gone of names.filter((name) => !known.has(name)))
    await database.db.deleteFrom('x402_webhook_deliveries').where('endpoint', '=', gone).execute()
}
