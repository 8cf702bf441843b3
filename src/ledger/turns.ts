/** Counts the payments of routes, of which facilitators settle a share. */
import type { SqlStore } from './engine/store.js'

export class Turns {
  readonly #store: SqlStore

  constructor(store: SqlStore) {
    this.#store = store
  }

  /**
   * Counts a payment, and takes a turn if fewer than one in `oneIn` were taken: with the first payment, and then
   * whenever one is due. Of payments that are counted at once, one is taken.
   *
   * @param mayTake - Whether a turn may be taken now. One that is missed stays due.
   * @returns Whether this payment is a turn.
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

  /** Returns a turn that came to nothing: a later payment gets it. */
  async giveBack(name: string, oneIn: number): Promise<void> {
    const [, taken] = namesOf(name, oneIn)
    await this.#store.run(({ db, sql }) =>
      sql`UPDATE x402_versions SET version = version - 1 WHERE name = ${taken}`.execute(db),
    )
  }
}

/** Names of the two counts. A changed share counts anew. */
const namesOf = (name: string, oneIn: number) =>
  [`all of ${oneIn} ${name}`, `taken of ${oneIn} ${name}`] as const
