/** Converts endpoints and deliveries of webhooks to rows and back. */
import type { LedgerRecord } from '../record.js'
import {
  recordAsOf,
  type AttemptOutcome,
  type WebhookDelivery,
  type WebhookEndpoint,
  type WebhookEvent,
} from '../webhooks.js'
import type { SqlDatabase } from '../engine/store.js'
import type { Row } from '../schema/tables.js'

/** A delivery that was just claimed, with the database's time. */
export type ClaimedRow = Row<'x402_webhook_deliveries'> & { readonly now: number | string }

/** A delivery that is not about a payment. */
interface NewDelivery extends Pick<WebhookDelivery, 'id' | 'endpoint' | 'project' | 'type'> {
  readonly data: object
}

/** Writes a delivery that is due now. It may run twice. */
export async function insertDelivery(
  { db, now }: Pick<SqlDatabase, 'db' | 'now'>,
  { data, ...delivery }: NewDelivery,
): Promise<void> {
  const due = { state: 'pending' as const, attempts: 0, next_at: now }
  await db
    .insertInto('x402_webhook_deliveries')
    .values({ ...delivery, ...due, data: JSON.stringify(data), retry_from: now, created_at: now })
    .onConflict((conflict) => conflict.column('id').doNothing())
    .execute()
}

export function endpointOf(row: Row<'x402_webhook_endpoints'>): WebhookEndpoint {
  const { id, project, url, secret, previous_secret: previous } = row
  return {
    id,
    project,
    url,
    secret,
    events: row.events.split(',').filter(Boolean) as WebhookEvent[],
    ...(previous !== null && { previous: { secret: previous, until: Number(row.previous_until) } }),
    createdAt: Number(row.created_at),
    updatedAt: Number(row.updated_at),
  }
}

/** Each name is between commas, so that the trigger finds it. */
export function eventsColumn(events: readonly WebhookEvent[]): string {
  return `,${events.join(',')},`
}

/** Pattern of {@link eventsColumn} where an endpoint wants an event. */
export const wanting = (type: WebhookEvent): string => `%,${type},%`

/** Ids of a project's endpoints that want an event. */
export async function endpointsWanting(
  { db }: SqlDatabase,
  project: string,
  type: WebhookEvent,
): Promise<readonly string[]> {
  const endpoints = await db
    .selectFrom('x402_webhook_endpoints')
    .select('id')
    .where('project', '=', project)
    .where('events', 'like', wanting(type))
    .execute()
  return endpoints.map(({ id }) => id)
}

/** The columns that the outcome of an attempt changes. */
export function conclusionOf(outcome: AttemptOutcome) {
  switch (outcome.kind) {
    case 'delivered':
      return { state: 'delivered', attempted: 1, after_ms: 0, status: outcome.status }
    case 'returned':
      return { state: 'pending', attempted: 0, after_ms: 0 }
    case 'retry':
    case 'failed': {
      const { error, status, response } = outcome
      const isOver = outcome.kind === 'failed'
      const after_ms = isOver ? 0 : Math.ceil(outcome.afterMs)
      const state = isOver ? 'failed' : 'pending'
      return { state, attempted: 1, after_ms, error, status, response }
    }
  }
}

/** Converts a row to a delivery. @param record - Of its payment, as it is now. */
export function deliveryOf(
  row: Row<'x402_webhook_deliveries'>,
  record?: LedgerRecord,
): WebhookDelivery {
  const { id, endpoint, project, type, payment, version, state, attempts } = row
  return {
    id,
    endpoint,
    project,
    type,
    state,
    attempts,
    ...(payment !== null && { payment }),
    ...(version !== null && { version }),
    nextAttemptAt: Number(row.next_at),
    createdAt: Number(row.created_at),
    ...(row.delivered_at !== null && { deliveredAt: Number(row.delivered_at) }),
    ...(row.last_status !== null && { lastStatus: row.last_status }),
    ...(row.last_error !== null && { lastError: row.last_error }),
    ...(row.last_response !== null && { lastResponse: row.last_response }),
    ...(record && {
      record: recordAsOf(record, {
        state: row.payment_state,
        transaction: row.transaction_hash,
        reason: row.reason,
        updatedAt: Number(row.payment_at),
      }),
    }),
    ...(row.data !== null && { data: JSON.parse(row.data) as object }),
  }
}
