/** The lists of records: pages of one project, or of all. */
import type { ExpressionBuilder, RawBuilder } from 'kysely'
import { bytesOf } from '../../shared/protocol/hex.js'
import type { Hex } from '../../shared/protocol/payment.js'
import { resourceHash } from '../payment-details.js'
import { EVERY_PROJECT } from '../record.js'
import type { FinalQuery, LedgerQuery, LedgerRecord, RecordSearch } from '../record.js'
import { REMOTE_SUBMISSION } from '../record-transaction.js'
import type { TimedRow } from './rows.js'
import { idBytes, idOf } from '../engine/bytes.js'
import { FINAL, type LedgerDatabase } from '../schema/tables.js'
import { timeOnce, type SqlDatabase } from '../engine/store.js'

/** Records of one transaction that are read. A batch is smaller. */
const MAX_FEW = 800

const STATES = ['reserved', 'submitted', 'settled', 'failed'] as const

type State = (typeof STATES)[number]

type Where = ExpressionBuilder<LedgerDatabase, 'x402_authorizations'>

interface PageQuery extends Omit<LedgerQuery, 'id' | 'state'> {
  /** @defaultValue all */
  readonly states?: readonly State[] | undefined
}

/** Reads the rows of a list: newest first, or by what a search for a beginning compares. */
export async function listRows(
  database: SqlDatabase,
  { state, ...query }: LedgerQuery,
): Promise<readonly TimedRow[]> {
  const { id, search } = query
  if (id !== undefined)
    return listFew(database, { ...query, state }, database.sql<boolean>`id = ${idBytes(id)}`)
  if (search !== undefined && 'transaction' in search)
    return listFew(database, { ...query, state }, sqlTransaction(database, search.transaction))
  return listPage(database, { ...query, ...(state && { states: [state] }) })
}

/**
 * Reads a page. Of each state, an index is walked from where the page begins, as far as the page is long.
 *
 * @param order - Of time. What a search for a beginning finds is always sorted ascendingly by its own key.
 */
export async function listPage(
  database: SqlDatabase,
  { states = STATES, ...query }: PageQuery,
  order: 'ASC' | 'DESC' = 'DESC',
): Promise<readonly TimedRow[]> {
  const { db, sql, now } = database
  const key = query.search && keyOf(query.search)
  const sorted = key === undefined ? ['created_at', 'id'] : [key, 'state', 'created_at', 'id']
  const direction = key === undefined ? order : 'ASC'
  const by = (columns: readonly string[]) =>
    sql.raw(columns.map((column) => `${column} ${direction}`).join(', '))
  // The index of a beginning has both final states in one order.
  const parts =
    key === undefined || states.length === 1
      ? states.map((state) => [state] as const)
      : ([['settled', 'failed'], ['reserved'], ['submitted']] as const)
  const walks = parts.map((part) => {
    const conditions = sql.join(
      conditionsOf(database, query, { part, sorted, direction }),
      sql` AND `,
    )
    return sql`SELECT * FROM (
      SELECT ${sql.raw(sorted.map((column, place) => `${column} AS k${place}`).join(', '))}
      FROM x402_authorizations ${sql.raw(indexedBy(database, query, part))}
      WHERE ${conditions} ORDER BY ${by(sorted)} LIMIT ${query.limit}) AS one`
  })
  const keys = sorted.map((_column, place) => `k${place}`)
  const { rows } = await sql<TimedRow>`
    SELECT a.*, ${now} AS now FROM x402_authorizations AS a JOIN (
      SELECT * FROM (${sql.join(walks, sql` UNION ALL `)}) AS walks ORDER BY ${by(keys)} LIMIT ${query.limit}
    ) AS page ON a.id = ${sql.ref(keys.at(-1)!)} ORDER BY ${by(keys)}`.execute(db)
  return rows
}

/** What a search for a beginning compares. @returns `undefined` for another search */
function keyOf(search: RecordSearch): string | undefined {
  if ('payerStart' in search) return 'payer'
  return 'referenceStart' in search ? 'reference' : undefined
}

interface Walk {
  readonly part: readonly State[]
  readonly sorted: readonly string[]
  readonly direction: 'ASC' | 'DESC'
}

/**
 * Has SQLite walk the index that the list was made for: it would choose by the statistics of a table that has
 * grown since, and of two columns that are equal it knows neither's share.
 */
function indexedBy(
  { locksRows }: SqlDatabase,
  { project, search, kind }: PageQuery,
  [state]: Walk['part'],
): string {
  const isOfAll = project === EVERY_PROJECT
  const nameOf = (): string => {
    if (state === 'reserved' || state === 'submitted') return 'pending'
    if (search === undefined && kind === 'refund') return isOfAll ? 'all_refunded' : 'refunded'
    if (search === undefined) return isOfAll ? 'all_listed' : 'listed'
    if ('payer' in search || 'payerStart' in search) return 'payer'
    if ('resource' in search) return 'resource'
    return isOfAll ? 'all_reference' : 'reference'
  }
  return locksRows ? '' : `INDEXED BY x402_authorizations_${nameOf()}`
}

