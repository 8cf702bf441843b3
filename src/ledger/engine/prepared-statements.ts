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
  const prepared: Prepared = { names: new Map(), isOff: !prepares }
  const clients = new WeakMap<object, KyselyModule.PostgresPoolClient>()
  return {
    async connect() {
      const client = (await pool.connect()) as PgModule.PoolClient
      // Kysely remembers a connection by its client.
      const known = clients.get(client) ?? ledgerClient(client, prepared)
      clients.set(client, known)
      return known
    },
    end: () => pool.end(),
  }
}

interface Prepared {
  /** By text. */
  readonly names: Map<string, string>
  isOff: boolean
}

function ledgerClient(
  client: PgModule.PoolClient,
  prepared: Prepared,
): KyselyModule.PostgresPoolClient {
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
      throw error
    }
  }
  return {
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
