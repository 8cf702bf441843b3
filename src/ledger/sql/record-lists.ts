import type { LedgerStore, LedgerRecord } from '../ledger.js'
import { ENTRY_COLUMNS, entryOf, type TimedRow } from './authorization-rows.js'
import type { SqlStore } from './sql-store.js'

/** The lists of records that a ledger gives. @param toRecord - Reads a row. */
export function recordLists(
  { run }: SqlStore,
  toRecord: (row: TimedRow) => LedgerRecord,
): Pick<LedgerStore, 'listSubmitted' | 'listFinal' | 'list'> {
  return {
    listSubmitted: () =>
      run(async ({ db, now }) => {
        const rows = await db
          .selectFrom('x402_authorizations')
          .selectAll()
          .select(now.as('now'))
          .where('state', '=', 'submitted')
          .orderBy('created_at')
          .orderBy('id')
          .execute()
        return rows.map(toRecord)
      }),

    listFinal: ({ state, withinMs, limit }) =>
      run(async ({ db, plus }) => {
        const rows = await db
          .selectFrom('x402_authorizations')
          .select(ENTRY_COLUMNS)
          .where('state', '=', state)
          .where('updated_at', '>=', plus(-Math.ceil(withinMs)))
          .orderBy('updated_at', 'desc')
          .limit(limit)
          .execute()
        return rows.map((row) => ({ ...entryOf(row), id: row.id, state }))
      }),

    list: ({ project, id, state, from, until, after, limit }) =>
      run(async ({ db, now }) => {
        let select = db
          .selectFrom('x402_authorizations')
          .selectAll()
          .select(now.as('now'))
          .where('project', '=', project)
          .where((where) =>
            where.or([
              where('state', '!=', 'reserved'),
              where('lock_owner', 'is', null),
              where('locked_until', '>=', now),
            ]),
          )
        if (id !== undefined) select = select.where('id', '=', id)
        if (state !== undefined) select = select.where('state', '=', state)
        if (from !== undefined) select = select.where('created_at', '>=', from)
        if (until !== undefined) select = select.where('created_at', '<', until)
        if (after !== undefined)
          select = select.where((where) =>
            where.or([
              where('created_at', '<', after.createdAt),
              where.and([where('created_at', '=', after.createdAt), where('id', '<', after.id)]),
            ]),
          )
        const rows = await select
          .orderBy('created_at', 'desc')
          .orderBy('id', 'desc')
          .limit(limit)
          .execute()
        return rows.map(toRecord)
      }),
  }
}
