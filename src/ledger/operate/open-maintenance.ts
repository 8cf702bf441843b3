import { existsSync } from 'node:fs'
import { ConfigError } from '../../shared/errors.js'
import { LedgerMaintenance, type MaintenanceConnection } from './maintenance.js'
import { migrate } from '../schema/migrate.js'
import { migratePostgres, preparePool } from '../postgres-ledger.js'
import type { LedgerDatabase } from '../schema/tables.js'
import type { LedgerLocation } from '../engine/location.js'
import { POSTGRES, SQLITE } from '../engine/dialect.js'
import { loadKysely } from '../engine/load-kysely.js'
import { databaseOf } from '../engine/store.js'
import { forKysely, loadSqlite } from '../engine/sqlite.js'
import { makeLedgerFile } from '../sqlite-ledger.js'
import { OwnerFile } from '../owners/owner-file.js'
import { OWNER_KEY } from '../owners/owner-session.js'

/** How long SQLite waits for the gateways that write to the same file. */
const BUSY_TIMEOUT_MS = 10_000

/**
 * Opens a ledger for maintenance.
 *
 * @param create - Creates the SQLite file if it does not exist.
 * @throws `ConfigError` if it does not exist, or a package is missing.
 */
export function openMaintenance(
  location: LedgerLocation,
  { create = false }: { readonly create?: boolean } = {},
): LedgerMaintenance {
  if ('file' in location) {
    const { file } = location
    if (create) makeLedgerFile(file)
    else if (!existsSync(file))
      throw new ConfigError('ledger', `there is no ledger at ${file}`, 'unusable_ledger')
  }
  return new LedgerMaintenance(connectMaintenance(location))
}

/** Connects to a ledger's database. SQLite makes a file that does not exist. */
export function connectMaintenance(location: LedgerLocation): MaintenanceConnection {
  return 'url' in location ? openPostgres(location.url) : openSqlite(location.file)
}

function openPostgres(url: string): MaintenanceConnection {
  const { prepared, end } = preparePool(url, {})
  const kysely = loadKysely()
  const db = new kysely.Kysely<LedgerDatabase>({
    dialect: new kysely.PostgresDialect({ pool: prepared() }),
  })
  const database = databaseOf({ db, kysely, dialect: POSTGRES })
  const isInUse = async (): Promise<boolean> => {
    const { sql } = database
    const { rows } = await sql`SELECT owner FROM x402_owners
      WHERE NOT pg_try_advisory_xact_lock_shared(${sql.raw(OWNER_KEY)})`.execute(db)
    return rows.length > 0
  }
  const apply = () => migratePostgres(db, preparePool(url, {}))
  return { ...database, end, isInUse, migrate: apply }
}

function openSqlite(file: string): MaintenanceConnection {
  const Engine = loadSqlite()
  const kysely = loadKysely()
  const connection = new Engine(file)
  connection.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`)
  const db = new kysely.Kysely<LedgerDatabase>({
    dialect: new kysely.SqliteDialect({ database: forKysely(connection) }),
  })
  const end = async (): Promise<void> => connection.close()
  const target = { db, kysely, dialect: SQLITE }
  const apply = () => migrate(target, (work) => db.transaction().execute(work))
  const isInUse = async (): Promise<boolean> => {
    const rows = await db.selectFrom('x402_owners').select('owner').execute()
    const dead = await new OwnerFile(Engine, file).findDead(rows.map(({ owner }) => owner))
    return dead.length < rows.length
  }
  return { ...databaseOf(target), end, isInUse, migrate: apply }
}
