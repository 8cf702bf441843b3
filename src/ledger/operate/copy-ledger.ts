/** Copies a ledger into another database, while gateways use the first. */
import type { SqlDatabase } from '../engine/store.js'
import { ConfigError } from '../../shared/errors.js'
import { hexOf } from '../../shared/protocol/hex.js'
import { keyOf, TABLES, type Row as TypedRow } from '../schema/tables.js'
import { UNFINISHED_COPY } from '../schema/migrate.js'

/** Rows that one statement reads or writes: fewer than 32,766 parameters, the limit of SQLite. */
const PAGE = 500

type Table = keyof typeof TABLES

/** Tables that are not copied row by row: payments are compared; sessions and living processes stay behind. */
const OTHERS: readonly Table[] = ['x402_authorizations', 'x402_console_sessions', 'x402_owners']

/** Last: payments that are copied while there are endpoints would be reported to them again. */
const ENDPOINTS = 'x402_webhook_endpoints'

const COPIED: readonly Table[] = [
  ...(Object.keys(TABLES) as Table[]).filter((table) => ![...OTHERS, ENDPOINTS].includes(table)),
  ENDPOINTS,
]

type Row = Readonly<Record<string, unknown>>

/** How a copy is watched and ended. */
export interface CopyOptions {
  /** Is told of the payments that were read by now. */
  readonly onRead: (count: number) => void
  /** No gateway uses the source any more: once both ledgers are alike, gateways may use the target. */
  readonly isLast: boolean
  readonly signal: AbortSignal
}

/** The contents of a copy. */
export interface LedgerCopy {
  /** Payments and refunds in the target. */
  readonly payments: number
  readonly projects: number
  readonly tokens: number
  readonly webhooks: number
  /** Both ledgers are alike, and gateways may use the target. */
  readonly isComplete: boolean
  /** Sums of settled payments, in atomic units. */
  readonly settled: readonly SettledSum[]
}

/** The settled payments in one token. */
export interface SettledSum {
  readonly chainId: number
  readonly asset: string
  readonly payments: number
  readonly value: bigint
}

/**
 * Copies payments, projects, tokens, webhooks, secrets, counts and the transactions of relayers, and compares
 * the payments of both ledgers row by row. May be run again: it goes on where it was interrupted, and brings a
 * copy up to date. No gateway starts on the target before the last run has found both alike.
 *
 * @throws `ConfigError` if the target is in use, or the source is an unfinished copy. Nothing is changed then.
 */
export async function copyLedger(
  source: SqlDatabase,
  target: SqlDatabase,
  { isLast, ...options }: CopyOptions,
): Promise<LedgerCopy> {
  if (await isMarked(source))
    throw new ConfigError('from', 'is a copy that was not finished', 'unusable_ledger')
  if (!(await isMarked(target))) await requireEmpty(target)
  await mark(target)
  await clear(target, ENDPOINTS)
  await comparePayments(source, target, {
    ...options,
    write: (rows) => writePayments(target, rows),
    remove: (ids) => target.db.deleteFrom('x402_authorizations').where('id', 'in', ids).execute(),
  })
  for (const table of COPIED) await copyTable(table, { source, target }, options.signal)
  const { different, payments, settled } = await comparePayments(source, target, {
    signal: options.signal,
  })
  const [others, projects, tokens, webhooks] = await Promise.all([
    differingCounts(source, target),
    countOf(target, 'x402_projects'),
    countOf(target, 'x402_project_tokens'),
    countOf(target, 'x402_webhook_endpoints'),
  ])
  const isComplete = isLast && different + others === 0
  if (isComplete)
    await target.db.deleteFrom('x402_migrations').where('name', '=', UNFINISHED_COPY).execute()
  return { payments, projects, tokens, webhooks, isComplete, settled }
}

/** Copies a table that has no rows of its own in the target. */
async function copyTable(
  table: Table,
  { source, target }: Readonly<Record<'source' | 'target', SqlDatabase>>,
  signal: AbortSignal,
): Promise<void> {
  await clear(target, table)
  for await (const rows of pagesOf(source, table)) {
    signal.throwIfAborted()
    await target.db.insertInto(table).values(rows).execute()
  }
}

/** Actions of a comparison for payments that differ. */
interface Comparison extends Partial<Pick<CopyOptions, 'onRead'>>, Pick<CopyOptions, 'signal'> {
  /** Takes rows that the target lacks, or has otherwise. */
  readonly write?: (rows: readonly Row[]) => Promise<void>
  /** Takes ids that the source does not have any more. */
  readonly remove?: (ids: readonly Uint8Array[]) => Promise<unknown>
}

/** Walks both ledgers in the order of ids. */
async function comparePayments(
  source: SqlDatabase,
  target: SqlDatabase,
  { write, remove, onRead, signal }: Comparison,
) {
  const ours = new Rows(pagesOf(source, 'x402_authorizations'))
  const theirs = new Rows(pagesOf(target, 'x402_authorizations'))
  const sums = new Map<string, SettledSum>()
  let [payments, different, read] = [0, 0, 0]
  let lacking: Row[] = []
  let surplus: Uint8Array[] = []
  const flush = async (): Promise<void> => {
    if (surplus.length > 0) await remove?.(surplus)
    if (lacking.length > 0) await write?.(lacking)
    lacking = []
    surplus = []
  }
  let [one, other] = [await ours.next(), await theirs.next()]
  while (one !== undefined || other !== undefined) {
    signal.throwIfAborted()
    const order = compareIds(one, other)
    if (order <= 0) onRead?.(++read)
    if (order >= 0) {
      payments++
      addTo(sums, other as unknown as TypedRow<'x402_authorizations'>)
    }
    if (order > 0) surplus.push(other!['id'] as Uint8Array)
    else if (order < 0 || textOf(one!) !== textOf(other!)) lacking.push(one!)
    if (order !== 0 || lacking.at(-1) === one) different++
    if (Math.max(lacking.length, surplus.length) >= PAGE) await flush()
    if (order <= 0) one = await ours.next()
    if (order >= 0) other = await theirs.next()
  }
  await flush()
  return { payments, different, settled: [...sums.values()] }
}

