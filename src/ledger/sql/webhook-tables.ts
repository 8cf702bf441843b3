import type * as KyselyModule from 'kysely'
import type { Kysely } from 'kysely'
import type { LedgerDatabase } from './schema.js'
import { createWebhookTrigger } from './webhook-triggers.js'

/** The migration `0018_webhooks`: as every one that was published, it is never edited. */
export async function createWebhookTables(
  db: Kysely<LedgerDatabase>,
  kysely: typeof KyselyModule,
): Promise<void> {
  const { sql } = kysely
  await db.schema
    .createTable('x402_webhook_endpoints')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('project', 'text', (column) => column.notNull())
    .addColumn('url', 'text', (column) => column.notNull())
    .addColumn('events', 'text', (column) => column.notNull())
    .addColumn('secret', 'text', (column) => column.notNull())
    .addColumn('previous_secret', 'text')
    .addColumn('previous_until', 'bigint')
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('updated_at', 'bigint', (column) => column.notNull())
    .execute()
  await sql`CREATE INDEX x402_webhook_endpoints_project ON x402_webhook_endpoints (project)`.execute(
    db,
  )
  await createDeliveries(db, kysely)
  await createWebhookTrigger(db, kysely)
}

/** The table of deliveries of webhooks. */
async function createDeliveries(
  db: Kysely<LedgerDatabase>,
  { sql }: typeof KyselyModule,
): Promise<void> {
  await db.schema
    .createTable('x402_webhook_deliveries')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('endpoint', 'text', (column) => column.notNull())
    .addColumn('project', 'text', (column) => column.notNull())
    .addColumn('type', 'text', (column) => column.notNull())
    .addColumn('payment', 'text')
    .addColumn('version', 'integer')
    .addColumn('payment_state', 'text')
    .addColumn('transaction_hash', 'text')
    .addColumn('reason', 'text')
    .addColumn('payment_at', 'bigint')
    .addColumn('data', 'text')
    .addColumn('state', 'text', (column) => column.notNull())
    .addColumn('attempts', 'integer', (column) => column.notNull())
    .addColumn('next_at', 'bigint', (column) => column.notNull())
    .addColumn('retry_from', 'bigint', (column) => column.notNull())
    .addColumn('claim', 'text')
    .addColumn('last_status', 'integer')
    .addColumn('last_error', 'text')
    .addColumn('last_response', 'text')
    .addColumn('delivered_at', 'bigint')
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .execute()
  const index = (name: string, columns: string): Promise<unknown> =>
    sql
      .raw(`CREATE INDEX x402_webhook_deliveries_${name} ON x402_webhook_deliveries ${columns}`)
      .execute(db)
  await index('due', `(endpoint, next_at) WHERE state = 'pending'`)
  await index('claimed', '(claim) WHERE claim IS NOT NULL')
  await index('payment', '(payment, endpoint, version)')
  await index('listed', '(endpoint, created_at, id)')
  await index('age', `(created_at) WHERE state <> 'pending'`)
}

/** The migration `0020_relayer_alerts`: the relayers that an alert was sent about. */
export async function createRelayerAlerts(db: Kysely<LedgerDatabase>): Promise<void> {
  await db.schema
    .createTable('x402_relayer_alerts')
    .addColumn('chain_id', 'bigint', (column) => column.notNull())
    .addColumn('relayer', 'text', (column) => column.notNull())
    .addColumn('balance', 'text', (column) => column.notNull())
    .addColumn('told_at', 'bigint', (column) => column.notNull())
    .addPrimaryKeyConstraint('x402_relayer_alerts_key', ['chain_id', 'relayer'])
    .execute()
}
