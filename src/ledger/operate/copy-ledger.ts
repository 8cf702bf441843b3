/** Copies a ledger into another database, while gateways use the first. */
import type { SqlDatabase } from '../engine/store.js'
import { ConfigError } from '../../errors.js'
import { hexOf } from '../../protocol/hex.js'
import type { Row as TypedRow } from '../schema/tables.js'
import { UNFINISHED_COPY } from '../schema/migrate.js'

/** Rows that one statement reads or writes: fewer than 32,766 parameters, the limit of SQLite. */
const PAGE = 500

/** The key of each table that is copied. Sessions, and the marks of living processes, stay behind. */
const KEYS = {
  x402_secrets: ['name'],
  x402_idempotency: ['key'],
  x402_relayer_nonces: ['chain_id', 'relayer'],
  x402_relayer_transactions: ['chain_id', 'relayer', 'account_nonce'],
  x402_relayer_alerts: ['chain_id', 'relayer'],
  x402_counts: ['project', 'day', 'kind', 'label'],
  x402_versions: ['name'],
  x402_projects: ['id'],
  x402_project_tokens: ['id'],
  x402_audit_log: ['position'],
  x402_webhook_deliveries: ['id'],
  // Last: payments that are copied while there are endpoints would be reported to them again.
  x402_webhook_endpoints: ['id'],
} as const

type CopiedTable = keyof typeof KEYS
type Table = CopiedTable | 'x402_authorizations'
type Row = Readonly<Record<string, unknown>>

/** How a copy is watched and ended. */
export interface CopyOptions {
  /** Is told of the payments that were read by now. */
  readonly onRead: (count: number) => void
  readonly signal: AbortSignal
}

/** What a copy consists of. */
export interface LedgerCopy {
  /** Payments and refunds in the target. */
  readonly payments: number
  readonly projects: number
  readonly tokens: number
  readonly webhooks: number
  /** Rows that gateways have changed in the source meanwhile. If there are any, the target cannot be used yet. */
  readonly changed: number
  /** What was settled, in atomic units. */
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
 * copy up to date. No gateway starts on the target before a run has found both alike.
 *
 * @throws `ConfigError` if the target has payments that the source does not know. Nothing is changed then.
 */
export async function copyLedger(
  source: SqlDatabase,
  target: SqlDatabase,
  options: CopyOptions,
): Promise<LedgerCopy> {
  await requireOwnCopy(source, target, options.signal)
  await mark(target)
  await clear(target, 'x402_webhook_endpoints')
  await comparePayments(source, target, {
    ...options,
    write: (rows) => writePayments(target, rows),
  })
  for (const table of Object.keys(KEYS) as CopiedTable[])
    await copyTable(table, { source, target }, options.signal)
  const { behind, payments, settled } = await comparePayments(source, target, {
    signal: options.signal,
  })
  const [others, projects, tokens, webhooks] = await Promise.all([
    differingCounts(source, target),
    countOf(target, 'x402_projects'),
    countOf(target, 'x402_project_tokens'),
    countOf(target, 'x402_webhook_endpoints'),
  ])
  const changed = behind + others
  if (changed === 0) await unmark(target)
  return { payments, projects, tokens, webhooks, changed, settled }
}

/** Copies a table that has no rows of its own in the target. */
async function copyTable(
  table: CopiedTable,
  { source, target }: Readonly<Record<'source' | 'target', SqlDatabase>>,
  signal: AbortSignal,
): Promise<void> {
  await clear(target, table)
  for await (const rows of pagesOf(source, table, KEYS[table])) {
    signal.throwIfAborted()
    await target.db.insertInto(table).values(rows).execute()
  }
}

/** Walks both ledgers in the order of ids, and hands those rows to `write` that the target lacks or has otherwise. */
async function comparePayments(
  source: SqlDatabase,
  target: SqlDatabase,
  {
    write,
    onRead,
    signal,
  }: Pick<CopyOptions, 'signal'> &
    Partial<CopyOptions> & { readonly write?: (rows: readonly Row[]) => Promise<void> },
) {
  const ours = new Rows(pagesOf(source, 'x402_authorizations', ['id']))
  const theirs = new Rows(pagesOf(target, 'x402_authorizations', ['id']))
  const sums = new Map<string, SettledSum>()
  let [payments, behind, foreign, read] = [0, 0, 0, 0]
  let lacking: Row[] = []
  let [one, other] = [await ours.next(), await theirs.next()]
  while (one !== undefined || other !== undefined) {
    signal.throwIfAborted()
    const order = compareIds(one, other)
    if (order <= 0) onRead?.(++read)
    if (order >= 0) payments++
    if (order > 0 || (order === 0 && Number(other!['updated_at']) > Number(one!['updated_at'])))
      foreign++
    else if (order < 0 || textOf(one!) !== textOf(other!)) {
      behind++
      lacking.push(one!)
    }
    if (order >= 0) addTo(sums, other as unknown as TypedRow<'x402_authorizations'>)
    if (lacking.length >= PAGE) {
      await write?.(lacking)
      lacking = []
    }
    if (order <= 0) one = await ours.next()
    if (order >= 0) other = await theirs.next()
  }
  if (lacking.length > 0) await write?.(lacking)
  return { payments, behind, foreign, settled: [...sums.values()] }
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
async function* pagesOf(
  { db, sql }: SqlDatabase,
  table: Table,
  key: readonly string[],
): AsyncGenerator<readonly Row[]> {
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

/** @throws `ConfigError` if the target is more than an earlier copy of the source. */
async function requireOwnCopy(
  source: SqlDatabase,
  target: SqlDatabase,
  signal: AbortSignal,
): Promise<void> {
  const [ours, theirs] = await Promise.all([secretsOf(source), secretsOf(target)])
  const isOther = [...theirs].some(([name, secret]) => ours.get(name) !== secret)
  const { foreign } = isOther ? { foreign: 1 } : await comparePayments(source, target, { signal })
  if (foreign > 0)
    throw new ConfigError(
      'to',
      'the target has been used by a gateway, and has what the source does not know: copy into an empty database',
      'unusable_ledger',
    )
}

async function secretsOf({ db }: SqlDatabase): Promise<ReadonlyMap<string, string>> {
  const rows = await db.selectFrom('x402_secrets').selectAll().execute()
  return new Map(rows.map(({ name, secret }) => [name, secret]))
}

/** Tables, beside that of payments, that have other numbers of rows in both ledgers. */
async function differingCounts(source: SqlDatabase, target: SqlDatabase): Promise<number> {
  const counts = await Promise.all(
    (Object.keys(KEYS) as CopiedTable[]).map(async (table) => [
      await countOf(source, table),
      await countOf(target, table),
    ]),
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

async function clear({ db }: SqlDatabase, table: CopiedTable): Promise<void> {
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

async function unmark({ db }: SqlDatabase): Promise<void> {
  await db.deleteFrom('x402_migrations').where('name', '=', UNFINISHED_COPY).execute()
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
    value: value + BigInt(row.value),
  })
}
