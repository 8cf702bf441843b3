import type * as KyselyModule from 'kysely'
import type { Kysely } from 'kysely'
import { storeBytes } from './bytes-migration.js'
import { createConsoleSessions } from './console-sessions-table.js'
import { keyRecordsById, listFinalApart, rebuildWithoutKey } from './index-migrations.js'
import { createProjectTables } from './projects-migration.js'
import type { LedgerDatabase } from './schema.js'
import { addSettlementDetails, createCounts } from './view-tables.js'
import { createRelayerAlerts, createWebhookTables } from './webhook-tables.js'
import { announceByStatement } from './webhook-triggers.js'

/** One change of the schema. */
export type Migration = (db: Kysely<LedgerDatabase>, kysely: typeof KyselyModule) => Promise<void>

/** Every change of the schema, in order. A migration that was published is never edited. */
export const migrations: Readonly<Record<string, Migration>> = {
  '0001_authorizations': async (db, { sql }) => {
    await db.schema
      .createTable('x402_authorizations')
      .addColumn('chain_id', 'bigint', (column) => column.notNull())
      .addColumn('asset', 'text', (column) => column.notNull())
      .addColumn('payer', 'text', (column) => column.notNull())
      .addColumn('nonce', 'text', (column) => column.notNull())
      .addColumn('id', 'text', (column) => column.notNull())
      .addColumn('pay_to', 'text', (column) => column.notNull())
      .addColumn('value', 'text', (column) => column.notNull())
      .addColumn('valid_before', 'text', (column) => column.notNull())
      .addColumn('project', 'text')
      .addColumn('state', 'text', (column) => column.notNull())
      .addColumn('granted', 'integer', (column) => column.notNull().defaultTo(0))
      .addColumn('hold', 'text')
      .addColumn('held_until', 'bigint', (column) => column.notNull())
      .addColumn('transaction_hash', 'text')
      .addColumn('relayer', 'text')
      .addColumn('transaction_count', 'bigint')
      .addColumn('raw', 'text')
      .addColumn('reason', 'text')
      .addColumn('created_at', 'bigint', (column) => column.notNull())
      .addColumn('updated_at', 'bigint', (column) => column.notNull())
      .addPrimaryKeyConstraint('x402_authorizations_key', ['chain_id', 'asset', 'payer', 'nonce'])
      .execute()
    await sql`CREATE UNIQUE INDEX x402_authorizations_id ON x402_authorizations (id)`.execute(db)
    await sql`CREATE INDEX x402_authorizations_project ON x402_authorizations (project, created_at, id)`.execute(
      db,
    )
    // Locked and open records are few among many.
    await sql`CREATE INDEX x402_authorizations_held ON x402_authorizations (hold) WHERE hold IS NOT NULL AND granted = 0`.execute(
      db,
    )
    await sql`CREATE INDEX x402_authorizations_open ON x402_authorizations (created_at) WHERE state = 'submitted'`.execute(
      db,
    )
  },
  '0002_idempotency': async (db, { sql }) => {
    await db.schema
      .createTable('x402_idempotency')
      .addColumn('key', 'text', (column) => column.primaryKey())
      .addColumn('fingerprint', 'text', (column) => column.notNull())
      .addColumn('answer', 'text')
      .addColumn('done', 'integer', (column) => column.notNull())
      .addColumn('claim', 'text', (column) => column.notNull())
      .addColumn('claimed_until', 'bigint', (column) => column.notNull())
      .addColumn('updated_at', 'bigint', (column) => column.notNull())
      .execute()
    await sql`CREATE INDEX x402_idempotency_claimed ON x402_idempotency (claim) WHERE done = 0`.execute(
      db,
    )
    await sql`CREATE INDEX x402_idempotency_age ON x402_idempotency (updated_at)`.execute(db)
  },
  '0003_relayers': async (db) => {
    await db.schema.alterTable('x402_authorizations').addColumn('replaces', 'text').execute()
    await db.schema
      .createTable('x402_relayer_leases')
      .addColumn('chain_id', 'bigint', (column) => column.notNull())
      .addColumn('relayer', 'text', (column) => column.notNull())
      .addColumn('holder', 'text', (column) => column.notNull())
      .addColumn('held_until', 'bigint', (column) => column.notNull())
      .addPrimaryKeyConstraint('x402_relayer_leases_key', ['chain_id', 'relayer'])
      .execute()
    await db.schema
      .createTable('x402_relayer_wishes')
      .addColumn('chain_id', 'bigint', (column) => column.notNull())
      .addColumn('relayer', 'text', (column) => column.notNull())
      .addColumn('holder', 'text', (column) => column.notNull())
      .addColumn('wanted_until', 'bigint', (column) => column.notNull())
      .addPrimaryKeyConstraint('x402_relayer_wishes_key', ['chain_id', 'relayer', 'holder'])
      .execute()
  },
  '0004_quotes': async (db) => {
    await db.schema.alterTable('x402_authorizations').addColumn('quote', 'text').execute()
    await db.schema
      .createTable('x402_secrets')
      .addColumn('name', 'text', (column) => column.primaryKey())
      .addColumn('secret', 'text', (column) => column.notNull())
      .execute()
  },
  '0005_concluded': async (db, { sql }) => {
    // The reorg watch reads records that became final recently.
    await sql`CREATE INDEX x402_authorizations_settled ON x402_authorizations (updated_at) WHERE state = 'settled'`.execute(
      db,
    )
    await sql`CREATE INDEX x402_authorizations_failed ON x402_authorizations (updated_at) WHERE state = 'failed'`.execute(
      db,
    )
    await sql`CREATE INDEX x402_authorizations_bytes ON x402_authorizations (updated_at) WHERE state = 'settled' AND raw IS NOT NULL`.execute(
      db,
    )
  },
  '0006_purchases': async (db, { sql }) => {
    for (const column of ['resource', 'offer', 'payment_id', 'client', 'transfer'])
      await db.schema.alterTable('x402_authorizations').addColumn(column, 'text').execute()
    await db.schema.alterTable('x402_authorizations').addColumn('paid_late', 'integer').execute()
    // One transfer log pays for one record.
    await sql`CREATE UNIQUE INDEX x402_authorizations_transfer ON x402_authorizations (transfer) WHERE transfer IS NOT NULL`.execute(
      db,
    )
  },
  '0007_transactions': async (db, { sql }) => {
    // Finds the payments that a transaction was sent for.
    await sql`CREATE INDEX x402_authorizations_transaction ON x402_authorizations (transaction_hash) WHERE transaction_hash IS NOT NULL`.execute(
      db,
    )
  },
  '0008_words': async (db, { sql }) => {
    const rename = (from: string, to: string): Promise<void> =>
      db.schema.alterTable('x402_authorizations').renameColumn(from, to).execute()
    await rename('hold', 'lock_owner')
    await rename('held_until', 'locked_until')
    await rename('granted', 'delivered')
    await rename('transaction_count', 'account_nonce')
    await rename('quote', 'applied_rate')
    await db.schema
      .alterTable('x402_relayer_wishes')
      .renameColumn('wanted_until', 'candidate_until')
      .execute()
    await db.schema.alterTable('x402_relayer_wishes').renameTo('x402_relayer_candidates').execute()
    await sql`DROP INDEX x402_authorizations_held`.execute(db)
    await sql`CREATE INDEX x402_authorizations_locked ON x402_authorizations (lock_owner) WHERE lock_owner IS NOT NULL AND delivered = 0`.execute(
      db,
    )
  },
  '0009_owners': async (db) => {
    await db.schema
      .createTable('x402_owners')
      .addColumn('owner', 'text', (column) => column.primaryKey())
      .execute()
  },
  '0010_lists': async (db, { sql }) => {
    // Lists of one state are as long as those of all.
    await sql`DROP INDEX x402_authorizations_project`.execute(db)
    await sql`CREATE INDEX x402_authorizations_listed ON x402_authorizations (project, state, created_at, id)`.execute(
      db,
    )
    await sql`CREATE INDEX x402_authorizations_failed_bytes ON x402_authorizations (updated_at) WHERE state = 'failed' AND raw IS NOT NULL`.execute(
      db,
    )
  },
  '0011_relayer_nonces': async (db) => {
    await db.schema.dropTable('x402_relayer_leases').execute()
    await db.schema.dropTable('x402_relayer_candidates').execute()
    await db.schema
      .createTable('x402_relayer_nonces')
      .addColumn('chain_id', 'bigint', (column) => column.notNull())
      .addColumn('relayer', 'text', (column) => column.notNull())
      .addColumn('next_nonce', 'bigint', (column) => column.notNull())
      .addColumn('mined_nonce', 'bigint', (column) => column.notNull())
      .addColumn('claimed_at', 'bigint', (column) => column.notNull())
      .addPrimaryKeyConstraint('x402_relayer_nonces_key', ['chain_id', 'relayer'])
      .execute()
    await db.schema
      .createTable('x402_relayer_transactions')
      .addColumn('chain_id', 'bigint', (column) => column.notNull())
      .addColumn('relayer', 'text', (column) => column.notNull())
      .addColumn('account_nonce', 'bigint', (column) => column.notNull())
      .addColumn('transaction_hash', 'text', (column) => column.notNull())
      .addColumn('raw', 'text', (column) => column.notNull())
      .addColumn('replaces', 'text')
      .addColumn('written_at', 'bigint', (column) => column.notNull())
      .addPrimaryKeyConstraint('x402_relayer_transactions_key', [
        'chain_id',
        'relayer',
        'account_nonce',
      ])
      .execute()
  },
  '0012_projects': createProjectTables,
  '0013_settlement_details': addSettlementDetails,
  '0014_counts': createCounts,
  '0016_refunds': async (db, { sql }) => {
    await db.schema
      .alterTable('x402_authorizations')
      .addColumn('kind', 'text', (column) => column.notNull().defaultTo('payment'))
      .execute()
    await db.schema.alterTable('x402_authorizations').addColumn('refund_of', 'text').execute()
    await sql`CREATE INDEX x402_authorizations_refunds ON x402_authorizations (refund_of, created_at, id) WHERE refund_of IS NOT NULL`.execute(
      db,
    )
  },
  '0017_bytes': async (db, { sql }) => {
    // Each payment of a batch had the bytes of its transaction; now the transaction alone has them.
    await sql`INSERT INTO x402_relayer_transactions
        (chain_id, relayer, account_nonce, transaction_hash, raw, replaces, written_at)
      SELECT chain_id, lower(relayer), account_nonce, transaction_hash, raw, replaces, updated_at
      FROM x402_authorizations WHERE raw IS NOT NULL AND raw <> '0x'
      ON CONFLICT DO NOTHING`.execute(db)
    await sql`DROP INDEX x402_authorizations_bytes`.execute(db)
    await sql`DROP INDEX x402_authorizations_failed_bytes`.execute(db)
    await db.schema.alterTable('x402_authorizations').dropColumn('raw').execute()
  },
  '0018_webhooks': createWebhookTables,
  '0019_console_sessions': createConsoleSessions,
  '0020_relayer_alerts': createRelayerAlerts,
  '0021_final_lists': listFinalApart,
  '0022_record_key': keyRecordsById,
  '0023_webhook_statements': announceByStatement,
  '0024_rebuilt_files': rebuildWithoutKey,
  '0025_stored_bytes': storeBytes,
}
