/** Reads the state of a ledger's database without changing it. */
import type { LedgerLocation } from '../engine/location.js'
import { Nonces } from '../relayers/nonces.js'
import { migrations } from '../schema/migrate.js'
import { UNDELIVERED } from '../schema/tables.js'
import { OPERATOR } from '../webhooks.js'
import { findApplied, type MaintenanceConnection } from './maintenance.js'
import { connectMaintenance } from './open-maintenance.js'
import { world } from '../../shared/world.js'

export interface LedgerState {
  /** Whether it has the ledger's tables. */
  readonly isMigrated: boolean
  readonly missing: readonly string[]
  /** Migrations that this version does not know: a newer one has applied them. */
  readonly unknown: readonly string[]
  readonly isReadOnly: boolean
  readonly mayCreate: boolean
  /** Tables of the ledger that this user may not write. */
  readonly forbidden: readonly string[]
  /** The database's clock, in milliseconds since the epoch. */
  readonly now: number
}

/** Reads a ledger's database, and writes nothing. */
export class LedgerInspector {
  readonly #connection: MaintenanceConnection
  readonly #isPostgres: boolean

  /** @param location - An SQLite file must exist: it would be made otherwise. */
  constructor(location: LedgerLocation) {
    this.#connection = connectMaintenance(location)
    this.#isPostgres = 'url' in location
  }

  /** Reads the database's state. @throws the driver's errors. */
  async readState(): Promise<LedgerState> {
    const rights = this.#isPostgres ? await this.#readRights() : OWN_FILE
    const read = await findApplied(this.#connection)
    const applied = read ?? []
    const known = Object.keys(migrations)
    return {
      ...rights,
      isMigrated: read !== undefined,
      missing: known.filter((name) => !applied.includes(name)),
      unknown: applied.filter((name) => !known.includes(name)),
      now: rights.now ?? world.now(),
    }
  }

  /** As `listTransactions` of a ledger. */
  readonly listTransactions: Nonces['listTransactions'] = (...query) =>
    new Nonces({ run: (work) => work(this.#connection) }).listTransactions(...query)

  /** Reads the oldest {@link MAX_ENDPOINTS} webhooks, with the state of their deliveries. @param now - The database's clock. */
  async readWebhooks(now: number): Promise<readonly InspectedWebhook[]> {
    const { db, sql } = this.#connection
    const { rows } = await sql<WebhookRow>`
      SELECT e.id, e.project, e.url, p.id AS owner,
        count(CASE WHEN d.state = 'failed' THEN 1 END) AS failed,
        count(CASE WHEN d.state = 'pending' AND d.attempts > 0 THEN 1 END) AS waiting,
        min(CASE WHEN d.state = 'pending' AND d.attempts = 0 THEN d.created_at END) AS untried_since,
        max(d.last_error) AS error
      FROM x402_webhook_endpoints AS e
        LEFT JOIN x402_projects AS p ON p.id = e.project AND p.deleted_at IS NULL
        LEFT JOIN x402_webhook_deliveries AS d ON d.endpoint = e.id AND d.state <> 'delivered'
      GROUP BY e.id, e.project, e.url, e.created_at, p.id
      ORDER BY e.created_at LIMIT ${MAX_ENDPOINTS}`.execute(db)
    return rows.map(({ id, project, url, owner, failed, waiting, untried_since, error }) => ({
      id,
      project,
      url,
      isOwned: owner !== null || project === OPERATOR,
      failed: Number(failed),
      waiting: Number(waiting),
      untriedMs: untried_since === null ? 0 : now - Number(untried_since),
      lastError: error ?? undefined,
    }))
  }

  async countUndelivered(): Promise<number> {
    const { db, sql } = this.#connection
    const { rows } = await sql<{ readonly count: number | string }>`
      SELECT count(*) AS count FROM x402_authorizations
      WHERE ${sql.raw(UNDELIVERED)} AND lock_owner IS NULL`.execute(db)
    return Number(rows[0]?.count)
  }

  close(): Promise<void> {
    return this.#connection.end()
  }

  async #readRights(): Promise<Omit<LedgerState, 'isMigrated' | 'missing' | 'unknown'>> {
    const { db, sql } = this.#connection
    const { rows } = await sql<PostgresRights>`
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
      now: Number(row?.now ?? world.now()),
    }
  }
}

type WebhookRow = Pick<InspectedWebhook, 'id' | 'project' | 'url'> & {
  readonly owner: string | null
  readonly failed: number | string
  readonly waiting: number | string
  readonly untried_since: number | string | null
  readonly error: string | null
}

interface PostgresRights {
  readonly read_only: string
  readonly may_create: boolean
  readonly now: string
  readonly forbidden: string
}

/** SQLite has no rights of its own; the rights of the file are checked elsewhere. */
const OWN_FILE = { isReadOnly: false, mayCreate: true, forbidden: [], now: undefined } as const

/** Endpoints that are looked at, the oldest first. */
const MAX_ENDPOINTS = 1000

export interface InspectedWebhook {
  readonly id: string
  readonly project: string
  readonly url: string
  /** Whether a project of the ledger has it, or the operator. */
  readonly isOwned: boolean
  /** Deliveries that are not tried any more. */
  readonly failed: number
  /** Deliveries whose attempts have failed so far, and that are tried again. */
  readonly waiting: number
  /** How long the oldest delivery has waited for its first attempt (ms); 0 if none waits. */
  readonly untriedMs: number
  readonly lastError?: string | undefined
}
