/** Work on a whole ledger, beside the gateways that use it. */
import type { Expression, ExpressionBuilder, Kysely, SqlBool } from 'kysely'
import type * as KyselyModule from 'kysely'
import { hexOf } from '../../protocol/hex.js'
import type { ExportedPayment } from '../export-format.js'
import { detailsOf, entryOf, LISTED_COLUMNS } from '../payments/rows.js'
import { idOf } from '../engine/bytes.js'
import { comparedTo } from '../payments/list-rows.js'
import { projectsOf } from '../projects/recorded-projects.js'
import { migrations } from '../schema/migrations.js'
import { copyLedger, type CopyOptions, type LedgerCopy } from './copy-ledger.js'
import { prunable, REORG_MS } from './prunable.js'
import type { LedgerDatabase } from '../schema/schema.js'
import { sqliteFailure } from '../engine/sqlite.js'

/** Rows that one statement reads or deletes. Gateways write between two statements. */
const PAGE = 500

/** States of payments for which a transaction was sent. */
const EXPORTED = ['submitted', 'settled', 'failed'] as const

/** A page begins after the payment with this time and id. */
type PagePosition = Pick<ExportedPayment, 'createdAt' | 'id'>

/** Milliseconds since the epoch: created at or after `from`, and before `until`. */
export interface ExportQuery {
  readonly from: number
  readonly until: number
  /** Whether refunds are exported beside payments. @defaultValue false */
  readonly refunds?: boolean | undefined
}

type Where = ExpressionBuilder<LedgerDatabase, 'x402_authorizations'>

/** How a database is opened for maintenance. */
export interface MaintenanceConnection {
  readonly kysely: typeof KyselyModule
  readonly db: Kysely<LedgerDatabase>
  readonly migrate: () => Promise<void>
  readonly end: () => Promise<void>
}

/** An SQL ledger, opened without migrating it. */
export class LedgerMaintenance {
  readonly #connection: MaintenanceConnection
  readonly #now: () => number

  constructor(connection: MaintenanceConnection, now: () => number) {
    this.#connection = connection
    this.#now = now
  }

  /** The names of the migrations that were not applied, in order. */
  async missingMigrations(): Promise<readonly string[]> {
    const { db } = this.#connection
    const rows = await db
      .selectFrom('x402_migrations')
      .select('name')
      .execute()
      .catch((error: unknown) => {
        if (isMissingTable(error)) return []
        throw error
      })
    const applied = new Set(rows.map(({ name }) => name))
    return Object.keys(migrations).filter((name) => !applied.has(name))
  }

  migrate(): Promise<void> {
    return this.#connection.migrate()
  }

  /** Copies this ledger into another one: see {@link copyLedger}. */
  copyTo(target: LedgerMaintenance, options: CopyOptions): Promise<LedgerCopy> {
    return copyLedger(this.#connection, target.#connection, options)
  }

  async count(query: ExportQuery): Promise<number> {
    const { count } = await this.#connection.db
      .selectFrom('x402_authorizations')
      .select((where) => where.fn.countAll().as('count'))
      .where(isExported(query))
      .executeTakeFirstOrThrow()
    return Number(count)
  }

  /** Reads payments page by page: one project after the other, oldest first in each. */
  async *export(query: ExportQuery): AsyncGenerator<ExportedPayment> {
    for (const project of await projectsOf(this.#connection)) {
      let after: PagePosition = { createdAt: query.from, id: '' }
      for (;;) {
        const page = await this.#page(query, project, after)
        yield* page
        const last = page.at(-1)
        if (last === undefined || page.length < PAGE) break
        after = last
      }
    }
  }

  /**
   * Deletes payments that nobody needs any more: settled and delivered, or failed; last changed before
   * a time in milliseconds, and at least an hour ago; locked by nobody; and whose authorization has
   * lapsed, so that the chain refuses it. Tells after each page how many are deleted by then.
   *
   * @returns How many were deleted.
   */
  async prune(before: number, onDeleted?: (count: number) => void): Promise<number> {
    const { db, kysely } = this.#connection
    const now = this.#now()
    const until = Math.min(before, now - REORG_MS)
    let count = 0
    for (const state of ['settled', 'failed'] as const) {
      const isPrunable = prunable(kysely, state, { until, now })
      for (let from = 0; ;) {
        const page = await db
          .selectFrom('x402_authorizations')
          .select(['id', 'updated_at'])
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
          .where(isPrunable)
          .executeTakeFirst()
        count += Number(numDeletedRows)
        onDeleted?.(count)
        from = Number(page.at(-1)?.updated_at)
        if (page.length < PAGE || numDeletedRows === 0n) break
      }
    }
    return count
  }

  close(): Promise<void> {
    return this.#connection.end()
  }

  async #page(
    query: ExportQuery,
    project: string | null,
    after: PagePosition,
  ): Promise<readonly ExportedPayment[]> {
    const { db } = this.#connection
    // The index of lists begins with project and state: each state is read from where its page begins.
    const [first, ...others] = EXPORTED.map((state) =>
      db
        .selectFrom(
          db
            .selectFrom('x402_authorizations')
            .select(LISTED_COLUMNS)
            .where('state', '=', state)
            .where('kind', 'in', query.refunds ? ['payment', 'refund'] : ['payment'])
            .where((where) =>
              project === null ? where('project', 'is', null) : where('project', '=', project),
            )
            .where('created_at', '<', query.until)
            .where((where) => comparedTo(where, '>', after))
            .orderBy('created_at')
            .orderBy('id')
            .limit(PAGE)
            .as(state),
        )
        .selectAll(),
    )
    const rows = await db
      .selectFrom(others.reduce((sum, one) => sum.unionAll(one), first!).as('exported'))
      .selectAll()
      .orderBy('created_at')
      .orderBy('id')
      .limit(PAGE)
      .execute()
    return rows.map((row) => ({
      ...entryOf(row),
      ...detailsOf(row),
      id: idOf(row.id),
      state: row.state,
      transaction: row.transaction_hash ? hexOf(row.transaction_hash) : undefined,
      reason: row.reason ?? undefined,
      delivered: row.delivered === 1,
      createdAt: Number(row.created_at),
      updatedAt: Number(row.updated_at),
    }))
  }
}

function isExported({ from, until, refunds = false }: ExportQuery) {
  return (where: Where): Expression<SqlBool> =>
    where.and([
      where('state', '!=', 'reserved'),
      ...(refunds ? [] : [where('kind', '=', 'payment')]),
      where('created_at', '>=', from),
      where('created_at', '<', until),
    ])
}

/** SQLSTATE `undefined_table`, and what SQLite says instead. */
export function isMissingTable(error: unknown): boolean {
  const { code, message } = error as { code?: unknown; message?: unknown }
  return (
    code === '42P01' ||
    (sqliteFailure(error) !== undefined && /no such table/.test(String(message)))
  )
}
