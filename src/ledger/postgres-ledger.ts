import type * as KyselyModule from 'kysely'
import type * as PgModule from 'pg'
import { ConfigError } from '../shared/errors.js'
import type { Ledger, LedgerStore } from './index.js'
import { migrate } from './schema/migrate.js'
import { LockOwner } from './owners/lock-owner.js'
import { OwnerSession } from './owners/owner-session.js'
import { ledgerPool } from './engine/prepared-statements.js'
import { loadKysely } from './engine/load-kysely.js'
import { requirePeers } from './engine/require-peers.js'
import type { LedgerDatabase } from './schema/tables.js'
import { POSTGRES } from './engine/dialect.js'
import type { ChangeChannel } from './projects/projects.js'
import { SqlLedger, type SqlLedgerOptions } from './store.js'
import { databaseOf, SqlStore, type SqlDatabase } from './engine/store.js'

/** Timeout of connecting. A request is waiting. */
const CONNECT_TIMEOUT_MS = 5000

const STATEMENT_TIMEOUT_MS = 8000

/** Timeout of a statement including the connection, so that a dead one is noticed. */
const QUERY_TIMEOUT_MS = 10_000

const CHANGES = 'x402_projects'

/** Key of the advisory lock that migrations take: `x402` in ASCII. */
const MIGRATION_LOCK = 0x78343032

/**
 * A connection pool for {@link postgresLedger}: the part of `Pool` of the package `pg` that it uses.
 *
 * @example
 * ```ts
 * import pg from 'pg'
 * import { postgresLedger, type PostgresPool } from 'express-x402-gateway/sql'
 *
 * const pool: PostgresPool = new pg.Pool({ connectionString: 'postgres://db/payments', max: 20 })
 * const ledger = postgresLedger(pool)
 * await ledger.close()
 * await pool.end()
 * ```
 */
export interface PostgresPool {
  /** Borrows a connection. `release` returns it to the pool, which ends one that is lost. */
  connect(): Promise<{
    query(text: string, values?: unknown[]): Promise<{ rows: unknown[] }>
    release(isLost?: boolean): void
  }>
  /** Ends all connections. The ledger does not call this. */
  end(): Promise<void>
}

/**
 * Creates a ledger in PostgreSQL, which several gateways can share.
 *
 * They share reservations, stored answers and account nonces: no payment is settled twice, and any
 * number of gateways send from the same relayers. The tables (`x402_…`) are created and migrated on first use,
 * in the first schema of the connection's search path. Each gateway has one connection beside its pool,
 * by whose end others see at once that it has died; through a pooler such as PgBouncer they see it 30 s
 * later. With a URL, the statements of the hot path are prepared. Needs the package `pg`.
 *
 * @param poolOrUrl - A URL like `postgres://user:password@host/name`, which no error repeats; or a pool
 * of the app's own, which the app ends itself.
 * @returns A ledger for one gateway, which closes it. While the database does not answer, requests fail
 * with the `LedgerError` code `ledger_unavailable`.
 * @throws `ConfigError` (`config_invalid`) if a package is missing or the URL is malformed.
 *
 * @example
 * ```ts
 * import { createGateway } from 'express-x402-gateway'
 * import { postgresLedger } from 'express-x402-gateway/sql'
 *
 * const gateway = createGateway({
 *   networks: { 'base-sepolia': { relayerKeys: [`0x${'5e'.repeat(32)}`] } },
 *   ledger: postgresLedger('postgres://user:password@localhost/payments'),
 * })
 * await gateway.close()
 * ```
 */
export function postgresLedger(poolOrUrl: PostgresPool | string): Ledger {
  return openPostgresLedger(poolOrUrl)
}

/**
 * {@link postgresLedger}, with the methods that a gateway uses and the options that tests set.
 *
 * @internal
 */
