import { hexOf } from '../../shared/protocol/hex.js'
import { EVERY_PROJECT, type LedgerRecord } from '../record.js'
import {
  MAX_SUMMED_GROUPS,
  RevenueSums,
  revenueKeyOf,
  type RevenueGroup,
  type RevenueQuery,
} from '../revenue.js'
import { DAY_MS, evenSpans, UTC, zoneWithin } from '../time-zone.js'
import { idOf } from '../engine/bytes.js'
import { comparedTo } from './list-rows.js'
import type { Statement } from '../engine/statement.js'
import type { SqlDatabase, SqlStore } from '../engine/store.js'
import { world } from '../../shared/world.js'

/** Payments that SQLite reads at once: it blocks this process meanwhile. */
const PAGE = 1000

/** Days that PostgreSQL sums at once, of one project and of all: a statement has a time limit. */
const DAYS_AT_ONCE = { one: 31, all: 1 }

/**
 * Sums in PostgreSQL. Only groups beyond {@link MAX_SUMMED_GROUPS} are merged. The statement is planned for its
 * values: of the project's two conditions, one is left.
 */
const sumBy =
  (key: string): Statement =>
  () => `
   WITH sums AS (
     SELECT ${key} AS key, chain_id, asset,
       coalesce(sum(CAST(coalesce(charged, value) AS NUMERIC)) FILTER (WHERE kind = 'payment'), 0) AS amount,
       count(*) FILTER (WHERE kind = 'payment') AS count,
       coalesce(sum(CAST(value AS NUMERIC)) FILTER (WHERE kind = 'refund'), 0) AS refunded,
       count(*) FILTER (WHERE kind = 'refund') AS refunds
     FROM x402_authorizations
     WHERE state = 'settled' AND created_at >= $1 AND created_at < $2
       AND ($3::text IS NULL OR project = $3::text)
     GROUP BY 1, 2, 3
   ), places AS (
     SELECT sums.*, row_number() OVER (ORDER BY amount - refunded DESC, key) <= ${MAX_SUMMED_GROUPS} AS is_told FROM sums
   )
   SELECT CASE WHEN is_told THEN key END AS key, chain_id, asset,
     CAST(sum(amount) AS TEXT) AS amount, sum(count) AS count,
     CAST(sum(refunded) AS TEXT) AS refunded, sum(refunds) AS refunds
   FROM places GROUP BY 1, 2, 3`

const SUM: Readonly<Record<RevenueQuery['by'], Statement>> = {
  day: sumBy(`CAST((created_at + $4::bigint) / ${DAY_MS} AS TEXT)`),
  project: sumBy(`coalesce(project, '')`),
  asset: sumBy(`''`),
  resource: sumBy(`split_part(coalesce(resource_url, ''), '?', 1)`),
}

/** A row of such a statement. Numbers are text. */
interface SummedRow {
  readonly key: string | null
  readonly chain_id: string
  readonly asset: Uint8Array
  readonly amount: string
  readonly count: string
  readonly refunded: string
  readonly refunds: string
}

/** Sums settled payments and refunds, in bounded steps. */
export class Revenue {
  readonly #store: SqlStore

  constructor(store: SqlStore) {
    this.#store = store
  }

  /** Sums settled payments and refunds. Returns the 1,000 groups with most money; the others are merged. */
  async sumRevenue(query: RevenueQuery): Promise<readonly RevenueGroup[]> {
    const sums = new RevenueSums()
    for await (const groups of this.#steps(query)) for (const group of groups) sums.add(group)
    return sums.groups()
  }

  async *#steps(query: RevenueQuery): AsyncGenerator<readonly RevenueGroup[]> {
    const { sumsInSteps } = await this.#store.run(async ({ locksRows }) => ({
      sumsInSteps: locksRows,
    }))
    yield* sumsInSteps ? this.#sums(query) : this.#payments(query)
  }

  /** The sums of some days each. */
  async *#sums(query: RevenueQuery): AsyncGenerator<readonly RevenueGroup[]> {
    const days = query.project === EVERY_PROJECT ? DAYS_AT_ONCE.all : DAYS_AT_ONCE.one
    const stepMs = days * DAY_MS
    const zone = query.by === 'day' ? query.zone : undefined
    for (const even of evenSpans(zone ?? UTC, query))
      for (let { from } = even; from < even.until; from += stepMs) {
        const step = { ...query, from, until: Math.min(even.until, from + stepMs) }
        yield await this.#store.run((database) => sumGroups(database, step, even.offsetMs))
      }
  }

  /** Single payments and refunds, page by page. SQLite has no numbers beyond 64 bits. */
  async *#payments(asked: RevenueQuery): AsyncGenerator<readonly RevenueGroup[]> {
    const zone = asked.by === 'day' && asked.zone ? zoneWithin(asked.zone, asked) : undefined
    const query = { ...asked, zone }
    let after: PagePosition = { createdAt: query.from, id: '' }
    for (;;) {
      const page = await this.#store.run((database) => readPayments(database, query, after))
      yield page.map(({ group }) => group)
      const last = page.at(-1)
      if (last === undefined || page.length < PAGE) return
      after = last
      await world.nextTurn()
    }
  }
}

async function sumGroups(
  { run }: SqlDatabase,
  { project, from, until, by }: RevenueQuery,
  offsetMs: number,
): Promise<readonly RevenueGroup[]> {
  const values = [
    from,
    until,
    project === EVERY_PROJECT ? null : project,
    ...(by === 'day' ? [offsetMs] : []),
  ]
  const rows = (await run(SUM[by], values)) as readonly SummedRow[]
  return rows.map((row) => ({
    key: row.key ?? undefined,
    chainId: Number(row.chain_id),
    asset: hexOf(row.asset),
    amount: BigInt(row.amount),
    count: Number(row.count),
    refunded: BigInt(row.refunded),
    refunds: Number(row.refunds),
  }))
}

type PagePosition = Pick<LedgerRecord, 'createdAt' | 'id'>

async function readPayments(
  { db }: SqlDatabase,
  { project, until, by, zone }: RevenueQuery,
  after: PagePosition,
): Promise<readonly (PagePosition & { readonly group: RevenueGroup })[]> {
  const all = db.selectFrom('x402_authorizations')
  const own = project === EVERY_PROJECT ? all : all.where('project', '=', project)
  const rows = await own
    .select(['id', 'created_at', 'chain_id', 'asset', 'project', 'resource_url', 'kind'])
    .select((where) => where.fn.coalesce('charged', 'value').as('amount'))
    .where('state', '=', 'settled')
    .where((where) => comparedTo(where, '>', after))
    .where('created_at', '<', until)
    .orderBy('created_at')
    .orderBy('id')
    .limit(PAGE)
    .execute()
  return rows.map((row) => {
    const createdAt = Number(row.created_at)
    const details = row.resource_url === null ? undefined : { resource: row.resource_url }
    const key = revenueKeyOf({ createdAt, project: row.project ?? '', details }, { by, zone })
    const token = { chainId: Number(row.chain_id), asset: hexOf(row.asset) }
    const amount = BigInt(row.amount)
    const sums =
      row.kind === 'refund'
        ? { amount: 0n, count: 0, refunded: amount, refunds: 1 }
        : { amount, count: 1, refunded: 0n, refunds: 0 }
    const group = { key, ...token, ...sums }
    return { id: idOf(row.id), createdAt, group }
  })
}
