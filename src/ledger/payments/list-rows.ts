/** The lists of records: pages of one project, or of all. */
import type { ExpressionBuilder, RawBuilder, SqlBool } from 'kysely'
import { bytesOf } from '../../shared/protocol/hex.js'
import type { Hex } from '../../shared/protocol/payment.js'
import { EVERY_PROJECT } from '../record.js'
import type { FinalQuery, LedgerQuery, LedgerRecord, PayerStart } from '../record.js'
import { REMOTE_SUBMISSION } from '../record-transaction.js'
import type { TimedRow } from './rows.js'
import { idBytes, idOf } from '../engine/bytes.js'
import { isFound, newestLists, REFUNDS, type IndexedSearch } from './recorded-projects.js'
import type { LedgerDatabase } from '../schema/tables.js'
import { timeOnce, type SqlDatabase } from '../engine/store.js'

/** Lists whose pages one statement reads. SQLite puts at most 500 together. */
const LISTS_AT_ONCE = 200

/** Records that are read together. A batch is smaller. */
const MAX_FEW = 400

type Where = ExpressionBuilder<LedgerDatabase, 'x402_authorizations'>

/** A page of one project, or of payments without one. */
interface PageQuery extends Pick<
  LedgerQuery,
  'kind' | 'chainId' | 'from' | 'until' | 'after' | 'limit'
> {
  readonly project: string | null | RawBuilder<string>
  readonly states: readonly LedgerRecord['state'][]
  readonly search?: IndexedSearch | undefined
}

/** Reads the rows of a list, newest first. */
export async function listRows(
  database: SqlDatabase,
  { search: asked, ...query }: LedgerQuery,
): Promise<readonly TimedRow[]> {
  const { project, state, kind = 'payment', chainId, from, until, after, limit } = query
  if (asked !== undefined && ('transaction' in asked || 'payerStart' in asked))
    return listFew(database, query, asked)
  if (query.id !== undefined) return listFew(database, query)
  const search = asked ?? (kind === 'refund' ? REFUNDS : undefined)
  const states = state ? [state] : (['reserved', 'submitted', 'settled', 'failed'] as const)
  const page = { states, search, kind, chainId, from, until, after, limit }
  if (project !== EVERY_PROJECT) return listPages(database, [{ ...page, project }])
  const newestOf = (of: LedgerRecord['state']) => {
    const one = { ...page, project: database.sql.ref<string>('found.project'), limit: 1 }
    return placesOf(database, { ...one, state: of }, 'desc')
      .clearSelect()
      .select('created_at')
  }
  const lists = await newestLists(database, { ...page, newestOf })
  // As many are newer than what was before.
  const newer = { ...page, from: Math.max(from ?? 0, lists[limit - 1]?.newest ?? 0) }
  const pages: PageQuery[] = [
    { ...newer, project: null },
    ...lists.map((list) => ({ ...newer, project: list.project, states: [list.state] })),
  ]
  let rows: readonly TimedRow[] = []
  for (let start = 0; start < pages.length; start += LISTS_AT_ONCE) {
    const some = await listPages(database, pages.slice(start, start + LISTS_AT_ONCE))
    rows = [...rows, ...some].toSorted(newestFirst).slice(0, limit)
  }
  return rows
}

/** The records of several projects, merged. Each page is read from where it begins. */
export async function listPages(
  database: SqlDatabase,
  queries: readonly PageQuery[],
  order: 'asc' | 'desc' = 'desc',
): Promise<readonly TimedRow[]> {
  const { db, now } = database
  // The indexes of lists begin with project and state.
  const [first, ...others] = queries.flatMap((query, index) =>
    query.states.map((state) => {
      const places = placesOf(database, { ...query, state }, order)
      return db.selectFrom(places.as(`${state}_${index}`)).selectAll()
    }),
  )
  if (first === undefined) return []
  const ids = db
    .selectFrom(others.reduce((sum, one) => sum.unionAll(one), first).as('listed'))
    .selectAll()
    .orderBy('created_at', order)
    .orderBy('id', order)
    .limit(queries[0]?.limit ?? 0)
  return db
    .selectFrom('x402_authorizations as a')
    .innerJoin(ids.as('page'), 'page.id', 'a.id')
    .selectAll('a')
    .select(now.as('now'))
    .orderBy('a.created_at', order)
    .orderBy('a.id', order)
    .execute()
}

/** The places of a page of one state. */
function placesOf(
  database: SqlDatabase,
  query: PageQuery & Pick<LedgerRecord, 'state'>,
  order: 'asc' | 'desc',
) {
  const { db, now } = database
  const { project, search, state, kind, chainId, from, until, after } = query
  let select = db
    .selectFrom('x402_authorizations')
    .select(['created_at', 'id'])
    .where('project', project === null ? 'is' : '=', project)
    .where('state', '=', state)
  if (state === 'reserved')
    select = select.where((where) =>
      where.or([where('lock_owner', 'is', null), where('locked_until', '>=', now)]),
    )
  if (kind !== 'any') select = select.where('kind', '=', database.sql.lit(kind ?? 'payment'))
  if (chainId !== undefined) select = select.where('chain_id', '=', chainId)
  if (search !== undefined) select = select.where(isFound(database, search))
  if (from !== undefined) select = select.where('created_at', '>=', from)
  if (until !== undefined) select = select.where('created_at', '<', until)
  if (after !== undefined)
    select = select.where((where) => comparedTo(where, order === 'asc' ? '>' : '<', after))
  return select.orderBy('created_at', order).orderBy('id', order).limit(query.limit)
}

