import type { LedgerRecord } from '../record.js'
import { isFound, type IndexedSearch } from '../payments/record-search.js'
import type { SqlDatabase } from '../engine/store.js'

/** The projects that have records, and `null`. Each is one look-up in an index. */
export async function projectsOf(
  database: Pick<SqlDatabase, 'db'>,
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
  { db }: Pick<SqlDatabase, 'db'>,
  states: readonly [LedgerRecord['state'], LedgerRecord['state']],
  search: IndexedSearch | undefined,
): Promise<readonly string[]> {
  const least = (from: Pick<typeof db, 'selectFrom'>) => {
    const select = from
      .selectFrom('x402_authorizations')
      .select((where) => where.fn.min('x402_authorizations.project').as('project'))
      .where((where) => where.or(states.map((state) => where('state', '=', state))))
    return search === undefined ? select : select.where((where) => isFound(where, search))
  }
  const rows = await db
    .withRecursive('found(project)', (from) =>
      least(from).unionAll(
        from
          .selectFrom('found')
          .where('found.project', 'is not', null)
          .select(() =>
            least(db)
              .whereRef('x402_authorizations.project', '>', 'found.project' as never)
              .as('project'),
          ),
      ),
    )
    .selectFrom('found')
    .select('project')
    .where('project', 'is not', null)
    .execute()
  return rows.flatMap(({ project }) => project ?? [])
}
