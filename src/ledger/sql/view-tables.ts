/** Migrations: what a payment was for, and counts of what happened. */
import type * as KyselyModule from 'kysely'
import type { Kysely } from 'kysely'
import type { LedgerDatabase } from './schema.js'

/** Adds the columns of `PaymentDetails`, and the indexes of searches. */
export async function addSettlementDetails(
  db: Kysely<LedgerDatabase>,
  { sql }: typeof KyselyModule,
): Promise<void> {
  for (const column of ['resource_url', 'method', 'route', 'asked_price', 'reference'])
    await db.schema.alterTable('x402_authorizations').addColumn(column, 'text').execute()
  await db.schema.alterTable('x402_authorizations').addColumn('decimals', 'integer').execute()
  await db.schema.alterTable('x402_authorizations').addColumn('resource_hash', 'text').execute()
  // As in lists, each page is read from its newest record, whatever the other projects have.
  await sql`CREATE INDEX x402_authorizations_payer ON x402_authorizations (payer, project, state, created_at, id)`.execute(
    db,
  )
  await sql`CREATE INDEX x402_authorizations_resource ON x402_authorizations (resource_hash, project, state, created_at, id) WHERE resource_hash IS NOT NULL`.execute(
    db,
  )
  await sql`CREATE INDEX x402_authorizations_reference ON x402_authorizations (reference, project, state, created_at, id) WHERE reference IS NOT NULL`.execute(
    db,
  )
}

/**
 * Leaves payments that are under way out of the indexes of lists: they change their state twice, and
 * each change was one of every index. An index of their own has them while they are few.
 */
export async function listFinalApart(
  db: Kysely<LedgerDatabase>,
  { sql }: typeof KyselyModule,
): Promise<void> {
  const place = 'project, state, created_at, id'
  const isFinal = "(state = 'settled' OR state = 'failed')"
  const indexes = {
    listed: `(${place}) WHERE ${isFinal}`,
    payer: `(payer, ${place}) WHERE ${isFinal}`,
    resource: `(resource_hash, ${place}) WHERE resource_hash IS NOT NULL AND ${isFinal}`,
    reference: `(reference, ${place}) WHERE reference IS NOT NULL AND ${isFinal}`,
  }
  for (const [name, columns] of Object.entries(indexes)) {
    await sql`DROP INDEX ${sql.raw(`x402_authorizations_${name}`)}`.execute(db)
    await sql`CREATE INDEX ${sql.raw(`x402_authorizations_${name} ON x402_authorizations ${columns}`)}`.execute(
      db,
    )
  }
  await sql`CREATE INDEX x402_authorizations_pending ON x402_authorizations (${sql.raw(place)}) WHERE (state = 'reserved' OR state = 'submitted')`.execute(
    db,
  )
}

/**
 * Makes the id the primary key. It is a hash of the one before, whose index was the widest of all. SQLite
 * cannot drop a primary key.
 */
export async function keyRecordsById(
  db: Kysely<LedgerDatabase>,
  { sql, PostgresAdapter }: typeof KyselyModule,
): Promise<void> {
  if (!(db.getExecutor().adapter instanceof PostgresAdapter)) return
  await sql`ALTER TABLE x402_authorizations DROP CONSTRAINT x402_authorizations_key`.execute(db)
  await sql`ALTER TABLE x402_authorizations ADD CONSTRAINT x402_authorizations_id PRIMARY KEY USING INDEX x402_authorizations_id`.execute(
    db,
  )
}

/** Creates the table of counts. */
export async function createCounts(db: Kysely<LedgerDatabase>): Promise<void> {
  await db.schema
    .createTable('x402_counts')
    .addColumn('day', 'integer', (column) => column.notNull())
    .addColumn('project', 'text', (column) => column.notNull())
    .addColumn('kind', 'text', (column) => column.notNull())
    .addColumn('label', 'text', (column) => column.notNull())
    .addColumn('count', 'bigint', (column) => column.notNull())
    .addPrimaryKeyConstraint('x402_counts_key', ['project', 'day', 'kind', 'label'])
    .execute()
}