/**
 * The ids of records whose payers begin so, up to one more than are few: the final ones of all projects, because their
 * index begins with the payer, and the pending ones of this project, so that no other project's can hide them.
 */
function startingWith(
  { db, sql }: SqlDatabase,
  { payerStart }: PayerStart,
  project: LedgerQuery['project'],
) {
  const [least, greatest] = ['0', 'f'].map((digit) => bytesOf(payerStart.padEnd(42, digit) as Hex))
  const select = db
    .selectFrom('x402_authorizations')
    .select('id')
    .where(sql<SqlBool>`payer BETWEEN ${least} AND ${greatest}`)
    .limit(MAX_FEW + 1)
  const final = select.where(sql<SqlBool>`(state = 'settled' OR state = 'failed')`)
  const allPending = select
    .where(sql<SqlBool>`(state = 'reserved' OR state = 'submitted')`)
    // By the index of the few that are under way, which has this order.
    .orderBy('project')
  const pending = project === EVERY_PROJECT ? allPending : allPending.where('project', '=', project)
  return { final, pending }
}

/** All of them, where {@link isFew}. */
function idsStartingWith(
  database: SqlDatabase,
  search: PayerStart,
  project: LedgerQuery['project'],
) {
  const { final, pending } = startingWith(database, search, project)
  return database.db
    .selectFrom(final.as('final'))
    .select('id')
    .unionAll(database.db.selectFrom(pending.as('pending')).select('id'))
}

/** Whether so few records begin so that they are read together. */
export async function isFew(
  database: SqlDatabase,
  search: PayerStart,
  project: LedgerQuery['project'],
): Promise<boolean> {
  const { final, pending } = startingWith(database, search, project)
  for (const some of [final, pending]) if ((await some.execute()).length > MAX_FEW) return false
  return true
}

/** The records of an id or a search that finds few, so that the rest of the query is compared here. */
async function listFew(
  database: SqlDatabase,
  query: LedgerQuery,
  search?: { readonly transaction: Hex } | PayerStart,
): Promise<readonly TimedRow[]> {
  const { db, now } = database
  // Stands for transactions that only a remote facilitator knows.
  if (search && 'transaction' in search && search.transaction === REMOTE_SUBMISSION.transaction)
    return []
  const { project, id = '', state, kind = 'payment', chainId, after, limit } = query
  const { from = 0, until = Infinity } = query
  const select = db
    .selectFrom('x402_authorizations as a')
    .selectAll('a')
    .select(now.as('now'))
    .limit(2 * MAX_FEW)
  const few =
    search === undefined
      ? select.where('a.id', '=', idBytes(id))
      : 'transaction' in search
        ? select.where('a.transaction_hash', '=', bytesOf(search.transaction))
        : select.innerJoin(idsStartingWith(database, search, project).as('few'), 'few.id', 'a.id')
  const rows = await few.execute()
  const isListed = (row: TimedRow): boolean => {
    const createdAt = Number(row.created_at)
    return (
      (project === EVERY_PROJECT || row.project === project) &&
      (kind === 'any' || row.kind === kind) &&
      (chainId === undefined || Number(row.chain_id) === chainId) &&
      (query.id === undefined || idOf(row.id) === id) &&
      (state === undefined || row.state === state) &&
      (row.state !== 'reserved' || row.lock_owner === null || row.locked_until >= row.now) &&
      createdAt >= from &&
      createdAt < until &&
      (after === undefined ||
        newestFirst({ created_at: after.createdAt, id: idBytes(after.id) }, row) < 0)
    )
  }
  return rows.filter(isListed).toSorted(newestFirst).slice(0, limit)
}

type Place = Pick<TimedRow, 'created_at' | 'id'>

function newestFirst(one: Place, other: Place): number {
  const later = Number(other.created_at) - Number(one.created_at)
  return later || Buffer.compare(other.id, one.id)
}

/** Compares creation time and id with those of another record. */
export function comparedTo(
  where: Where,
  operator: '<' | '>',
  { createdAt, id }: Pick<LedgerRecord, 'createdAt' | 'id'>,
) {
  return where(where.refTuple('created_at', 'id'), operator, where.tuple(createdAt, idBytes(id)))
}

/** Reads the rows that became final recently and that a transaction was sent for, the last ones first. */
export function finalRows(
  { db, now, plus }: SqlDatabase,
  { state, withinMs, limit }: FinalQuery,
): Promise<readonly TimedRow[]> {
  return db
    .selectFrom('x402_authorizations')
    .selectAll()
    .select(now.as('now'))
    .where('state', '=', state)
    .where('updated_at', '>=', timeOnce(db, plus(-Math.ceil(withinMs))))
    .where((where) => where(where.fn.coalesce('charged', where.val('')), '<>', '0'))
    .orderBy('updated_at', 'desc')
    .limit(limit)
    .execute()
}
