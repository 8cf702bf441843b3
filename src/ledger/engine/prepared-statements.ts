import type * as KyselyModule from 'kysely'
import type * as PgModule from 'pg'
import { sha256 } from '../../shared/crypto/sha256.js'

/**
 * SQLSTATEs of prepared statements that are of no use: its connection does not know it, or knows another
 * one of its name, which both happens behind a pooler; or another gateway has just changed the table.
 */
const UNUSABLE = new Set(['26000', '42P05', '0A000'])

/** Statements of the hot path take their rows as JSON. */
const HOT = /json_to_recordset\(\$1::json\)/

/**
 * SQLSTATEs after which a connection is of no use: it was lost (08), the operator ended it (57P), or it has
 * stayed on a server that is read-only since a failover.
 */
const LOST = /^(08...|57P..|25006)$/
const READ_ONLY = '25006'

/**
 * The pool of a ledger, which gives lost connections back to be ended, and prepares the statements of the
 * hot path: PostgreSQL then parses and plans each of them once a connection, which takes longer than running it.
 *
 * After the first one that was of no use, none is prepared any more, and the ledger runs it again.
 *
 * @param prepares - Not for the pool of another package, which names no statements.
 */
export function ledgerPool(
  pool: KyselyModule.PostgresPool | PgModule.Pool,
  prepares = true,
): KyselyModule.PostgresPool {
  const prepared: Prepared = { names: new Map(), isOff: !prepares, made: 0, readOnly: 0 }
  const clients = new WeakMap<object, ReturnType<typeof ledgerClient>>()
  return {
    async connect() {
      for (;;) {
        const client = (await pool.connect()) as PgModule.PoolClient
        // Kysely remembers a connection by its client.
        const known = clients.get(client) ?? ledgerClient(client, prepared)
        clients.set(client, known)
        // What a server tells that takes no writes any more may be old.
        if (known.number > prepared.readOnly) return known
        clients.delete(client)
        client.release(true)
      }
    },
    end: () => pool.end(),
  }
}

interface Prepared {
  /** By text. */
  readonly names: Map<string, string>
  isOff: boolean
  /** Connections so far. */
  made: number
  /** The number of the newest that was to a read-only server: older ones are, too. */
  readOnly: number
}

function ledgerClient(
  client: PgModule.PoolClient,
  prepared: Prepared,
): KyselyModule.PostgresPoolClient & { readonly number: number } {
  const number = ++prepared.made
  let isLost = false
  const run = (text: string, values: readonly unknown[]): Promise<unknown> => {
    if (prepared.isOff || !HOT.test(text)) return client.query(text, [...values])
    const name = prepared.names.get(text) ?? nameOf(text)
    prepared.names.set(text, name)
    return client.query({ name, text, values: [...values] })
  }
  const query = async (text: string, values: readonly unknown[]): Promise<unknown> => {
    try {
      return await run(text, values)
    } catch (error) {
      if (failedAsPrepared(error)) prepared.isOff = true
      const { code } = error as { code?: unknown }
      // Without a code, the server has not answered: the connection may still wait for that.
      isLost ||= typeof code !== 'string' || LOST.test(code)
      if (code === READ_ONLY) prepared.readOnly = Math.max(prepared.readOnly, number)
      throw error
    }
  }
  return {
    number,
    query: query as KyselyModule.PostgresPoolClient['query'],
    release: () => client.release(isLost),
  }
}

/**
 * The name of a statement says which it is: behind a pooler, a connection may know the statements of another
 * gateway, which may be of another version.
 */
function nameOf(text: string): string {
  return `x402_${sha256(text, 'hex').slice(0, 32)}`
}

/** Tells whether a statement failed only because it was prepared. */
export function failedAsPrepared(error: unknown): boolean {
  const { code } = error as { code?: unknown }
  return typeof code === 'string' && UNUSABLE.has(code)
}
