/** Migrations: fewer and narrower indexes of authorizations. */
import type { MigrationContext } from './migration.js'
import { rebuildTable } from './rebuild-table.js'

/**
 * Leaves payments that are under way out of the indexes of lists: a payment changes its state twice, and
 * each change was written to every index of lists. An index of their own has those under way, which are few.
 */
export async function listFinalApart({ run }: MigrationContext): Promise<void> {
  const place = 'project, state, created_at, id'
  const isFinal = "(state = 'settled' OR state = 'failed')"
  const indexes = {
    listed: `(${place}) WHERE ${isFinal}`,
    payer: `(payer, ${place}) WHERE ${isFinal}`,
    resource: `(resource_hash, ${place}) WHERE resource_hash IS NOT NULL AND ${isFinal}`,
    reference: `(reference, ${place}) WHERE reference IS NOT NULL AND ${isFinal}`,
  }
  for (const [name, columns] of Object.entries(indexes)) {
    await run(`DROP INDEX x402_authorizations_${name}`)
    await run(`CREATE INDEX x402_authorizations_${name} ON x402_authorizations ${columns}`)
  }
  await run(
    `CREATE INDEX x402_authorizations_pending ON x402_authorizations (${place}) WHERE (state = 'reserved' OR state = 'submitted')`,
  )
}

/**
 * Makes the id the primary key: it is a hash of the columns that were the key, and their index was the
 * widest of all. For SQLite, which cannot drop a primary key, see {@link rebuildWithoutKey}.
 */
export async function keyRecordsById({ isPostgres, run }: MigrationContext): Promise<void> {
  if (!isPostgres) return
  await run('ALTER TABLE x402_authorizations DROP CONSTRAINT x402_authorizations_key')
  await run(
    'ALTER TABLE x402_authorizations ADD CONSTRAINT x402_authorizations_id PRIMARY KEY USING INDEX x402_authorizations_id',
  )
}

/**
 * Has SQLite do without the primary key, as {@link keyRecordsById} has PostgreSQL: the table is copied into
 * one without it. The id has a unique index already.
 */
export async function rebuildWithoutKey({ isPostgres, run }: MigrationContext): Promise<void> {
  if (isPostgres) return
  await rebuildTable(run, 'x402_authorizations', {
    edit: (table) => table.replace(KEY, ''),
  })
}

/** The key, in the words in which SQLite keeps the statement that created the table. */
const KEY = /,\s*constraint\s+"?x402_authorizations_key"?\s+primary key\s*\([^)]*\)/i
