import type { Count, CountQuery, CountStore } from '../counts.js'

/** Keeps counts in memory. Their labels are few, and so are the days. */
export class MemoryCounts implements CountStore {
  readonly #counts = new Map<string, Count>()

  async addCounts(counts: readonly Count[]): Promise<void> {
    for (const one of counts) {
      const { day, project, kind, label } = one
      const name = JSON.stringify([project, day, kind, label])
      const count = (this.#counts.get(name)?.count ?? 0) + one.count
      this.#counts.set(name, { ...one, count })
    }
  }

  async listCounts({ project, fromDay, toDay, kinds }: CountQuery): Promise<readonly Count[]> {
    return [...this.#counts.values()].filter(
      (one) =>
        one.project === project &&
        one.day >= fromDay &&
        one.day <= toDay &&
        kinds.includes(one.kind),
    )
  }

  async dropCounts(beforeDay: number): Promise<void> {
    for (const [name, { day }] of this.#counts) if (day < beforeDay) this.#counts.delete(name)
  }
}