export function openPostgresLedger(
  poolOrUrl: PostgresPool | string,
  options?: SqlLedgerOptions,
): LedgerStore {
  const { pool, prepared, end } = preparePool(poolOrUrl)
  const session = new OwnerSession(pool)
  const owner = new LockOwner(session)
  const changes = changeChannel(session)
  const open = async (): Promise<SqlDatabase> => {
    const kysely = loadKysely()
    const dialect = new kysely.PostgresDialect({ pool: prepared() })
    const db = new kysely.Kysely<LedgerDatabase>({ dialect })
    await migratePostgres(db, preparePool(poolOrUrl, {}))
    const database = databaseOf({ db, kysely, dialect: POSTGRES })
    await owner.start(database)
    return database
  }
  return new SqlLedger(new SqlStore({ open, end, option: options?.option }), owner, {
    ...options,
    changes,
  })
}

/** Announces changed projects by `NOTIFY`, and receives announcements by `LISTEN` on the session. */
function changeChannel(session: OwnerSession): ChangeChannel {
  return {
    get isOpen() {
      return session.hears(CHANGES)
    },
    listen: (listener) => session.listen(CHANGES, listener),
    async announce(transaction) {
      await loadKysely().sql`SELECT pg_notify(${CHANGES}, '')`.execute(transaction)
    },
  }
}

/**
 * Brings the schema up to date, by one process at a time.
 *
 * @param patient - A pool without timeouts, ended afterwards: an index of millions of rows takes longer.
 *
 * @internal
 */
export function migratePostgres(
  db: KyselyModule.Kysely<LedgerDatabase>,
  patient: ReturnType<typeof preparePool>,
): Promise<void> {
  const { prepared, end } = patient
  const kysely = loadKysely()
  return migrate({ db, kysely, dialect: POSTGRES }, async (work) => {
    const dialect = new kysely.PostgresDialect({ pool: prepared() })
    const transaction = new kysely.Kysely<LedgerDatabase>({ dialect }).transaction()
    try {
      await transaction.execute(async (connection) => {
        await kysely.sql`SET LOCAL statement_timeout = 0`.execute(connection)
        await kysely.sql`SELECT pg_advisory_xact_lock(${MIGRATION_LOCK})`.execute(connection)
        await work(connection)
      })
    } finally {
      await end()
    }
  })
}

/** Timeouts of statements, as `pg` calls them. */
const STATEMENT_TIMEOUTS = {
  statement_timeout: STATEMENT_TIMEOUT_MS,
  query_timeout: QUERY_TIMEOUT_MS,
} as const

/**
 * Checks the packages and the URL of the pool. The pool itself is created on first use, so that a failing
 * declaration leaves none.
 *
 * @param timeouts - Empty for work that no request waits for.
 *
 * @internal
 */
export function preparePool(
  poolOrUrl: PostgresPool | string,
  timeouts: Partial<typeof STATEMENT_TIMEOUTS> = STATEMENT_TIMEOUTS,
) {
  if (typeof poolOrUrl !== 'string') {
    const own = ledgerPool(poolOrUrl as KyselyModule.PostgresPool, false)
    return { pool: () => poolOrUrl, prepared: () => own, end: async () => undefined }
  }
  if (!/^postgres(ql)?:\/\//.test(poolOrUrl) || !URL.canParse(poolOrUrl))
    throw new ConfigError(
      'poolOrUrl',
      'must be a URL like postgres://user:password@host/name; percent-encode special characters in the password: # is %23',
      'invalid_url',
    )
  const [{ Pool }] = requirePeers(['pg']) as [typeof PgModule]
  let pool: PgModule.Pool | undefined
  const openPool = (): PgModule.Pool => {
    const opened = new Pool({
      connectionString: poolOrUrl,
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      ...timeouts,
      keepAlive: true,
      allowExitOnIdle: true,
      application_name: 'express-x402-gateway',
    })
    // A broken connection fails its statement, and the pool replaces idle ones: nothing to do here.
    opened.on('error', () => undefined)
    opened.on('connect', (client) => void client.on('error', () => undefined))
    return opened
  }
  // The pool survives a failed attempt to open the database.
  const keptPool = (): PgModule.Pool => (pool ??= openPool())
  return {
    pool: keptPool,
    prepared: () => ledgerPool(keptPool()),
    end: async () => pool?.end(),
  }
}
