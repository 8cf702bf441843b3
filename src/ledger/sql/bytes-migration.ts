/** A migration: addresses, hashes and ids as bytes, which are half as long as their digits. */
import type { MigrationContext } from './migration.js'
import { rebuildTable } from './rebuild-table.js'
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
 * From then on the tables refuse text: a gateway of an earlier version would find none of the records, and
 * give their authorizations and account nonces out again.
 *
 * A facilitator of the app's own could name anything as a transaction: what is no hexadecimal text is
 * stored as the bytes of that text.
 */
export async function storeBytes(context: MigrationContext): Promise<void> {
  const { isPostgres, run } = context
  for (const [table, { prefixed, plain }] of Object.entries(COLUMNS)) {
    const names: readonly string[] = [...prefixed, ...plain]
    const isPlain = (name: string): boolean => plain.some((one) => one === name)
    if (isPostgres) {
      const change = (name: string): string =>
        `ALTER COLUMN ${name} TYPE bytea USING ${readInPostgres(name, isPlain(name))}`
      await run(`ALTER TABLE ${table} ${names.map(change).join(', ')}`)
    } else
      await rebuildTable(run, table, {
        edit: (statement) => names.reduce(asBlob, statement),
        read: (name) => (names.includes(name) ? readInSqlite(name, isPlain(name)) : name),
        without: SQLITE_TRIGGER,
      })
  }
  if (isPostgres) {
    // Otherwise PostgreSQL takes text for bytes.
    await run('ALTER TABLE x402_authorizations ADD CHECK (octet_length(id) = 16)')
    await run('ALTER TABLE x402_relayer_nonces ADD CHECK (octet_length(relayer) = 20)')
  }
  await announceBytes(context)
}

const readInPostgres = (column: string, isPlain: boolean): string => {
  const [pattern, digits] = isPlain ? ['^', column] : ['^0x', `substr(${column}, 3)`]
  return `CASE WHEN ${column} ~ '${pattern}([0-9A-Fa-f]{2})*$' THEN decode(${digits}, 'hex')
    ELSE convert_to(${column}, 'UTF8') END`
}

const readInSqlite = (column: string, isPlain: boolean): string => {
  const text = `CAST(${column} AS BLOB)`
  if (isPlain) return `coalesce(unhex(${column}), ${text})`
  return `CASE WHEN ${column} LIKE '0x%' THEN coalesce(unhex(substr(${column}, 3)), ${text}) ELSE ${text} END`
}

/** Changes the type of a column, in the words in which SQLite keeps the statement that created its table. */
function asBlob(statement: string, column: string): string {
  const blob = `blob CHECK (typeof(${column}) IN ('blob', 'null'))`
  return statement.replace(new RegExp(`("?\\b${column}\\b"?\\s+)text`, 'i'), `$1${blob}`)
}