/** Reads rows one by one. */
class Rows {
  readonly #pages: AsyncGenerator<readonly Row[]>
  #page: readonly Row[] = []
  #index = 0

  constructor(pages: AsyncGenerator<readonly Row[]>) {
    this.#pages = pages
  }

  async next(): Promise<Row | undefined> {
    if (this.#index === this.#page.length) {
      const { value, done } = await this.#pages.next()
      if (done) return undefined
      this.#page = value
      this.#index = 0
    }
    return this.#page[this.#index++]
  }
}

async function writePayments({ db }: SqlDatabase, rows: readonly Row[]): Promise<void> {
  const columns = Object.keys(rows[0]!) as (keyof TypedRow<'x402_authorizations'>)[]
  await db
    .insertInto('x402_authorizations')
    .values(rows as never)
    .onConflict((conflict) =>
      conflict
        .column('id')
        .doUpdateSet((row) =>
          Object.fromEntries(columns.map((column) => [column, row.ref(`excluded.${column}`)])),
        ),
    )
    .execute()
}

/** Reads a table page by page, in the order of its key. */
async function* pagesOf({ db, sql }: SqlDatabase, table: Table): AsyncGenerator<readonly Row[]> {
  const key = keyOf(table)
  const columns = sql.join(key.map((column) => sql.ref(column)))
  let after = sql``
  for (;;) {
    const { rows } = await sql<Row>`SELECT * FROM ${sql.table(table)} ${after}
      ORDER BY ${columns} LIMIT ${sql.lit(PAGE)}`.execute(db)
    const last = rows.at(-1)
    if (last === undefined) return
    yield rows
    after = sql`WHERE (${columns}) > (${sql.join(key.map((column) => last[column]))})`
  }
}

/** @throws `ConfigError` if a gateway has used the target, or an earlier copy into it is complete. */
async function requireEmpty(target: SqlDatabase): Promise<void> {
  for (const table of Object.keys(TABLES) as Table[]) {
    // The versions are made with the tables.
    if (table === 'x402_versions' || (await countOf(target, table)) === 0) continue
    throw new ConfigError(
      'to',
      `is a ledger already (${table} has rows): copy into an empty database`,
      'unusable_ledger',
    )
  }
}

/** Counts the tables, apart from payments, with other numbers of rows in both ledgers. */
async function differingCounts(source: SqlDatabase, target: SqlDatabase): Promise<number> {
  const counts = await Promise.all(
    COPIED.map(async (table) => [await countOf(source, table), await countOf(target, table)]),
  )
  return counts.filter(([one, other]) => one !== other).length
}

async function countOf({ db }: SqlDatabase, table: Table): Promise<number> {
  const { count } = await db
    .selectFrom(table)
    .select((where) => where.fn.countAll().as('count'))
    .executeTakeFirstOrThrow()
  return Number(count)
}

async function clear({ db }: SqlDatabase, table: Table): Promise<void> {
  await db.deleteFrom(table).execute()
}

/** Has gateways refuse to start on an unfinished copy: they would honour payments a second time. */
async function mark({ db }: SqlDatabase): Promise<void> {
  await db
    .insertInto('x402_migrations')
    .values({ name: UNFINISHED_COPY })
    .onConflict((conflict) => conflict.doNothing())
    .execute()
}

async function isMarked({ db }: SqlDatabase): Promise<boolean> {
  const found = await db
    .selectFrom('x402_migrations')
    .select('name')
    .where('name', '=', UNFINISHED_COPY)
    .executeTakeFirst()
  return found !== undefined
}

/** Negative if the first comes first, or alone. */
function compareIds(one: Row | undefined, other: Row | undefined): number {
  if (one === undefined) return 1
  if (other === undefined) return -1
  return Buffer.compare(one['id'] as Uint8Array, other['id'] as Uint8Array)
}

/** The same of a row in both databases: `pg` reads large numbers as text. */
function textOf(row: Row): string {
  const columns = Object.keys(row).toSorted()
  return JSON.stringify(
    columns.map((column) => {
      const value = row[column]
      if (value instanceof Uint8Array) return hexOf(value)
      return typeof value === 'number' || typeof value === 'bigint' ? value.toString() : value
    }),
  )
}

function addTo(sums: Map<string, SettledSum>, row: TypedRow<'x402_authorizations'>): void {
  if (row.state !== 'settled' || row.kind === 'refund') return
  const chainId = Number(row.chain_id)
  const asset = hexOf(row.asset)
  const { payments = 0, value = 0n } = sums.get(`${chainId} ${asset}`) ?? {}
  sums.set(`${chainId} ${asset}`, {
    chainId,
    asset,
    payments: payments + 1,
    value: value + BigInt(row.charged ?? row.value),
  })
}
