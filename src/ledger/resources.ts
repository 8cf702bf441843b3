/** Sold resources, for catalogues. No decision depends on them. */
import type { Statement } from './engine/statement.js'
import type { SqlStore } from './engine/store.js'

/** Sales of a resource that are not in the ledger yet. */
export interface ResourceSales {
  /** A hash of what the resource is: its project, URL and method. */
  readonly id: string
  readonly project: string
  /** How it is listed: JSON. The newest replaces an earlier one. */
  readonly listing: string
  readonly count: number
  /** When it was sold last (ms since the epoch). */
  readonly sold_at: number
}

/** A resource that was sold, with all its sales. */
export interface SoldResource {
  readonly id: string
  readonly project: string
  readonly listing: string
  readonly count: number
  readonly soldAt: number
}

/** Resources of one project that are kept and listed: those that were sold last. */
export const RESOURCES_OF_PROJECT = 500

/** Resources that are read at once. */
const MAX_READ = 10_000

/** Time between two looks for resources of a project that are too many (ms). */
const FORGET_MS = 60_000

/** Adds sales in the order of their keys: two gateways that added in different orders would deadlock. */
const ADD: Statement = ({ isPostgres, rows }) => `
   INSERT INTO x402_resources AS r (id, project, listing, count, sold_at)
   SELECT id, project, listing, count, sold_at FROM (${rows(SOLD)}) AS w WHERE true ORDER BY id
   ON CONFLICT (id) DO UPDATE SET count = r.count + excluded.count, listing = excluded.listing,
     sold_at = ${isPostgres ? 'greatest' : 'max'}(r.sold_at, excluded.sold_at)`

const SOLD = {
  id: 'text',
  project: 'text',
  listing: 'text',
  count: 'bigint',
  sold_at: 'bigint',
} as const

/** Keeps resources in a table. */
export class Resources {
  readonly #store: SqlStore
  /** When the resources of each project were last counted. */
  readonly #counted = new Map<string, number>()

  constructor(store: SqlStore) {
    this.#store = store
  }

  /**
   * Adds sales, all at once, and forgets the oldest resources of projects that have too many.
   *
   * If the connection breaks, they may be added twice: they are for catalogues, not for books.
   */
  async addSales(sales: readonly ResourceSales[]): Promise<void> {
    if (sales.length === 0) return
    await this.#store.run(({ run }) => run(ADD, [JSON.stringify(sales)]))
    const at = performance.now()
    for (const project of new Set(sales.map((one) => one.project))) {
      if (at - (this.#counted.get(project) ?? -Infinity) < FORGET_MS) continue
      this.#counted.set(project, at)
      await this.#forgetOldest(project)
    }
  }

  /** Reads the resources that were sold last, of all projects. */
  listResources(): Promise<readonly SoldResource[]> {
    return this.#store.run(async ({ db }) => {
      const rows = await db
        .selectFrom('x402_resources')
        .selectAll()
        .orderBy('sold_at', 'desc')
        .orderBy('id')
        .limit(MAX_READ)
        .execute()
      return rows.map(({ sold_at, count, ...row }) => ({
        ...row,
        count: Number(count),
        soldAt: Number(sold_at),
      }))
    })
  }

  async #forgetOldest(project: string): Promise<void> {
    await this.#store.run(({ db }) =>
      db
        .deleteFrom('x402_resources')
        .where('project', '=', project)
        .where(
          'sold_at',
          '<',
          db
            .selectFrom('x402_resources')
            .select('sold_at')
            .where('project', '=', project)
            .orderBy('sold_at', 'desc')
            .offset(RESOURCES_OF_PROJECT - 1)
            .limit(1),
        )
        .execute(),
    )
  }
}
