/** Migrations: what a payment was for, and counts of what happened. */
import { required, type MigrationContext } from './migration.js'

/** Adds the columns of `PaymentDetails`, and the indexes of searches. */
export async function addSettlementDetails({ db, run }: MigrationContext): Promise<void> {
  for (const column of ['resource_url', 'method', 'route', 'asked_price', 'reference'])
    await db.schema.alterTable('x402_authorizations').addColumn(column, 'text').execute()
  await db.schema.alterTable('x402_authorizations').addColumn('decimals', 'integer').execute()
  await db.schema.alterTable('x402_authorizations').addColumn('resource_hash', 'text').execute()
  // As in lists, each page is read from its newest record, whatever the other projects have.
  await run(
    'CREATE INDEX x402_authorizations_payer ON x402_authorizations (payer, project, state, created_at, id)',
  )
  await run(
    'CREATE INDEX x402_authorizations_resource ON x402_authorizations (resource_hash, project, state, created_at, id) WHERE resource_hash IS NOT NULL',
  )
  await run(
    'CREATE INDEX x402_authorizations_reference ON x402_authorizations (reference, project, state, created_at, id) WHERE reference IS NOT NULL',
  )
}

/** Creates the table of counts. */
export async function createCounts({ db }: MigrationContext): Promise<void> {
  await db.schema
    .createTable('x402_counts')
    .addColumn('day', 'integer', required)
    .addColumn('project', 'text', required)
    .addColumn('kind', 'text', required)
    .addColumn('label', 'text', required)
    .addColumn('count', 'bigint', required)
    .addPrimaryKeyConstraint('x402_counts_key', ['project', 'day', 'kind', 'label'])
    .execute()
}
