/** Changes since a time, oldest first, for bookkeeping. */
import { EVERY_PROJECT } from '../record.js'
import type { ChangedQuery, ChangePlace, LedgerRecord } from '../record.js'
import { idBytes, idOf } from '../engine/bytes.js'
import type { SqlDatabase } from '../engine/store.js'

/**
 * Places of one state that are read at once, of all projects: the index knows no project. So a project costs
 * no more than this, however much the others sell.
 */
const WINDOW = 400

/** In this order, so that what moves on meanwhile is seen in one of them. */
const STATES = ['submitted', 'settled', 'failed'] as const

/** The ids of a page, and where the next one begins. It may be empty, and not be the last. */
export interface ChangedIds {
  readonly ids: readonly string[]
  readonly next?: ChangePlace
}

export async function changedIds(database: SqlDatabase, query: ChangedQuery): Promise<ChangedIds> {
  const found: (ChangePlace & { readonly isWanted: boolean })[] = []
  let end: ChangePlace | undefined
  for (const state of query.state === undefined ? STATES : [query.state]) {
    const places = await readPlaces(database, query, state)
    found.push(...places)
    const last = places.length === WINDOW ? places.at(-1) : undefined
    // Beyond it, this state may have changes that were not read.
    if (last !== undefined && (end === undefined || compare(last, end) < 0)) end = last
  }
  const wanted = found
    .filter((one) => one.isWanted && (end === undefined || compare(one, end) <= 0))
    .toSorted(compare)
  const page = wanted.slice(0, query.limit)
  const next = page.length < wanted.length ? page.at(-1) : end
  // A record that moved on meanwhile was found twice.
  return { ids: [...new Set(page.map(({ id }) => id))], ...(next && { next }) }
}

async function readPlaces(
  { db }: SqlDatabase,
  { project, kind, chainId, since, after }: ChangedQuery,
  state: LedgerRecord['state'],
) {
  let select = db
    .selectFrom('x402_authorizations')
    .select(['id', 'updated_at', 'project', 'kind', 'chain_id'])
    .where('state', '=', state)
    .where('updated_at', '>=', Math.max(since, after?.updatedAt ?? 0))
  if (after !== undefined)
    select = select.where((where) =>
      where(
        where.refTuple('updated_at', 'id'),
        '>',
        where.tuple(after.updatedAt, idBytes(after.id)),
      ),
    )
  const rows = await select.orderBy('updated_at').orderBy('id').limit(WINDOW).execute()
  return rows.map((row) => ({
    id: idOf(row.id),
    updatedAt: Number(row.updated_at),
    isWanted:
      (project === EVERY_PROJECT || row.project === project) &&
      row.kind === kind &&
      (chainId === undefined || Number(row.chain_id) === chainId),
  }))
}

function compare(one: ChangePlace, other: ChangePlace): number {
  return one.updatedAt - other.updatedAt || (one.id < other.id ? -1 : Number(one.id !== other.id))
}
