/** Work on a whole ledger, beside the gateways that use it. */
import type { SqlBool } from 'kysely'
import { pruneCheckouts } from '../checkouts/checkouts.js'
import { GAS_COST, SPENT } from '../counters.js'
import { ALL_COUNTED, type Count } from '../counts.js'
import { exportedOf, withRefunds, type ExportedPayment } from '../export-format.js'
import { listPage } from '../payments/list-rows.js'
import { readRefunded, readRequests } from '../payments/refund-notes.js'
import { recordOf } from '../payments/rows.js'
import { EVERY_PROJECT } from '../record.js'
import { appliedMigrations, migrations } from '../schema/migrate.js'
import type { SqlDatabase } from '../engine/store.js'
import { copyLedger, type CopyOptions, type CopySource, type LedgerCopy } from './copy-ledger.js'
import { sqliteFailure } from '../engine/sqlite.js'
import { DAY_MS } from '../time-zone.js'
import { LAPSED_SECONDS } from '../payments/uncharged.js'
import { world } from '../../shared/world.js'

/** Rows that one statement reads or deletes. Gateways write between two statements. */
const PAGE = 500

/** How long a record is kept after its last change (ms), so that a reorganisation can still undo it. */
const REORG_MS = 3_600_000

/** States of payments for which a transaction was sent. */
const EXPORTED = ['submitted', 'settled', 'failed'] as const

/** Milliseconds since the epoch: created at or after `from`, and before `until`. */
export interface ExportQuery {
  readonly from: number
  readonly until: number
  /** Whether refunds are exported beside payments. @defaultValue false */
  readonly refunds?: boolean | undefined
}

export interface MaintenanceConnection extends CopySource {
  readonly migrate: () => Promise<void>
  readonly end: () => Promise<void>
}

/** An SQL ledger, opened without migrating it. */
export class LedgerMaintenance {
  readonly #connection: MaintenanceConnection

  constructor(connection: MaintenanceConnection) {
    this.#connection = connection
  }

