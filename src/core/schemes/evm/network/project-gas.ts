import { LRUCache } from 'lru-cache'
import type { Counters } from '../../../../ledger/counters.js'
import { amountOf, type CountStore, type LedgerEntry } from '../../../../ledger/index.js'
import { DAY_MS } from '../../../../ledger/time-zone.js'

/**
 * Gas that payments of a project may take in a day (UTC) beyond what they carry, unless it has a `gasBudget`: about
 * that of usual transfers of fractions of a cent, 600 a minute, which is the API's limit.
 */
const DEFAULT_BUDGET = 50_000_000_000

/** Gas that a payment carries for each millionth of its token, and at most: one of a cent carries a usual transfer. */
const CARRIED = { perMillionth: 10n, most: 100_000n }

/** Kind of the counts. */
const UNCARRIED = 'gas_uncarried'

interface ProjectGasOptions {
  readonly counters: Counters
  readonly store: CountStore
  /** Milliseconds since the epoch. */
  readonly now: () => number
  readonly projects: readonly { readonly id: string; readonly gasBudget?: number | undefined }[]
}

/** Gas that the payments of each project took beyond what they carry, on all networks and at all gateways of a ledger. */
export class ProjectGas {
  readonly #options: ProjectGasOptions
  readonly #budgets: ReadonlyMap<string, number | undefined>
  /** What each project took today, for a moment. A read that fails is not kept. */
  readonly #taken = new LRUCache<string, number>({
    max: 1000,
    ttl: 5000,
    ignoreFetchAbort: true,
    fetchMethod: (project) => this.#read(project),
  })

  constructor(options: ProjectGasOptions) {
    this.#options = options
    this.#budgets = new Map(options.projects.map(({ id, gasBudget }) => [id, gasBudget]))
  }

  /** Counts what a payment took. Every gateway knows of it within ten seconds. */
  count(project: string | undefined, uncarried: bigint): void {
    if (project !== undefined && uncarried > 0n)
      this.#options.counters.countGas(UNCARRIED, Number(uncarried), { project })
  }

  /** Whether a payment may take so much. @throws {@link LedgerError} */
  async mayTake(project: string | undefined, uncarried: bigint): Promise<boolean> {
    if (project === undefined || uncarried <= 0n) return true
    const taken = await this.#taken.fetch(project)
    return (taken ?? 0) < (this.#budgets.get(project) ?? DEFAULT_BUDGET)
  }

  async #read(project: string): Promise<number> {
    const today = Math.floor(this.#options.now() / DAY_MS)
    const query = { project, fromDay: today, toDay: today, kinds: [UNCARRIED] }
    const counts = await this.#options.store.listCounts(query)
    return counts.reduce((sum, { count }) => sum + count, 0)
  }
}

/** Gas of a payment that it does not carry by what it moves. */
export function uncarriedGas(gas: bigint, payment: LedgerEntry, decimals = 6): bigint {
  const carried = (amountOf(payment) * 1_000_000n * CARRIED.perMillionth) / 10n ** BigInt(decimals)
  return gas - (carried < CARRIED.most ? carried : CARRIED.most)
}