function conditionsOf(
  { sql, now }: SqlDatabase,
  { project, search, kind = 'payment', chainId, from, until, after }: PageQuery,
  { part, sorted, direction }: Walk,
): readonly RawBuilder<unknown>[] {
  const [state] = part
  const all = [part.length > 1 ? sql.raw(FINAL) : sql`state = ${sql.lit(state)}`]
  if (state === 'reserved') all.push(sql`(lock_owner IS NULL OR locked_until >= ${now})`)
  if (project !== EVERY_PROJECT) all.push(sql`project = ${project}`)
  if (kind !== 'any') all.push(sql`kind = ${sql.lit(kind)}`)
  if (chainId !== undefined) all.push(sql`chain_id = ${chainId}`)
  if (from !== undefined) all.push(sql`created_at >= ${from}`)
  if (until !== undefined) all.push(sql`created_at < ${until}`)
  if (search !== undefined) all.push(...searchConditions({ sql }, search, after === undefined))
  if (after !== undefined) {
    const place: Readonly<Record<string, unknown>> = {
      id: idBytes(after.id),
      created_at: after.createdAt,
      state: after.state,
      payer: after.from && bytesOf(after.from),
      reference: after.details?.reference,
    }
    const places = sorted.map((column) => sql`${place[column]}`)
    const operator = sql.raw(direction === 'ASC' ? '>' : '<')
    all.push(sql`(${sql.raw(sorted.join(', '))}) ${operator} (${sql.join(places)})`)
  }
  return all
}

/** @param isFirst - Whether the page is the first: others begin where the one before has ended. */
function searchConditions(
  { sql }: Pick<SqlDatabase, 'sql'>,
  search: RecordSearch,
  isFirst: boolean,
): readonly RawBuilder<unknown>[] {
  if ('payer' in search) return [sql`payer = ${bytesOf(search.payer)}`]
  if ('resource' in search) return [sql`resource_hash = ${resourceHash(search.resource)}`]
  if ('payerStart' in search) {
    const [least, greatest] = ['0', 'f'].map((digit) =>
      bytesOf(search.payerStart.padEnd(42, digit) as Hex),
    )
    const end = bytesOf(`0x${search.payerEnd ?? ''}`)
    return [
      ...(isFirst ? [sql`payer >= ${least}`] : []),
      sql`payer <= ${greatest}`,
      ...(end.length > 0 ? [sql`substr(payer, ${sql.lit(21 - end.length)}) = ${end}`] : []),
    ]
  }
  if ('referenceStart' in search) {
    const { referenceStart: least } = search
    // No reference has the last character of Unicode, which follows all others.
    const end = sql`reference < ${`${least}\u{10FFFF}`}`
    return [...(isFirst ? [sql`reference >= ${least}`] : []), end]
  }
  return 'reference' in search ? [sql`reference = ${search.reference}`] : []
}

function sqlTransaction({ sql }: SqlDatabase, transaction: Hex) {
  // Stands for transactions that only a remote facilitator knows.
  if (transaction === REMOTE_SUBMISSION.transaction) return sql<boolean>`1 = 0`
  return sql<boolean>`transaction_hash = ${bytesOf(transaction)}`
}

/** The records of a condition that finds few: the rest of the query is compared here. */
async function listFew(
  database: SqlDatabase,
  query: LedgerQuery,
  condition: RawBuilder<boolean>,
): Promise<readonly TimedRow[]> {
  const { project, state, kind = 'payment', chainId, after, limit } = query
  const { from = 0, until = Infinity } = query
  const rows = await selectRecords(database).where(condition).limit(MAX_FEW).execute()
  const isListed = (row: TimedRow): boolean => {
    const createdAt = Number(row.created_at)
    return (
      (project === EVERY_PROJECT || row.project === project) &&
      (kind === 'any' || row.kind === kind) &&
      (chainId === undefined || Number(row.chain_id) === chainId) &&
      (query.id === undefined || idOf(row.id) === query.id) &&
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

/** Selects records, with the database's time. */
export function selectRecords({ db, now }: Pick<SqlDatabase, 'db' | 'now'>) {
  return db.selectFrom('x402_authorizations').selectAll().select(now.as('now'))
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
  return selectRecords({ db, now })
    .where('state', '=', state)
    .where('updated_at', '>=', timeOnce(db, plus(-Math.ceil(withinMs))))
    .where((where) => where(where.fn.coalesce('charged', where.val('')), '<>', '0'))
    .orderBy('updated_at', 'desc')
    .limit(limit)
    .execute()
}
