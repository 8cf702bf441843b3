/** Counts of events by day, kept beside the payments. */
import type { Statement } from './engine/statement.js'
import type { SqlStore } from './engine/store.js'

/** Project of the counts of all projects together. No project has an empty id. */
export const ALL_COUNTED = ''

/** How often something happened on a day. */
export interface Count {
  /** Days since the epoch, in UTC. */
  readonly day: number
  /** Id of the project, or {@link ALL_COUNTED}. */
  readonly project: string
  /** The event. */
  readonly kind: string
  /** Divides a kind further: a reason, or a range of milliseconds. */
  readonly label: string
  readonly count: number
}

/** Which counts are listed. */
export interface CountQuery {
  readonly project: string
  /** Inclusive. */
  readonly fromDay: number
  /** Inclusive. */
  readonly toDay: number
  readonly kinds: readonly string[]
}

/** Days that counts are kept. */
export const COUNTED_DAYS = 400

/** Adds to counts in the order of their keys: two gateways that added in different orders would deadlock. */
const ADD: Statement = {
  postgres: () => `
   INSERT INTO x402_counts AS c (day, project, kind, label, count)
   SELECT w.day, w.project, w.kind, w.label, w.count
   FROM json_to_recordset($1::json) AS w(day int, project text, kind text, label text, count bigint)
   ORDER BY w.project, w.day, w.kind, w.label
   ON CONFLICT (project, day, kind, label) DO UPDATE SET count = c.count + excluded.count`,

  // There is one writer. Without WHERE, SQLite would take ON CONFLICT for a condition of a join.
  sqlite: () => `
   INSERT INTO x402_counts AS c (day, project, kind, label, count)
   SELECT value->>'day', value->>'project', value->>'kind', value->>'label', value->>'count'
   FROM json_each(?) WHERE true
   ON CONFLICT (project, day, kind, label) DO UPDATE SET count = c.count + excluded.count`,
}

/** Keeps counts in a table. */
export class Counts {
  readonly #store: SqlStore

  constructor(store: SqlStore) {
    this.#store = store
  }

  /**
   * Adds to the counts, all at once.
   *
   * If the connection breaks, they may be added twice: counts are for charts, not for books.
   */
  async addCounts(counts: readonly Count[]): Promise<void> {
    if (counts.length === 0) return
    await this.#store.run(({ run }) => run(ADD, [JSON.stringify(counts)]))
  }

  /** Lists counts, in no order. */
  listCounts({ project, fromDay, toDay, kinds }: CountQuery): Promise<readonly Count[]> {
    return this.#store.run(async ({ db }) => {
      const rows = await db
        .selectFrom('x402_counts')
        .selectAll()
        .where('project', '=', project)
        .where('day', '>=', fromDay)
        .where('day', '<=', toDay)
        .where('kind', 'in', kinds)
        .execute()
      return rows.map((row) => ({ ...row, count: Number(row.count) }))
    })
  }

  /** Adds up a kind by project and label, without those of all projects together. */
  sumByProject({
    kind,
    project,
    fromDay,
    toDay,
  }: Pick<CountQuery, 'fromDay' | 'toDay'> & {
    readonly kind: string
    /** @defaultValue each project */
    readonly project?: string | undefined
  }): Promise<readonly Omit<Count, 'day' | 'kind'>[]> {
    return this.#store.run(async ({ db }) => {
      const rows = await db
        .selectFrom('x402_counts')
        .select((select) => ['project', 'label', select.fn.sum('count').as('count')])
        .where('kind', '=', kind)
        .where('day', '>=', fromDay)
        .where('day', '<=', toDay)
        .where('project', project === undefined ? '<>' : '=', project ?? ALL_COUNTED)
        .groupBy(['project', 'label'])
        .orderBy('project')
        .orderBy('label')
        .execute()
      return rows.map((row) => ({ ...row, count: Number(row.count) }))
    })
  }

  /** Deletes the counts of earlier days. */
  async dropCounts(beforeDay: number): Promise<void> {
    await this.#store.run(({ db }) =>
      db.deleteFrom('x402_counts').where('day', '<', beforeDay).execute(),
    )
  }
}
