/** The lists of records: pages of one project, or of all. */
import type { ExpressionBuilder } from 'kysely'
import { bytesOf } from '../../protocol/hex.js'
import type { Hex } from '../../protocol/payment.js'
import { EVERY_PROJECT, type LatestQuery, type LedgerQuery } from '../record.js'
import type { LedgerRecord, RecordSearch } from '../record.js'
import { REMOTE_SUBMISSION } from '../record-transaction.js'
import { LISTED_COLUMNS, type TimedRow } from './rows.js'
import { idBytes, idOf } from '../engine/bytes.js'
import { isFound, type IndexedSearch } from './record-search.js'
import { projectsOf } from '../projects/recorded-projects.js'
import type { LedgerDatabase } from '../schema/schema.js'
import { timeOnce, type SqlDatabase } from '../engine/store.js'

const STATES = ['reserved', 'submitted', 'settled', 'failed'] as const

/** Projects whose pages one statement reads: a page of each state is a part of it. */
const PROJECTS_AT_ONCE = 50

/** Records of one transaction that are looked at. A batch is smaller. */
const MAX_BATCH = 500

type Where = ExpressionBuilder<LedgerDatabase, 'x402_authorizations'>

/** Where a page is: of one project, or of payments without one. */
type PageQuery = Omit<LedgerQuery, 'project' | 'search'> & {
  readonly project: string | null
  readonly search: IndexedSearch | undefined
}

/** Reads the rows of a list, newest first. */
export async function listRows(
  database: SqlDatabase,
  { search, ...query }: LedgerQuery,
): Promise<readonly TimedRow[]> {
  if (search !== undefined && 'transaction' in search)
    return listBatch(database, { ...query, search })
  const { project } = query
  if (project !== EVERY_PROJECT) return listPages(database, [{ ...query, project, search }])
  if (query.id !== undefined) return listOne(database, { ...query, id: query.id })
  const projects = await projectsOf(database, search)
  let rows: readonly TimedRow[] = []
  for (let start = 0; start < projects.length; start += PROJECTS_AT_ONCE) {
    const some = projects.slice(start, start + PROJECTS_AT_ONCE)
    const pages = some.map((one) => ({ ...query, project: one, search }))
    rows = [...rows, ...(await listPages(database, pages))].toSorted(newestFirst)
    rows = rows.slice(0, query.limit)
  }
  return rows
}

/** The records of several projects, merged. Each page is read from its newest record. */
async function listPages(
  database: SqlDatabase,
  queries: readonly PageQuery[],
): Promise<readonly TimedRow[]> {
  const { db, now } = database
  const [{ state, limit } = { state: undefined, limit: 0 }] = queries
  // The indexes of lists begin with project and state.
  const [first, ...others] = queries.flatMap((query, index) =>
    (state === undefined ? STATES : [state]).map((one) =>
      db.selectFrom(pageOf(database, { ...query, state: one }).as(`${one}_${index}`)).selectAll(),
    ),
  )
  if (first === undefined) return []
  const all = others.reduce((sum, one) => sum.unionAll(one), first)
  const ids = db
    .selectFrom(all.as('listed'))
    .selectAll()
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .limit(limit)
  return db
    .selectFrom('x402_authorizations as a')
    .innerJoin(ids.as('page'), 'page.id', 'a.id')
    .select(LISTED_COLUMNS.map((name) => `a.${name}` as const))
    .select(now.as('now'))
    .orderBy('a.created_at', 'desc')
    .orderBy('a.id', 'desc')
    .execute()
}

/** Places of a page of one state, newest first. */
function pageOf(
  { db, now }: SqlDatabase,
  {
    project,
    id,
    search,
    state,
    from,
    until,
    after,
    limit,
  }: PageQuery & Pick<LedgerRecord, 'state'>,
) {
  let select = db
    .selectFrom('x402_authorizations')
    .select(['created_at', 'id'])
    .where('project', project === null ? 'is' : '=', project)
    .where('state', '=', state)
    .where('kind', '=', 'payment')
  if (state === 'reserved')
    select = select.where((where) =>
      where.or([where('lock_owner', 'is', null), where('locked_until', '>=', now)]),
    )
  if (search !== undefined) select = select.where((where) => isFound(where, search))
  if (id !== undefined) select = select.where('id', '=', idBytes(id))
  if (from !== undefined) select = select.where('created_at', '>=', from)
  if (until !== undefined) select = select.where('created_at', '<', until)
  if (after !== undefined) select = select.where((where) => comparedTo(where, '<', after))
  return select.orderBy('created_at', 'desc').orderBy('id', 'desc').limit(limit)
}

