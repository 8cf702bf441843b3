/** Copies a ledger that no gateway uses into another database. */
import type { SqlDatabase } from '../engine/store.js'
import { ConfigError } from '../../shared/errors.js'
import { hexOf } from '../../shared/protocol/hex.js'
import { keyOf, TABLES, type Row as TypedRow } from '../schema/tables.js'

/** Rows that one statement reads or writes: fewer than 32,766 parameters, the limit of SQLite. */
const PAGE = 500

type Table = keyof typeof TABLES

const PAYMENTS = 'x402_authorizations'

/** Last: payments that are copied while there are endpoints would be reported to them again. */
const ENDPOINTS = 'x402_webhook_endpoints'

/** All but sessions and living processes. */
const COPIED: readonly Table[] = [
  ...(Object.keys(TABLES) as Table[]).filter(
    (table) => !['x402_console_sessions', 'x402_owners', ENDPOINTS].includes(table),
  ),
  ENDPOINTS,
]

type Row = Readonly<Record<string, unknown>>

export interface CopySource extends SqlDatabase {
  /** Whether a gateway that has worked on a payment lives. Without sessions, as behind a pooler, it is not seen. */
  readonly isInUse: () => Promise<boolean>
}

export interface CopyOptions {
  /** Is told of the payments that were copied by now. */
  readonly onCopied: (count: number) => void
  readonly signal: AbortSignal
}

export interface LedgerCopy {
  /** Payments and refunds. */
  readonly payments: number
  readonly projects: number
  readonly tokens: number
  readonly webhooks: number
  readonly settled: readonly SettledSum[]
}

export interface SettledSum {
  readonly chainId: number
  readonly asset: string
  readonly payments: number
  readonly value: bigint
}

/**
 * Copies payments, projects, tokens, webhooks, secrets, counts and the transactions of relayers in one
 * transaction, and compares both ledgers: the counts of all tables, and the payments row by row.
 *
 * @throws `ConfigError` if a gateway uses the source, or the target holds anything. Nothing is copied then.
 */
export async function copyLedger(
  source: CopySource,
  target: SqlDatabase,
  options: CopyOptions,
): Promise<LedgerCopy> {
  if (await source.isInUse())
    throw new ConfigError('from', 'is used by a gateway: stop all its gateways', 'unusable_ledger')
  return target.db.transaction().execute(async (transaction) => {
    const copy = { ...target, db: transaction }
    await requireEmpty(copy)
    for (const table of COPIED) await copyTable(table, { source, copy }, options)
    const counts = new Map<Table, number>()
    for (const table of COPIED) {
      counts.set(table, await countOf(copy, table))
      if (counts.get(table) !== (await countOf(source, table))) throw changed()
    }
    const countIn = (table: Table): number => counts.get(table) ?? 0
    return {
      settled: await comparePayments(source, copy, options.signal),
      payments: countIn(PAYMENTS),
      projects: countIn('x402_projects'),
      tokens: countIn('x402_project_tokens'),
      webhooks: countIn(ENDPOINTS),
    }
  })
}

async function copyTable(
  table: Table,
  { source, copy }: Readonly<Record<'source' | 'copy', SqlDatabase>>,
  { onCopied, signal }: CopyOptions,
): Promise<void> {
  let count = 0
  for await (const rows of pagesOf(source, table)) {
    signal.throwIfAborted()
    await copy.db.insertInto(table).values(rows).execute()
    if (table === PAYMENTS) onCopied((count += rows.length))
  }
}

/** Walks both ledgers in the order of ids. @returns The sums of settled payments. */
async function comparePayments(
  source: SqlDatabase,
  copy: SqlDatabase,
  signal: AbortSignal,
): Promise<readonly SettledSum[]> {
  const sums = new Map<string, SettledSum>()
  const theirs = pagesOf(copy, PAYMENTS)
  for await (const rows of pagesOf(source, PAYMENTS)) {
    signal.throwIfAborted()
    const { value: copied = [] } = await theirs.next()
    if (textOf(rows) !== textOf(copied)) throw changed()
    for (const row of rows) addTo(sums, row as unknown as TypedRow<'x402_authorizations'>)
  }
  return [...sums.values()]
}

const changed = (): ConfigError =>
  new ConfigError(
    'from',
    'was changed meanwhile: stop the gateway that still uses it, and run this again',
    'unusable_ledger',
  )

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

/**
 * Keeps gateways from writing to the target, so that none starts on it before the copy is complete.
 *
 * @throws `ConfigError` if the target holds anything: a gateway that only starts writes nothing down.
 */
async function requireEmpty(target: SqlDatabase): Promise<void> {
  const { db, sql, locksRows } = target
  if (locksRows) await sql`LOCK TABLE ${sql.table(PAYMENTS)} IN EXCLUSIVE MODE`.execute(db)
  // They are made with the tables. The first change locks all of SQLite.
  await db.deleteFrom('x402_versions').execute()
  for (const table of Object.keys(TABLES) as Table[])
    if ((await countOf(target, table)) > 0)
      throw new ConfigError(
        'to',
        `is a ledger already (${table} has rows): copy into an empty database`,
        'unusable_ledger',
      )
}

async function countOf({ db }: SqlDatabase, table: Table): Promise<number> {
  const { count } = await db
    .selectFrom(table)
    .select((where) => where.fn.countAll().as('count'))
    .executeTakeFirstOrThrow()
  return Number(count)
}

/** The same of rows in both databases: `pg` reads large numbers as text. */
function textOf(rows: readonly Row[]): string {
  return JSON.stringify(
    rows.map((row) =>
      Object.entries(row)
        .toSorted(([one], [other]) => (one < other ? -1 : 1))
        .map(([, value]) => {
          if (value instanceof Uint8Array) return hexOf(value)
          return typeof value === 'number' || typeof value === 'bigint' ? value.toString() : value
        }),
    ),
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
