import { primary, required, type MigrationContext } from './migration.js'
import { createWebhookTrigger } from './webhook-triggers.js'

/** The migration `0018_webhooks`: as every one that was published, it is never edited. */
export async function createWebhookTables(context: MigrationContext): Promise<void> {
  const { db, run } = context
  await db.schema
    .createTable('x402_webhook_endpoints')
    .addColumn('id', 'text', primary)
    .addColumn('project', 'text', required)
    .addColumn('url', 'text', required)
    .addColumn('events', 'text', required)
    .addColumn('secret', 'text', required)
    .addColumn('previous_secret', 'text')
    .addColumn('previous_until', 'bigint')
    .addColumn('created_at', 'bigint', required)
    .addColumn('updated_at', 'bigint', required)
    .execute()
  await run('CREATE INDEX x402_webhook_endpoints_project ON x402_webhook_endpoints (project)')
  await createDeliveries(context)
  await createWebhookTrigger(context)
}

/** The table of deliveries of webhooks. */
async function createDeliveries({ db, run }: MigrationContext): Promise<void> {
  await db.schema
    .createTable('x402_webhook_deliveries')
    .addColumn('id', 'text', primary)
    .addColumn('endpoint', 'text', required)
    .addColumn('project', 'text', required)
    .addColumn('type', 'text', required)
    .addColumn('payment', 'text')
    .addColumn('version', 'integer')
    .addColumn('payment_state', 'text')
    .addColumn('transaction_hash', 'text')
    .addColumn('reason', 'text')
    .addColumn('payment_at', 'bigint')
    .addColumn('data', 'text')
    .addColumn('state', 'text', required)
    .addColumn('attempts', 'integer', required)
    .addColumn('next_at', 'bigint', required)
    .addColumn('retry_from', 'bigint', required)
    .addColumn('claim', 'text')
    .addColumn('last_status', 'integer')
    .addColumn('last_error', 'text')
    .addColumn('last_response', 'text')
    .addColumn('delivered_at', 'bigint')
    .addColumn('created_at', 'bigint', required)
    .execute()
  const index = (name: string, columns: string): Promise<unknown> =>
    run(`CREATE INDEX x402_webhook_deliveries_${name} ON x402_webhook_deliveries ${columns}`)
  await index('due', `(endpoint, next_at) WHERE state = 'pending'`)
  await index('claimed', '(claim) WHERE claim IS NOT NULL')
  await index('payment', '(payment, endpoint, version)')
  await index('listed', '(endpoint, created_at, id)')
  await index('age', `(created_at) WHERE state <> 'pending'`)
}

/** The migration `0020_relayer_alerts`: the relayers that an alert was sent about. */
export async function createRelayerAlerts({ db }: MigrationContext): Promise<void> {
  await db.schema
    .createTable('x402_relayer_alerts')
    .addColumn('chain_id', 'bigint', required)
    .addColumn('relayer', 'text', required)
    .addColumn('balance', 'text', required)
    .addColumn('told_at', 'bigint', required)
    .addPrimaryKeyConstraint('x402_relayer_alerts_key', ['chain_id', 'relayer'])
    .execute()
}
