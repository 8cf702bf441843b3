/** Migrations: fewer and narrower indexes of authorizations. */
import type * as KyselyModule from 'kysely'
import type { Kysely } from 'kysely'
import { rebuildTable } from './rebuild-table.js'
import type { LedgerDatabase } from './schema.js'

/**
 * Leaves payments that are under way out of the indexes of lists: a payment changes its state twice, and
 * each change was written to every index of lists. An index of their own has those under way, which are few.
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
 * Makes the id the primary key: it is a hash of the columns that were the key, and their index was the
 * widest of all. For SQLite, which cannot drop a primary key, see {@link rebuildWithoutKey}.
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

/**
 * Has SQLite do without the primary key, as {@link keyRecordsById} has PostgreSQL: the table is copied into
 * one without it. The id has a unique index already.
 */
export async function rebuildWithoutKey(
  db: Kysely<LedgerDatabase>,
  { sql, SqliteAdapter }: typeof KyselyModule,
): Promise<void> {
  if (!(db.getExecutor().adapter instanceof SqliteAdapter)) return
  await rebuildTable({ db, sql }, 'x402_authorizations', {
    edit: (table) => table.replace(KEY, ''),
  })
}

/** The key, in the words in which SQLite keeps the statement that created the table. */
const KEY = /,\s*constraint\s+"?x402_authorizations_key"?\s+primary key\s*\([^)]*\)/i
