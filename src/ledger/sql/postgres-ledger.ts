import type * as KyselyModule from 'kysely'
import type * as PgModule from 'pg'
import { ConfigError } from '../../errors.js'
import type { Ledger, LedgerStore } from '../ledger.js'
import { migrate } from './migrate.js'
import { requirePeers } from './require-peers.js'
import type { LedgerDatabase } from './schema.js'
import { sqlLedger, type SqlLedgerOptions } from './sql-ledger.js'
import { createSqlStore, type SqlDatabase } from './sql-store.js'

/** Milliseconds a connection is waited for: a request is waiting too. */
const CONNECT_TIMEOUT_MS = 5000

/** Milliseconds a statement may take in the database, and on its way there and back. */
const STATEMENT_TIMEOUT_MS = 8000
const QUERY_TIMEOUT_MS = 10_000

/** Names the lock under which the schema is changed: `x402` in ASCII. */
const MIGRATION_LOCK = 0x78343032

/** What is used of a `Pool` of the package `pg`. */
export interface PostgresPool {
  connect(): Promise<{
    query(text: string, values?: unknown[]): Promise<{ rows: unknown[] }>
    release(): void
  }>
  end(): Promise<void>
}

/**
 * Keeps the ledger in PostgreSQL, which several gateways may share.
 *
 * Needs the packages `kysely` and `pg`. Tables (`x402_…`) are made and changed by the ledger itself,
 * in the first schema of the connection's search path.
 *
 * @param poolOrUrl - A pool of the app's own, which stays the app's to end; or `postgres://…`, never
 * shown in an error.
 * @throws {@link ConfigError} when a package is missing or the URL is none.
 */
export function postgresLedger(poolOrUrl: PostgresPool | string): Ledger {
  return openPostgresLedger(poolOrUrl)
}

/** {@link postgresLedger}, with what only tests set. */
export function openPostgresLedger(
  poolOrUrl: PostgresPool | string,
  options?: SqlLedgerOptions,
): LedgerStore {
  const { kysely, pool, end } = preparePool(poolOrUrl)
  const open = async (): Promise<SqlDatabase> => {
    const dialect = new kysely.PostgresDialect({ pool: pool() })
    const db = new kysely.Kysely<LedgerDatabase>({ dialect })
    await migrate(db, kysely, (work) =>
      db.transaction().execute(async (transaction) => {
        await kysely.sql`SELECT pg_advisory_xact_lock(${MIGRATION_LOCK})`.execute(transaction)
        await work(transaction)
      }),
    )
    const now = kysely.sql<number>`CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT)`
    return {
      db,
      now,
      plus: (ms) => kysely.sql<number>`${now} + CAST(${ms} AS BIGINT)`,
      locksRows: true,
    }
  }
  return sqlLedger(createSqlStore({ open, end }), options)
}

/** Checks what a pool takes. It is opened at first use: a declaration that fails leaves none behind. */
function preparePool(poolOrUrl: PostgresPool | string) {
  if (typeof poolOrUrl !== 'string') {
    const [kysely] = requirePeers(['kysely']) as [typeof KyselyModule]
    return {
      kysely,
      pool: () => poolOrUrl as KyselyModule.PostgresPool,
      end: async () => undefined,
    }
  }
  if (!/^postgres(ql)?:\/\//.test(poolOrUrl) || !URL.canParse(poolOrUrl))
    throw new ConfigError('poolOrUrl', 'must be a URL like postgres://user:password@host/name')
  const peers = requirePeers(['kysely', 'pg'])
  const [kysely, { Pool }] = peers as [typeof KyselyModule, typeof PgModule]
  let pool: PgModule.Pool | undefined
  const openPool = (): PgModule.Pool => {
    const opened = new Pool({
      connectionString: poolOrUrl,
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      statement_timeout: STATEMENT_TIMEOUT_MS,
      query_timeout: QUERY_TIMEOUT_MS,
      keepAlive: true,
      allowExitOnIdle: true,
      application_name: 'express-x402-gateway',
    })
    // A connection that breaks fails the statement it is used for; an idle one is replaced.
    opened.on('error', () => undefined)
    opened.on('connect', (client) => void client.on('error', () => undefined))
    return opened
  }
  return {
    kysely,
    // Opening may fail and be tried again: the pool stays.
    pool: () => (pool ??= openPool()),
    end: async () => pool?.end(),
  }
}
