/** Limits what a project can create, in the transaction that creates it. */
import type { RawBuilder } from 'kysely'
import type { LedgerDatabase } from '../schema/tables.js'
import type { SqlDatabase } from '../engine/store.js'

/** Rows of a project, of which there are so many at most. */
interface Limit {
  readonly project: string
  readonly most: number
  /** The column that grows from row to row. @defaultValue 'position' */
  readonly by?: string
  /** Which rows count. @defaultValue all */
  readonly of?: RawBuilder<unknown>
}

/** Waits until other transactions that create something of a project have ended: what they have made is counted. */
export async function takeTurn({ db, sql, locksRows }: SqlDatabase, project: string) {
  if (locksRows) await sql`SELECT pg_advisory_xact_lock(402, hashtext(${project}))`.execute(db)
}

/** Tells whether there are as many rows as there may be, and deletes the oldest beyond them. */
export function limited(
  { db, sql }: Pick<SqlDatabase, 'db' | 'sql'>,
  table: keyof LedgerDatabase,
  { project, most, by = 'position', of = sql`true` }: Limit,
) {
  const rows = sql`FROM ${sql.table(table)} WHERE project = ${project} AND ${of}`
  const last = sql`SELECT ${sql.ref(by)} ${rows}
    ORDER BY ${sql.ref(by)} DESC LIMIT 1 OFFSET ${sql.lit(most - 1)}`
  return {
    isFull: async () => (await last.execute(db)).rows.length > 0,
    keepNewest: () => sql`DELETE ${rows} AND ${sql.ref(by)} < (${last})`.execute(db),
  }
}
