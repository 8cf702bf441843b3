/** Looks into a ledger's database without changing anything. */
import { bytesOf, hexOf } from '../../protocol/hex.js'
import type { RelayerStore } from '../index.js'
import { LISTED_TRANSACTIONS } from '../relayer-transactions.js'
import type { LedgerLocation } from '../engine/explain-failure.js'
import { readWebhooks, type InspectedWebhook } from './inspect-webhooks.js'
import { isMissingTable, type MaintenanceConnection } from './maintenance.js'
import { migrations } from '../schema/migrations.js'
import { connectMaintenance } from './open-maintenance.js'

/** What a ledger's database looks like. */
export interface LedgerState {
  /** Whether it is a ledger at all, and not an empty database. */
  readonly isMigrated: boolean
  /** Migrations of this version that were not applied. */
  readonly missing: readonly string[]
  /** Migrations that this version does not know: a newer one has applied them. */
  readonly unknown: readonly string[]
  readonly isReadOnly: boolean
  /** Whether tables can be made. */
  readonly mayCreate: boolean
  /** Tables of the ledger in which this user may not write. */
  readonly forbidden: readonly string[]
  /** The database's clock, in milliseconds since the epoch. */
  readonly now: number
}

/** A ledger's database that is only looked at. */
export class LedgerInspector {
  readonly #connection: MaintenanceConnection
  readonly #isPostgres: boolean

  /** @param location - An SQLite file must exist: it would be made otherwise. */
  constructor(location: LedgerLocation) {
    this.#connection = connectMaintenance(location)
    this.#isPostgres = 'url' in location
  }

  /** Reads what the database looks like. Throws what the driver throws. */
  async readState(): Promise<LedgerState> {
    const rights = this.#isPostgres ? await this.#readRights() : OWN_FILE
    const read = await this.#readMigrations()
    const applied = read ?? []
    const known = Object.keys(migrations)
    return {
      ...rights,
      isMigrated: read !== undefined,
      missing: known.filter((name) => !applied.includes(name)),
      unknown: applied.filter((name) => !known.includes(name)),
      now: rights.now ?? Date.now(),
    }
  }

  /** As `listTransactions` of a ledger; all count as needed. */
  readonly listTransactions: RelayerStore['listTransactions'] = async (
    { chainId, relayer },
    fromNonce,
  ) => {
    const rows = await this.#connection.db
      .selectFrom('x402_relayer_transactions')
      .select(['transaction_hash', 'account_nonce', 'raw', 'written_at'])
      .where((where) => where.and({ chain_id: chainId, relayer: bytesOf(relayer) }))
      .where('account_nonce', '>=', fromNonce)
      .orderBy('account_nonce')
      .limit(LISTED_TRANSACTIONS)
      .execute()
    return rows.map((row) => ({
      transaction: hexOf(row.transaction_hash),
      relayer,
      accountNonce: Number(row.account_nonce),
      raw: hexOf(row.raw),
      isNeeded: true,
      ageMs: Date.now() - Number(row.written_at),
    }))
  }

  /** Reads all webhooks. @param now - The database's clock. */
  readWebhooks(now: number): Promise<readonly InspectedWebhook[]> {
    return readWebhooks(this.#connection.db, now)
  }

  close(): Promise<void> {
    return this.#connection.end()
  }

  /** @returns Undefined where there is no table of them. */
  async #readMigrations(): Promise<readonly string[] | undefined> {
    const { db } = this.#connection
    try {
      const rows = await db.selectFrom('x402_migrations').select('name').execute()
      return rows.map(({ name }) => name)
    } catch (error) {
      if (isMissingTable(error)) return undefined
      throw error
    }
  }

  async #readRights(): Promise<Omit<LedgerState, 'isMigrated' | 'missing' | 'unknown'>> {
    const { db, kysely } = this.#connection
    const { rows } = await kysely.sql<PostgresRights>`
      SELECT current_setting('transaction_read_only') AS read_only,
        coalesce(has_schema_privilege(current_schema(), 'CREATE'), false) AS may_create,
        CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT) AS now,
        coalesce((SELECT string_agg(tablename, ',') FROM pg_tables
          WHERE schemaname = current_schema() AND starts_with(tablename, 'x402_')
          AND NOT (SELECT bool_and(has_table_privilege(
            quote_ident(schemaname) || '.' || quote_ident(tablename), needed))
            FROM unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE']) AS needed)), '') AS forbidden`.execute(
      db,
    )
    const [row] = rows
    return {
      isReadOnly: row?.read_only === 'on',
      mayCreate: row?.may_create ?? false,
      forbidden: row?.forbidden ? row.forbidden.split(',') : [],
      now: Number(row?.now ?? Date.now()),
    }
  }
}

/** What PostgreSQL says. */
interface PostgresRights {
  readonly read_only: string
  readonly may_create: boolean
  readonly now: string
  readonly forbidden: string
}

/** SQLite has no rights of its own; the rights of the file are checked elsewhere. */
const OWN_FILE = { isReadOnly: false, mayCreate: true, forbidden: [], now: undefined } as const
