import type { Count, CountQuery } from './counts.js'
import type { Statement } from './engine/dialect.js'
import type { SqlStore } from './engine/store.js'

const COLUMNS = {
  day: 'bigint',
  project: 'text',
  kind: 'text',
  label: 'text',
  count: 'bigint',
} as const

/** In the order of their keys: two gateways that added in different orders would deadlock. */
const ADD: Statement = ({ rows }) =>
  `INSERT INTO x402_counts AS c (day, project, kind, label, count)
   SELECT w.day, w.project, w.kind, w.label, w.count FROM ${rows(COLUMNS)} WHERE true
   ORDER BY w.project, w.day, w.kind, w.label
   ON CONFLICT (project, day, kind, label) DO UPDATE SET count = c.count + excluded.count`

/** Keeps counts in a table. */
export class Counts {
  readonly #store: SqlStore

  constructor(store: SqlStore) {
    this.#store = store
  }

  /**
   * Adds to what was counted, all at once.
   *
   * A connection that breaks may make an SQL ledger add twice: counts are for charts, not for books.
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

  /** Forgets the counts of the days before. */
  async dropCounts(beforeDay: number): Promise<void> {
    await this.#store.run(({ db }) =>
      db.deleteFrom('x402_counts').where('day', '<', beforeDay).execute(),
    )
  }
}
