import { storeBytes } from './bytes-migration.js'
import { createConsoleSessions } from './console-sessions-table.js'
import { keyRecordsById, listFinalApart, rebuildWithoutKey } from './index-migrations.js'
import { primary, required, type Migration } from './migration.js'
import { createProjectTables } from './projects-migration.js'
import { addSettlementDetails, createCounts } from './view-tables.js'
import { createRelayerAlerts, createWebhookTables } from './webhook-tables.js'
import { announceByStatement, skipWithoutEndpoints } from './webhook-triggers.js'

/** Every change of the schema, in order. A migration that was published is never edited. */
export const migrations: Readonly<Record<string, Migration>> = {
  '0001_authorizations': async ({ db, run }) => {
    await db.schema
      .createTable('x402_authorizations')
      .addColumn('chain_id', 'bigint', required)
      .addColumn('asset', 'text', required)
      .addColumn('payer', 'text', required)
      .addColumn('nonce', 'text', required)
      .addColumn('id', 'text', required)
      .addColumn('pay_to', 'text', required)
      .addColumn('value', 'text', required)
      .addColumn('valid_before', 'text', required)
      .addColumn('project', 'text')
      .addColumn('state', 'text', required)
      .addColumn('granted', 'integer', (column) => column.notNull().defaultTo(0))
      .addColumn('hold', 'text')
      .addColumn('held_until', 'bigint', required)
      .addColumn('transaction_hash', 'text')
      .addColumn('relayer', 'text')
      .addColumn('transaction_count', 'bigint')
      .addColumn('raw', 'text')
      .addColumn('reason', 'text')
      .addColumn('created_at', 'bigint', required)
      .addColumn('updated_at', 'bigint', required)
      .addPrimaryKeyConstraint('x402_authorizations_key', ['chain_id', 'asset', 'payer', 'nonce'])
      .execute()
    await run('CREATE UNIQUE INDEX x402_authorizations_id ON x402_authorizations (id)')
    await run(
      'CREATE INDEX x402_authorizations_project ON x402_authorizations (project, created_at, id)',
    )
    // Locked and open records are few among many.
    await run(
      'CREATE INDEX x402_authorizations_held ON x402_authorizations (hold) WHERE hold IS NOT NULL AND granted = 0',
    )
    await run(
      `CREATE INDEX x402_authorizations_open ON x402_authorizations (created_at) WHERE state = 'submitted'`,
    )
  },
  '0002_idempotency': async ({ db, run }) => {
    await db.schema
      .createTable('x402_idempotency')
      .addColumn('key', 'text', primary)
      .addColumn('fingerprint', 'text', required)
      .addColumn('answer', 'text')
      .addColumn('done', 'integer', required)
      .addColumn('claim', 'text', required)
      .addColumn('claimed_until', 'bigint', required)
      .addColumn('updated_at', 'bigint', required)
      .execute()
    await run('CREATE INDEX x402_idempotency_claimed ON x402_idempotency (claim) WHERE done = 0')
    await run('CREATE INDEX x402_idempotency_age ON x402_idempotency (updated_at)')
  },
  '0003_relayers': async ({ db }) => {
    await db.schema.alterTable('x402_authorizations').addColumn('replaces', 'text').execute()
    await db.schema
      .createTable('x402_relayer_leases')
      .addColumn('chain_id', 'bigint', required)
      .addColumn('relayer', 'text', required)
      .addColumn('holder', 'text', required)
      .addColumn('held_until', 'bigint', required)
      .addPrimaryKeyConstraint('x402_relayer_leases_key', ['chain_id', 'relayer'])
      .execute()
    await db.schema
      .createTable('x402_relayer_wishes')
      .addColumn('chain_id', 'bigint', required)
      .addColumn('relayer', 'text', required)
      .addColumn('holder', 'text', required)
      .addColumn('wanted_until', 'bigint', required)
      .addPrimaryKeyConstraint('x402_relayer_wishes_key', ['chain_id', 'relayer', 'holder'])
      .execute()
  },
  '0004_quotes': async ({ db }) => {
    await db.schema.alterTable('x402_authorizations').addColumn('quote', 'text').execute()
    await db.schema
      .createTable('x402_secrets')
      .addColumn('name', 'text', primary)
      .addColumn('secret', 'text', required)
      .execute()
  },
  '0005_concluded': async ({ run }) => {
    // The reorg watch reads records that became final recently.
    await run(
      `CREATE INDEX x402_authorizations_settled ON x402_authorizations (updated_at) WHERE state = 'settled'`,
    )
    await run(
      `CREATE INDEX x402_authorizations_failed ON x402_authorizations (updated_at) WHERE state = 'failed'`,
    )
    await run(
      `CREATE INDEX x402_authorizations_bytes ON x402_authorizations (updated_at) WHERE state = 'settled' AND raw IS NOT NULL`,
    )
  },
  '0006_purchases': async ({ db, run }) => {
    for (const column of ['resource', 'offer', 'payment_id', 'client', 'transfer'])
      await db.schema.alterTable('x402_authorizations').addColumn(column, 'text').execute()
    await db.schema.alterTable('x402_authorizations').addColumn('paid_late', 'integer').execute()
    // One transfer log pays for one record.
    await run(
      'CREATE UNIQUE INDEX x402_authorizations_transfer ON x402_authorizations (transfer) WHERE transfer IS NOT NULL',
    )
  },
  '0007_transactions': async ({ run }) => {
    // Finds the payments that a transaction was sent for.
    await run(
      'CREATE INDEX x402_authorizations_transaction ON x402_authorizations (transaction_hash) WHERE transaction_hash IS NOT NULL',
    )
  },
  '0008_words': async ({ db, run }) => {
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
    await run('DROP INDEX x402_authorizations_held')
    await run(
      'CREATE INDEX x402_authorizations_locked ON x402_authorizations (lock_owner) WHERE lock_owner IS NOT NULL AND delivered = 0',
    )
  },
  '0009_owners': async ({ db }) => {
    await db.schema.createTable('x402_owners').addColumn('owner', 'text', primary).execute()
  },
  '0010_lists': async ({ run }) => {
    // Lists of one state are as long as those of all.
    await run('DROP INDEX x402_authorizations_project')
    await run(
      'CREATE INDEX x402_authorizations_listed ON x402_authorizations (project, state, created_at, id)',
    )
    await run(
      `CREATE INDEX x402_authorizations_failed_bytes ON x402_authorizations (updated_at) WHERE state = 'failed' AND raw IS NOT NULL`,
    )
  },
  '0011_relayer_nonces': async ({ db }) => {
    await db.schema.dropTable('x402_relayer_leases').execute()
    await db.schema.dropTable('x402_relayer_candidates').execute()
    await db.schema
      .createTable('x402_relayer_nonces')
      .addColumn('chain_id', 'bigint', required)
      .addColumn('relayer', 'text', required)
      .addColumn('next_nonce', 'bigint', required)
      .addColumn('mined_nonce', 'bigint', required)
      .addColumn('claimed_at', 'bigint', required)
      .addPrimaryKeyConstraint('x402_relayer_nonces_key', ['chain_id', 'relayer'])
      .execute()
    await db.schema
      .createTable('x402_relayer_transactions')
      .addColumn('chain_id', 'bigint', required)
      .addColumn('relayer', 'text', required)
      .addColumn('account_nonce', 'bigint', required)
      .addColumn('transaction_hash', 'text', required)
      .addColumn('raw', 'text', required)
      .addColumn('replaces', 'text')
      .addColumn('written_at', 'bigint', required)
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
  '0016_refunds': async ({ db, run }) => {
    await db.schema
      .alterTable('x402_authorizations')
      .addColumn('kind', 'text', (column) => column.notNull().defaultTo('payment'))
      .execute()
    await db.schema.alterTable('x402_authorizations').addColumn('refund_of', 'text').execute()
    await run(
      'CREATE INDEX x402_authorizations_refunds ON x402_authorizations (refund_of, created_at, id) WHERE refund_of IS NOT NULL',
    )
  },
  '0017_bytes': async ({ db, run }) => {
    // Each payment of a batch had the bytes of its transaction; now the transaction alone has them.
    await run(`INSERT INTO x402_relayer_transactions
        (chain_id, relayer, account_nonce, transaction_hash, raw, replaces, written_at)
      SELECT chain_id, lower(relayer), account_nonce, transaction_hash, raw, replaces, updated_at
      FROM x402_authorizations WHERE raw IS NOT NULL AND raw <> '0x'
      ON CONFLICT DO NOTHING`)
    await run('DROP INDEX x402_authorizations_bytes')
    await run('DROP INDEX x402_authorizations_failed_bytes')
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
  '0026_webhook_endpoints_first': skipWithoutEndpoints,
  '0027_raw_uncompressed': async ({ isPostgres, run }) => {
    // Settlements wait while it is written, and it is dropped soon: compressing it is not worth the time.
    if (isPostgres)
      await run('ALTER TABLE x402_relayer_transactions ALTER COLUMN raw SET STORAGE EXTERNAL')
  },
}
