import type * as KyselyModule from 'kysely'
import type { Kysely } from 'kysely'
import { ConfigError } from '../../errors.js'
import { loadPeer } from '../../crypto/load-peer.cjs'
import { migrations, type LedgerDatabase } from './schema.js'

/**
 * Loads packages that only SQL ledgers need.
 *
 * @param names - The package that makes the ledger, and its driver.
 * @param load - Finds a package, or throws as `require` does.
 * @throws {@link ConfigError} naming every package to install.
 */
export function requirePeers(
  names: readonly string[],
  load: (name: string) => unknown = loadPeer,
): readonly unknown[] {
  const missing: string[] = []
  const peers = names.map((name) => {
    try {
      return load(name)
    } catch (error) {
      if (!isMissing(error, name)) throw error
      missing.push(name)
      return undefined
    }
  })
  if (missing.length === 0) return peers
  const packages = missing.map((name) => `'${name}'`).join(' and ')
  throw new ConfigError(
    'ledger',
    `needs ${packages}, which ${missing.length > 1 ? 'are' : 'is'} not installed: npm install ${missing.join(' ')}`,
  )
}

/** Tells that a package is missing from that something inside an installed one is. */
function isMissing(error: unknown, name: string): boolean {
  const { code, message } = error as NodeJS.ErrnoException
  return code === 'MODULE_NOT_FOUND' && message.includes(`'${name}'`)
}

/** How a database keeps everybody else from changing its schema meanwhile. */
export type Exclusively = (
  work: (connection: Kysely<LedgerDatabase>) => Promise<void>,
) => Promise<void>

/** Brings the schema up to date; several processes may do so at once. */
export async function migrate(
  db: Kysely<LedgerDatabase>,
  kysely: typeof KyselyModule,
  exclusively: Exclusively,
): Promise<void> {
  const names = Object.keys(migrations)
  // Most of the time there is nothing to do, and perhaps no right to do it.
  const known = await madeMigrations(db).catch((): readonly string[] => [])
  if (names.every((name) => known.includes(name))) return
  await exclusively(async (connection) => {
    await connection.schema
      .createTable('x402_migrations')
      .ifNotExists()
      .addColumn('name', 'text', (column) => column.primaryKey())
      .execute()
    const made = await madeMigrations(connection)
    for (const [name, make] of Object.entries(migrations)) {
      if (made.includes(name)) continue
      await make(connection, kysely)
      await connection.insertInto('x402_migrations').values({ name }).execute()
    }
  })
}

async function madeMigrations(db: Kysely<LedgerDatabase>): Promise<readonly string[]> {
  const rows = await db.selectFrom('x402_migrations').select('name').execute()
  return rows.map(({ name }) => name)
}