  async missingMigrations(): Promise<readonly string[]> {
    const applied = (await findApplied(this.#connection)) ?? []
    return Object.keys(migrations).filter((name) => !applied.includes(name))
  }

  migrate(): Promise<void> {
    return this.#connection.migrate()
  }

  /** Copies this ledger into another one: see {@link copyLedger}. */
  copyTo(target: LedgerMaintenance, options: CopyOptions): Promise<LedgerCopy> {
    return copyLedger(this.#connection, target.#connection, options)
  }

  /** Reads payments page by page, oldest first. */
  async *export({ from, until, refunds }: ExportQuery): AsyncGenerator<ExportedPayment> {
    const kind = refunds ? 'any' : 'payment'
    const all = { project: EVERY_PROJECT, states: EXPORTED, kind, until, limit: PAGE } as const
    for (let after: Pick<ExportedPayment, 'createdAt' | 'id'> = { createdAt: from, id: '' }; ;) {
      const rows = await listPage(this.#connection, { ...all, after }, 'ASC')
      const page = rows.map((row) => exportedOf(recordOf(row)))
      const ids = page.map(({ id }) => id)
      const notes = {
        refunded: await readRefunded(this.#connection, ids),
        requests: await readRequests(this.#connection, refunds ? ids : []),
      }
      yield* page.map((payment) => withRefunds(payment, notes))
      const last = page.at(-1)
      if (last === undefined || page.length < PAGE) return
      after = last
    }
  }

  /** Gas by UTC day: spent by each relayer, and each merchant's share. */
  async gasCounts({ from, until }: ExportQuery): Promise<readonly Count[]> {
    const rows = await this.#connection.db
      .selectFrom('x402_counts')
      .select(['day', 'project', 'kind', 'label', 'count'])
      .where((where) =>
        where.or([
          where('kind', '=', SPENT),
          where.and([where('kind', '=', GAS_COST), where('project', '<>', ALL_COUNTED)]),
        ]),
      )
      .where('day', '>=', Math.floor(from / DAY_MS))
      .where('day', '<', Math.ceil(until / DAY_MS))
      .orderBy('day')
      .orderBy('project')
      .orderBy('label')
      .execute()
    return rows.map((row) => ({ ...row, count: Number(row.count) }))
  }

  /**
   * Deletes payments that nobody needs any more: settled and delivered, or uncharged, or failed; last changed before
   * a time in milliseconds, and at least an hour ago; locked by nobody; and whose authorization has
   * lapsed, so that the chain refuses it, and its access. Refunds go after their payments, because what is left of a payment
   * is computed from them. A payment stays until its checkout is known to be paid. Payment links that are over go
   * as well.
   *
   * @param onDeleted - Called after each page with the number of payments deleted so far.
   * @returns How many were deleted.
   */
  async prune(before: number, onDeleted?: (count: number) => void): Promise<number> {
    const { db, sql } = this.#connection
    const now = world.now()
    const isPrunable = sql<SqlBool>`updated_at < ${Math.min(before, now - REORG_MS)}
      AND (delivered = 1 OR state = 'failed' OR kind = 'refund' OR charged = '0')
      AND (delivered = 1 OR lock_owner IS NULL OR locked_until < ${now - REORG_MS})
      AND (access_until IS NULL OR access_until < ${now - REORG_MS})
      AND CAST(valid_before AS NUMERIC) < ${Math.floor(now / 1000) - LAPSED_SECONDS}
      AND NOT EXISTS (SELECT 1 FROM x402_authorizations AS payment
        WHERE payment.id = x402_authorizations.refund_of)
      AND (state = 'failed' OR NOT EXISTS (SELECT 1 FROM x402_checkouts AS checkout
        WHERE checkout.payment = x402_authorizations.id AND checkout.state <> 'paid'
          AND checkout.purchase IS NOT DISTINCT FROM x402_authorizations.resource))`
    let count = 0
    for (const state of ['settled', 'failed'] as const) {
      for (let from = 0; ;) {
        const page = await db
          .selectFrom('x402_authorizations')
          .select(['id', 'updated_at'])
          .where('state', '=', sql.lit(state))
          .where(isPrunable)
          .where('updated_at', '>=', from)
          .orderBy('updated_at')
          .limit(PAGE)
          .execute()
        if (page.length === 0) break
        const ids = page.map(({ id }) => id)
        const { numDeletedRows } = await db
          .deleteFrom('x402_authorizations')
          .where('id', 'in', ids)
          .where('state', '=', state)
          .where(isPrunable)
          .executeTakeFirst()
        count += Number(numDeletedRows)
        onDeleted?.(count)
        from = Number(page.at(-1)?.updated_at)
        if (page.length < PAGE || numDeletedRows === 0n) break
      }
    }
    await sql`DELETE FROM x402_refund_requests WHERE NOT EXISTS
      (SELECT 1 FROM x402_authorizations WHERE id = refund)`.execute(db)
    const store = { run: <T>(work: (database: SqlDatabase) => T) => work(this.#connection) }
    for (const state of ['expired', 'canceled', 'paid'] as const)
      await pruneCheckouts(store, state, () => sql`CAST(${before} AS BIGINT)`)
    return count
  }

  close(): Promise<void> {
    return this.#connection.end()
  }
}

/** The names of the migrations that were applied. @returns `undefined` where there is no table of them. */
export async function findApplied({
  db,
}: MaintenanceConnection): Promise<readonly string[] | undefined> {
  try {
    return await appliedMigrations(db)
  } catch (error) {
    // SQLSTATE `undefined_table`, and what SQLite says instead.
    const { code, message } = error as { code?: unknown; message?: unknown }
    const isSqlite = sqliteFailure(error) !== undefined
    if (code === '42P01' || (isSqlite && /no such table/.test(String(message)))) return undefined
    throw error
  }
}