/** The record of an id, whatever its project. */
async function listOne(
  { db, now }: SqlDatabase,
  { id, ...query }: LedgerQuery & { readonly id: string },
): Promise<readonly TimedRow[]> {
  const rows = await db
    .selectFrom('x402_authorizations')
    .select(LISTED_COLUMNS)
    .select(now.as('now'))
    .where('id', '=', idBytes(id))
    .execute()
  return rows.filter(matching(query))
}

/** The records of a transaction: few, so that the rest of the query is compared here. */
async function listBatch(
  { db, now }: SqlDatabase,
  { search, ...query }: LedgerQuery & { readonly search: RecordSearch & { transaction: Hex } },
): Promise<readonly TimedRow[]> {
  // Stands for transactions that only a remote facilitator knows.
  if (search.transaction === REMOTE_SUBMISSION.transaction) return []
  const rows = await db
    .selectFrom('x402_authorizations')
    .select(LISTED_COLUMNS)
    .select(now.as('now'))
    .where('transaction_hash', '=', bytesOf(search.transaction))
    .limit(MAX_BATCH)
    .execute()
  return rows.filter(matching(query)).toSorted(newestFirst).slice(0, query.limit)
}

function matching({ project, id, state, from = 0, until = Infinity, after }: LedgerQuery) {
  return (row: TimedRow): boolean => {
    const createdAt = Number(row.created_at)
    return (
      (project === EVERY_PROJECT || row.project === project) &&
      row.kind === 'payment' &&
      (id === undefined || idOf(row.id) === id) &&
      (state === undefined || row.state === state) &&
      (row.state !== 'reserved' || row.lock_owner === null || row.locked_until >= row.now) &&
      createdAt >= from &&
      createdAt < until &&
      (after === undefined || newestFirst(positionOf(after), row) < 0)
    )
  }
}

function newestFirst(
  one: Pick<TimedRow, 'created_at' | 'id'>,
  other: Pick<TimedRow, 'created_at' | 'id'>,
): number {
  const later = Number(other.created_at) - Number(one.created_at)
  return later || Buffer.compare(other.id, one.id)
}

function positionOf({ createdAt, id }: Pick<LedgerRecord, 'createdAt' | 'id'>) {
  return { created_at: createdAt, id: idBytes(id) }
}

/** Compares creation time and id with those of another record. */
export function comparedTo(
  where: Where,
  operator: '<' | '>',
  { createdAt, id }: Pick<LedgerRecord, 'createdAt' | 'id'>,
) {
  return where(where.refTuple('created_at', 'id'), operator, where.tuple(createdAt, idBytes(id)))
}

/** Reads the rows of what has just happened: each state by an index of its own. */
export async function latestRows(
  { db, now, plus }: SqlDatabase,
  { withinMs, limit }: LatestQuery,
): Promise<readonly TimedRow[]> {
  const rows = db
    .selectFrom('x402_authorizations')
    .select(LISTED_COLUMNS)
    .select(now.as('now'))
    .limit(limit)
  const ofState = (state: 'settled' | 'failed'): Promise<readonly TimedRow[]> =>
    rows
      .where('state', '=', state)
      .where('updated_at', '>=', timeOnce(db, plus(-Math.ceil(withinMs))))
      .orderBy('updated_at', 'desc')
      .execute()
  const submitted = await rows
    .where('state', '=', 'submitted')
    .orderBy('created_at', 'desc')
    .execute()
  // In this order, so that what moves on meanwhile is seen in one of them.
  return [...submitted, ...(await ofState('settled')), ...(await ofState('failed'))]
}
