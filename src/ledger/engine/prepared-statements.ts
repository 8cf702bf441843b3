import type * as KyselyModule from 'kysely'
import type * as PgModule from 'pg'
import { sha256 } from '../../crypto/sha256.js'

/**
 * SQLSTATEs of prepared statements that are of no use: its connection does not know it, or knows another
 * one of its name, which both happens behind a pooler; or another gateway has just changed the table.
 */
const UNUSABLE = new Set(['26000', '42P05', '0A000'])

/** Statements of the hot path take their rows as JSON. */
const HOT = /json_to_recordset\(\$1::json\)/

/**
 * A pool that prepares the statements of the hot path: PostgreSQL then parses and plans each of them once
 * a connection, which takes longer than running it.
 *
 * After the first one that was of no use, none is prepared any more, and the ledger runs it again.
 */
export function preparing(pool: PgModule.Pool): KyselyModule.PostgresPool {
  const prepared: Prepared = { names: new Map(), isOff: false }
  const clients = new WeakMap<PgModule.PoolClient, KyselyModule.PostgresPoolClient>()
  return {
    async connect() {
      const client = await pool.connect()
      // Kysely remembers a connection by its client.
      const known = clients.get(client) ?? preparingClient(client, prepared)
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

function preparingClient(
  client: PgModule.PoolClient,
  prepared: Prepared,
): KyselyModule.PostgresPoolClient {
  const query = async (text: string, values: readonly unknown[]): Promise<unknown> => {
    if (prepared.isOff || !HOT.test(text)) return client.query(text, [...values])
    const name = prepared.names.get(text) ?? nameOf(text)
    prepared.names.set(text, name)
    try {
      return await client.query({ name, text, values: [...values] })
    } catch (error) {
      if (failedAsPrepared(error)) prepared.isOff = true
      throw error
    }
  }
  return {
    query: query as KyselyModule.PostgresPoolClient['query'],
    release: () => client.release(),
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
