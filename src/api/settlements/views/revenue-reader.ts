import { LRUCache } from 'lru-cache'
import { RequestProblem } from '../../../shared/http/respond-problem.js'
import type { PaymentStore } from '../../../ledger/index.js'
import type { RevenueGroup, RevenueQuery } from '../../../ledger/revenue.js'

/** How long sums are reused (ms). */
const KEPT_MS = 5000

const MAX_KEPT = 100

/** Sums of one project that may wait for each other. */
const MAX_WAITING = 4

type Groups = Promise<readonly RevenueGroup[]>

/**
 * Sums what was paid, with bounded work: millions of payments may have to be read.
 *
 * The same question is answered once in five seconds, and those of one project one after the other.
 */
export class RevenueReader {
  readonly #payments: Pick<PaymentStore, 'sumRevenue'>
  readonly #kept = new LRUCache<string, Groups>({ max: MAX_KEPT, ttl: KEPT_MS })
  readonly #waiting = new Map<RevenueQuery['project'], Groups[]>()

  constructor(payments: Pick<PaymentStore, 'sumRevenue'>) {
    this.#payments = payments
  }

  /** @throws `RequestProblem` 429 if too many sums of the project are waited for. */
  read(query: RevenueQuery): Groups {
    const { project, from, until, by, zone } = query
    // The type tells all projects from one with the same name.
    const key = JSON.stringify([typeof project, String(project), from, until, by, zone?.name])
    const kept = this.#kept.get(key)
    if (kept !== undefined) return kept
    const waiting = this.#waiting.get(project) ?? []
    if (waiting.length >= MAX_WAITING)
      throw new RequestProblem(
        'rate_limited',
        'Other sums of these payments are not made yet: ask again in a few seconds.',
      )
    const read = this.#readAfter(waiting.at(-1), query)
    this.#waiting.set(project, [...waiting, read])
    this.#kept.set(key, read)
    const end = (): void => this.#end(project, read)
    read.then(end, () => {
      this.#kept.delete(key)
      end()
    })
    return read
  }

  async #readAfter(previous: Groups | undefined, query: RevenueQuery): Groups {
    await previous?.catch(() => undefined)
    return this.#payments.sumRevenue(query)
  }

  #end(project: RevenueQuery['project'], read: Groups): void {
    const left = this.#waiting.get(project)?.filter((one) => one !== read) ?? []
    if (left.length > 0) this.#waiting.set(project, left)
    else this.#waiting.delete(project)
  }
}
