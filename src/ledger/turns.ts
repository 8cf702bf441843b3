/** Counts the payments of routes, of which facilitators settle a share. */
import type { SqlStore } from './engine/store.js'

export class Turns {
  readonly #store: SqlStore

  constructor(store: SqlStore) {
    this.#store = store
  }

  /**
   * Counts a payment, and tells whether it is the turn of who takes one in so many: of the first payment, and of the
   * next one whenever it has taken fewer than its share. Of payments that are counted at once, one is.
   *
   * @param name - Whose payments are counted.
   * @param mayTake - Whether it can take a turn now. What it misses, it takes later.
   */
  take(name: string, oneIn: number, mayTake: boolean): Promise<boolean> {
    const [all, taken] = namesOf(name, oneIn)
    return this.#store.run(async ({ db, sql }) => {
      const { rows } = await sql<Record<'counted' | 'taken', string | number | null>>`
        INSERT INTO x402_versions AS v (name, version) VALUES (${all}, 1)
        ON CONFLICT (name) DO UPDATE SET version = v.version + 1
        RETURNING version AS counted, (SELECT version FROM x402_versions WHERE name = ${taken}) AS taken
      `.execute(db)
      const count = Number(rows[0]?.counted)
      if (!mayTake || Number(rows[0]?.taken ?? 0) * oneIn >= count) return false
      const turns = await sql`
        INSERT INTO x402_versions AS v (name, version) VALUES (${taken}, 1)
        ON CONFLICT (name) DO UPDATE SET version = v.version + 1 WHERE v.version * ${oneIn} < ${count}
        RETURNING version`.execute(db)
      return turns.rows.length > 0
    })
  }

  /** Counts a turn less: it came to nothing. */
  async giveBack(name: string, oneIn: number): Promise<void> {
    const [, taken] = namesOf(name, oneIn)
    await this.#store.run(async ({ db }) => {
      await db
        .updateTable('x402_versions')
        .set((set) => ({ version: set('version', '-', 1).$castTo<number>() }))
        .where('name', '=', taken)
        .execute()
    })
  }
}

/** Names of the counts: of another share, others. */
const namesOf = (name: string, oneIn: number) =>
  [`all of ${oneIn} ${name}`, `taken of ${oneIn} ${name}`] as const
