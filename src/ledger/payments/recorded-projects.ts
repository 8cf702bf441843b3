/** Searches of records, and the projects that have records. */
import type { Expression, SqlBool } from 'kysely'
import { bytesOf } from '../../protocol/hex.js'
import { resourceHash } from '../payment-details.js'
import type { LedgerRecord, RecordSearch } from '../record.js'
import type { SqlDatabase } from '../engine/store.js'

/** Finds all refunds. */
export const REFUNDS = { kind: 'refund' } as const

/** A search that has an index which begins with it and the project, or has nothing else. */
export type IndexedSearch =
  Exclude<RecordSearch, { readonly transaction: unknown }> | typeof REFUNDS

/** The condition that a record is searched for. */
export function isFound({ sql }: SqlDatabase, search: IndexedSearch): Expression<SqlBool> {
  if ('kind' in search) return sql<SqlBool>`kind = 'refund'`
  if ('payer' in search) return sql<SqlBool>`payer = ${bytesOf(search.payer)}`
  if ('reference' in search) return sql<SqlBool>`reference = ${search.reference}`
  return sql<SqlBool>`resource_hash = ${resourceHash(search.resource)}`
}

/** The projects that have records, and `null`. Each is one look-up in an index. */
export async function projectsOf(
  database: SqlDatabase,
  search?: IndexedSearch,
): Promise<readonly (string | null)[]> {
  const found = [
    ...(await namesOf(database, ['settled', 'failed'], search)),
    ...(await namesOf(database, ['reserved', 'submitted'], search)),
  ]
  return [null, ...new Set(found)]
}

/** The projects that have records in one of two states, which have an index of their own. */
async function namesOf(
  database: SqlDatabase,
  [one, other]: readonly [LedgerRecord['state'], LedgerRecord['state']],
  search: IndexedSearch | undefined,
): Promise<readonly string[]> {
  const { db, sql } = database
  const least = sql`SELECT min(a.project) AS project FROM x402_authorizations AS a
    WHERE (a.state = ${one} OR a.state = ${other}) AND ${search ? isFound(database, search) : sql`1 = 1`}`
  const { rows } = await sql<{ readonly project: string }>`
    WITH RECURSIVE found(project) AS (
      ${least}
      UNION ALL
      SELECT (${least} AND a.project > found.project) FROM found WHERE found.project IS NOT NULL)
    SELECT project FROM found WHERE project IS NOT NULL`.execute(db)
  return rows.map(({ project }) => project)
}
