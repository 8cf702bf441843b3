/** Searches of records, and the projects that have records. */
import type { Expression, RawBuilder, SqlBool } from 'kysely'
import { bytesOf } from '../../shared/protocol/hex.js'
import { resourceHash } from '../payment-details.js'
import type { LedgerRecord, PayerStart, RecordSearch } from '../record.js'
import type { SqlDatabase } from '../engine/store.js'

/** Finds all refunds. */
export const REFUNDS = { kind: 'refund' } as const

/** A search that has an index which begins with it and the project, or has nothing else. */
export type IndexedSearch =
  Exclude<RecordSearch, { readonly transaction: unknown } | PayerStart> | typeof REFUNDS

/** The condition that a record is searched for. */
export function isFound({ sql }: SqlDatabase, search: IndexedSearch): Expression<SqlBool> {
  if ('kind' in search) return sql<SqlBool>`kind = 'refund'`
  if ('payer' in search) return sql<SqlBool>`payer = ${bytesOf(search.payer)}`
  if ('reference' in search) return sql<SqlBool>`reference = ${search.reference}`
  return sql<SqlBool>`resource_hash = ${resourceHash(search.resource)}`
}

/** States that have an index of their own each, which begins with the project. */
const GROUPS = [
  ['settled', 'failed'],
  ['reserved', 'submitted'],
] as const satisfies readonly (readonly LedgerRecord['state'][])[]

/** The projects that have records, and `null`. Each is one look-up in an index. */
export async function projectsOf(database: SqlDatabase): Promise<readonly (string | null)[]> {
  const { db, sql } = database
  const found = new Set<string>()
  for (const states of GROUPS) {
    const { rows } = await sql<{ readonly project: string }>`
      WITH RECURSIVE found(project) AS (${projectsIn(database, states)(sql.raw('found'))})
      SELECT project FROM found WHERE project IS NOT NULL`.execute(db)
    for (const { project } of rows) found.add(project)
  }
  return [null, ...found]
}

/** The records of a project in one state, which are one list. */
export interface RecordList {
  readonly project: string | null
  readonly state: LedgerRecord['state']
}

/** Which lists are looked for. */
interface ListsQuery {
  readonly states: readonly LedgerRecord['state'][]
  readonly search?: IndexedSearch | undefined
  readonly limit: number
  /** Selects when the newest record of a list was created, of the project that `found` names. */
  readonly newestOf: (state: LedgerRecord['state']) => Expression<unknown>
}

/**
 * The lists whose newest records are the newest of all, and when those were created: a page has records of no others.
 * A page of each of 1,000 projects took 360 ms in SQLite; this way it takes 6.
 */
export async function newestLists(
  database: SqlDatabase,
  { states, search, limit, newestOf }: ListsQuery,
): Promise<readonly (RecordList & { readonly newest: number })[]> {
  const { db, sql } = database
  const groups = GROUPS.map((group, index) => ({
    name: sql.raw(`group_${index}`),
    all: projectsIn(database, group, search),
    states: group.filter((state) => states.includes(state)),
  })).filter((group) => group.states.length > 0)
  const lists = groups.flatMap((group) =>
    group.states.map(
      (state) => sql`SELECT project, ${sql.lit(state)} AS state, (${newestOf(state)}) AS newest
        FROM ${group.name} AS found WHERE project IS NOT NULL`,
    ),
  )
  const projects = groups.map(({ name, all }) => sql`${name}(project) AS (${all(name)})`)
  // Those of the same millisecond have the same place.
  const { rows } = await sql<RecordList & { readonly newest: number | string }>`
    WITH RECURSIVE ${sql.join(projects)}
    SELECT project, state, newest FROM (
      SELECT project, state, newest, rank() OVER (ORDER BY newest DESC) AS place
      FROM (${sql.join(lists, sql` UNION ALL `)}) AS lists WHERE newest IS NOT NULL) AS ranked
    WHERE place <= ${limit} ORDER BY place`.execute(db)
  return rows.map((row) => ({ ...row, newest: Number(row.newest) }))
}

/** The body of the recursive table that is named so: the projects that have records in one of two states. */
function projectsIn(
  database: SqlDatabase,
  [one, other]: readonly [LedgerRecord['state'], LedgerRecord['state']],
  search?: IndexedSearch,
) {
  const { sql } = database
  const least = sql`SELECT min(a.project) AS project FROM x402_authorizations AS a
    WHERE (a.state = ${one} OR a.state = ${other}) AND ${search ? isFound(database, search) : sql`1 = 1`}`
  return (name: RawBuilder<unknown>) => sql`${least}
      UNION ALL
      SELECT (${least} AND a.project > ${name}.project) FROM ${name} WHERE ${name}.project IS NOT NULL`
}
