/** Sold resources, for catalogues. No decision depends on them. */
import type { Statement } from './engine/statement.js'
import type { SqlStore } from './engine/store.js'
import { world } from '../shared/world.js'

export interface ResourceSales {
  /** A hash of what the resource is: its project, URL and method. */
  readonly id: string
  readonly project: string
  /** How it is listed: JSON. */
  readonly listing: string
  /** 1 if its buyer says so, and not its seller. */
  readonly claimed: number
  readonly count: number
}

export interface SoldResource extends ResourceSales {
  /** When its last sale was written, by the database's clock (ms since the epoch). */
  readonly soldAt: number
  /** The time of that clock when it was read. */
  readonly readAt: number
}

/** Resources of one project that are kept and listed: what sellers name before what buyers name, the last sold first. */
export const RESOURCES_OF_PROJECT = 500

const LATEST = { soldAt: Number.MAX_SAFE_INTEGER, id: '' }

/** Resources that are read at once: SQLite blocks the event loop meanwhile. */
export const RESOURCES_OF_PAGE = 100

const FORGOTTEN_AT_ONCE = 10_000

/** Time between two looks for resources of a project that are too many (ms). */
const FORGET_MS = 60_000

/** A listing that was not sold like that for so long (ms) is what its seller has changed. */
const STANDS_MS = 7 * 24 * 3_600_000

/**
 * Adds sales in the order of their keys: two gateways that added in different orders would deadlock. What a seller says
 * replaces a listing; of what buyers say the first stands, and sales of anything else are left out.
 */
const ADD: Statement = ({ isPostgres, now, rows }) => `
   INSERT INTO x402_resources AS r (id, project, listing, claimed, count, sold_at)
   SELECT id, project, listing, claimed, count, ${now} FROM (${rows(SOLD)}) AS w WHERE true ORDER BY id
   ON CONFLICT (id) DO UPDATE SET count = r.count + excluded.count, listing = excluded.listing,
     claimed = excluded.claimed, sold_at = ${isPostgres ? 'greatest' : 'max'}(r.sold_at, excluded.sold_at)
   WHERE excluded.claimed = 0 OR r.claimed = 1 AND
     (r.listing = excluded.listing OR r.sold_at < excluded.sold_at - ${STANDS_MS})`

const SOLD = {
  id: 'text',
  project: 'text',
  listing: 'text',
  claimed: 'int',
  count: 'bigint',
} as const

export class Resources {
  readonly #store: SqlStore
  /** When the resources of each project were last counted. */
  readonly #counted = new Map<string, number>()

  constructor(store: SqlStore) {
    this.#store = store
  }

  /**
   * Adds sales, all at once, and forgets resources of projects that have too many: first those that only buyers name.
   *
   * If the connection breaks, they may be added twice: they are for catalogues, not for books.
   */
  async addSales(sales: readonly ResourceSales[]): Promise<void> {
    if (sales.length === 0) return
    await this.#store.run(({ run }) => run(ADD, [JSON.stringify(sales)]))
    const at = world.elapsed()
    for (const project of new Set(sales.map((one) => one.project))) {
      if (at - (this.#counted.get(project) ?? -Infinity) < FORGET_MS) continue
      this.#counted.set(project, at)
      await this.#forgetOldest(project)
    }
  }

  /**
   * Reads a page of the resources that were sold since a time, the last sold first.
   *
   * @param after - The last resource of the page before.
   */
  listResources(
    since: number,
    { soldAt, id }: Pick<SoldResource, 'soldAt' | 'id'> = LATEST,
  ): Promise<readonly SoldResource[]> {
    return this.#store.run(async ({ db, now }) => {
      const rows = await db
        .selectFrom('x402_resources')
        .selectAll()
        .select(now.$castTo<number | string>().as('now'))
        .where('sold_at', '>=', since)
        .where(({ eb, refTuple, tuple }) => eb(refTuple('sold_at', 'id'), '<', tuple(soldAt, id)))
        .orderBy('sold_at', 'desc')
        .orderBy('id', 'desc')
        .limit(RESOURCES_OF_PAGE)
        .execute()
      return rows.map(({ sold_at, count, now: readAt, ...row }) => ({
        ...row,
        count: Number(count),
        soldAt: Number(sold_at),
        readAt: Number(readAt),
      }))
    })
  }

  async #forgetOldest(project: string): Promise<void> {
    await this.#store.run(({ db }) =>
      db
        .deleteFrom('x402_resources')
        .where('project', '=', project)
        .where('id', 'in', ({ selectFrom }) =>
          selectFrom('x402_resources')
            .select('id')
            .where('project', '=', project)
            .orderBy('claimed')
            .orderBy('sold_at', 'desc')
            .orderBy('id', 'desc')
            .offset(RESOURCES_OF_PROJECT)
            .limit(FORGOTTEN_AT_ONCE),
        )
        .execute(),
    )
  }
}
