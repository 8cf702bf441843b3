/** Counts of events by day, kept beside the payments. */
import type { Statement } from './engine/statement.js'
import type { SqlStore } from './engine/store.js'
import { DAY_MS } from './time-zone.js'
import { world } from '../shared/world.js'

/** Project of the counts of all projects together. No project has an empty id. */
export const ALL_COUNTED = ''

export interface Count {
  /** Days since the epoch, in UTC. */
  readonly day: number
  /** Quarter of an hour of the day. @defaultValue 0 */
  readonly slot?: number
  /** Id of the project, or {@link ALL_COUNTED}. */
  readonly project: string
  /** The event. */
  readonly kind: string
  /** Divides a kind further: a reason, or a relayer. */
  readonly label: string
  readonly count: number
}

export interface CountQuery {
  readonly project: string
  /** Inclusive. */
  readonly fromDay: number
  /** Inclusive. */
  readonly toDay: number
  readonly kinds: readonly string[]
}

export interface SumQuery extends Pick<CountQuery, 'project' | 'kinds'> {
  /** Milliseconds since the epoch, inclusive. */
  readonly from: number
  /** Exclusive. */
  readonly until: number
  /** What the clocks are ahead of UTC (ms). Counts are summed by the days that they show. */
  readonly offsetMs: number
}

/** Length of a slot (ms): all zones differ by multiples of it. */
export const SLOT_MS = 900_000

const SLOTS = DAY_MS / SLOT_MS

export const COUNTED_DAYS = 400

/** Adds to counts in the order of their keys: two gateways that added in different orders would deadlock. */
const ADD: Statement = ({ rows }) => `
   INSERT INTO x402_counts AS c (day, slot, project, kind, label, count)
   SELECT day, coalesce(slot, 0), project, kind, label, count FROM (${rows(COUNTED)}) AS w WHERE true
   ORDER BY project, day, kind, label, slot
   ON CONFLICT (project, day, kind, label, slot) DO UPDATE SET count = c.count + excluded.count`

const COUNTED = {
  day: 'int',
  slot: 'int',
  project: 'text',
  kind: 'text',
  label: 'text',
  count: 'bigint',
} as const

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

  /** Sums counts by the days of a zone, in no order. Quarters of an hour are counted whole. */
  sumCounts({ project, from, until, kinds, offsetMs }: SumQuery): Promise<readonly Count[]> {
    const [first, end] = [Math.floor(from / SLOT_MS), Math.ceil(until / SLOT_MS)]
    /** The slot of the day with which the zone's day begins. */
    const midnight = ((Math.round(-offsetMs / SLOT_MS) % SLOTS) + SLOTS) % SLOTS
    return this.#store.run(async ({ db, sql }) => {
      const part = sql<number>`CASE WHEN slot >= ${sql.lit(midnight)} THEN 1 ELSE 0 END`
      const rows = await db
        .selectFrom('x402_counts')
        .select(['day', part.as('part'), 'kind', 'label', sql<string>`sum(count)`.as('count')])
        .where('project', '=', project)
        .where('kind', 'in', kinds)
        .where('day', '>=', Math.floor(first / SLOTS))
        .where('day', '<=', Math.floor((end - 1) / SLOTS))
        .where(sql<number>`day * ${sql.lit(SLOTS)} + slot`, '>=', first)
        .where(sql<number>`day * ${sql.lit(SLOTS)} + slot`, '<', end)
        .groupBy(['day', part, 'kind', 'label'])
        .execute()
      return rows.map((row) => {
        const begin = row.day * DAY_MS + row.part * midnight * SLOT_MS
        const day = Math.floor((begin + offsetMs) / DAY_MS)
        return { day, project, kind: row.kind, label: row.label, count: Number(row.count) }
      })
    })
  }

  /** Deletes the counts of earlier days, of one project after the other: the primary key begins with it. */
  async dropCounts(beforeDay: number): Promise<void> {
    for (let next: string | undefined = ALL_COUNTED; next !== undefined; await world.nextTurn()) {
      const project: string = next
      next = await this.#store.run(async ({ db }) => {
        const own = db.deleteFrom('x402_counts').where('project', '=', project)
        await own.where('day', '<', beforeDay).execute()
        const others = db.selectFrom('x402_counts').select('project').orderBy('project').limit(1)
        return (await others.where('project', '>', project).executeTakeFirst())?.project
      })
    }
  }
}
