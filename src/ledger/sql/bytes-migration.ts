/** A migration: addresses, hashes and ids as bytes, which are half as long as their digits. */
import type * as KyselyModule from 'kysely'
import type { Kysely } from 'kysely'
import { rebuildTable } from './rebuild-table.js'
import type { LedgerDatabase } from './schema.js'
import { announceBytes, SQLITE_TRIGGER } from './webhook-triggers.js'

/** The columns that become bytes, by table. Of those that are prefixed, the digits begin after `0x`. */
const COLUMNS = {
  x402_authorizations: {
    prefixed: ['asset', 'payer', 'nonce', 'pay_to', 'transaction_hash', 'relayer'],
    plain: ['id', 'refund_of'],
  },
  x402_relayer_nonces: { prefixed: ['relayer'], plain: [] },
  x402_relayer_transactions: { prefixed: ['relayer', 'transaction_hash', 'raw'], plain: [] },
} as const

/**
 * Stores as bytes what was hexadecimal text. Each table is copied, so it takes a while where it is large.
 *
 * A facilitator of the app's own could name anything as a transaction: what is no hexadecimal text is
 * stored as the bytes of that text.
 */
export async function storeBytes(
  db: Kysely<LedgerDatabase>,
  kysely: typeof KyselyModule,
): Promise<void> {
  const { sql, PostgresAdapter } = kysely
  const isPostgres = db.getExecutor().adapter instanceof PostgresAdapter
  for (const [table, { prefixed, plain }] of Object.entries(COLUMNS)) {
    const names: readonly string[] = [...prefixed, ...plain]
    const digitsIn = (name: string): string =>
      plain.some((one) => one === name) ? name : `substr(${name}, 3)`
    if (isPostgres) {
      const change = (name: string): string =>
        `ALTER COLUMN ${name} TYPE bytea USING ${readInPostgres(name, digitsIn(name))}`
      await sql.raw(`ALTER TABLE ${table} ${names.map(change).join(', ')}`).execute(db)
    } else
      await rebuildTable({ db, sql }, table, {
        edit: (statement) => names.reduce(asBlob, statement),
        read: (name) => (names.includes(name) ? readInSqlite(name, digitsIn(name)) : name),
        without: SQLITE_TRIGGER,
      })
  }
  await announceBytes(db, kysely)
}

const readInPostgres = (column: string, digits: string): string =>
  `CASE WHEN ${digits} ~ '^([0-9A-Fa-f]{2})*$' THEN decode(${digits}, 'hex')
    ELSE convert_to(${column}, 'UTF8') END`

const readInSqlite = (column: string, digits: string): string =>
  `coalesce(unhex(${digits}), CAST(${column} AS BLOB))`

/** Changes the type of a column, in the words in which SQLite keeps the statement that created its table. */
function asBlob(statement: string, column: string): string {
  return statement.replace(new RegExp(`("?\\b${column}\\b"?\\s+)text`, 'i'), '$1blob')
}
