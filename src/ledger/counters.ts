import type { Logger } from '../shared/logger.js'
import type { RelayerAccount } from './relayer-transactions.js'
import { ALL_COUNTED, COUNTED_DAYS, SLOT_MS, type Count } from './counts.js'
import type { CountStore } from './index.js'
import { DAY_MS } from './time-zone.js'
import { world } from '../shared/world.js'

/** Events that are counted, in the order in which they happen to a payment. */
export const COUNTED = [
  ...(['asked', 'presented', 'repeated', 'refused'] as const),
  ...(['waived', 'settled', 'failed'] as const),
] as const

/** Kind of the gas money that relayers have paid, counted in gwei. */
export const SPENT = 'spent'

/** Kind of the gas money that payments of a project have cost, counted in gwei. */
export const GAS_COST = 'gas_cost'

/** In wei. */
export const GWEI = 10n ** 9n

export type Counted = (typeof COUNTED)[number]

/** Time between two writes (ms). A process that dies loses its counts since the last one. */
const FLUSH_MS = 5000

/** Counts that are kept in memory at most, if the ledger cannot be written for long. */
const MAX_KEPT = 50_000

/** Day and slot, kind and label; and the project, whose id may be any text. */
const COUNTED_KEY = /^(\d+)\.(\d+) (\S+) (\S*) ([^]*)$/

export interface CountersOptions {
  readonly store: Pick<CountStore, 'addCounts' | 'dropCounts'>
  readonly logger: Logger
  /** Milliseconds since the epoch. */
  readonly now: () => number
  /** @defaultValue 5000 */
  readonly flushMs?: number | undefined
}

/**
 * Counts what happens to payments, by day and project.
 *
 * Counting changes a map. Every few seconds, the counts are added to the ledger's in one
 * statement. Labels come from closed sets, never from a client.
 */
export class Counters {
  readonly #options: CountersOptions
  readonly #timer: NodeJS.Timeout
  #counts = new Map<string, number>()
  #flushing: Promise<void> = Promise.resolve()
  #isLogged = false
  /** The day on which old counts were last dropped. */
  #droppedOn: number | undefined

  constructor(options: CountersOptions) {
    this.#options = options
    this.#timer = world.setInterval(() => void this.flush(), options.flushMs ?? FLUSH_MS).unref()
  }

  /** @param label - The reason of a refusal, waiver or failure: one of a closed set. */
  count(project: string | undefined, what: Counted, label = ''): void {
    const ofDay = this.#options.now() % DAY_MS
    this.#add(`${what} ${label} ${project ?? ALL_COUNTED}`, 1, Math.floor(ofDay / SLOT_MS))
  }

  /** Adds the gas money that a relayer has paid, rounded up to gwei. */
  spend({ chainId, relayer }: RelayerAccount, wei: bigint): void {
    this.#add(`${SPENT} ${chainId}:${relayer.toLowerCase()} ${ALL_COUNTED}`, toGwei(wei))
  }

  spendFor(project: string | undefined, chainId: number, wei: bigint): void {
    this.#add(`${GAS_COST} ${chainId} ${project ?? ALL_COUNTED}`, toGwei(wei))
  }

  /** Counts gas by a label of its own, or of a project. */
  countGas(kind: string, gas: number, { label = '', project = ALL_COUNTED }): void {
    this.#add(`${kind} ${label} ${project}`, gas)
  }

  /** Writes the counts. Never rejects: counts that cannot be written now are written next time. */
  flush(): Promise<void> {
    this.#flushing = this.#flushing.then(() => this.#write())
    return this.#flushing
  }

  /** Writes the counts, and stops counting. */
  async close(): Promise<void> {
    world.clearInterval(this.#timer)
    await this.flush()
  }

  #add(name: string, by = 1, slot = 0): void {
    const day = Math.floor(this.#options.now() / DAY_MS)
    const key = `${day}.${slot} ${name}`
    const count = this.#counts.get(key)
    if (count !== undefined) this.#counts.set(key, count + by)
    else if (this.#counts.size < MAX_KEPT) this.#counts.set(key, by)
  }

  async #write(): Promise<void> {
    const { store, logger, now } = this.#options
    const counted = this.#counts
    if (counted.size === 0) return
    this.#counts = new Map()
    try {
      await store.addCounts(toCounts(counted))
      await this.#dropOld(Math.floor(now() / DAY_MS))
      this.#isLogged = false
    } catch (error) {
      for (const [key, count] of counted)
        if (this.#counts.size < MAX_KEPT)
          this.#counts.set(key, (this.#counts.get(key) ?? 0) + count)
      if (!this.#isLogged)
        logger.warn('The ledger could not store counts. They are kept for the next attempt.', {
          error,
        })
      this.#isLogged = true
    }
  }

  async #dropOld(today: number): Promise<void> {
    if (this.#droppedOn === today) return
    await this.#options.store.dropCounts(today - COUNTED_DAYS)
    this.#droppedOn = today
  }
}

/** The rows of counts, each also added up for all projects. */
function toCounts(counted: ReadonlyMap<string, number>): readonly Count[] {
  const counts = new Map<string, Count>()
  for (const [key, count] of counted) {
    const [, day, slot, kind = '', label = '', project = ''] = COUNTED_KEY.exec(key) ?? []
    for (const one of new Set([project, ALL_COUNTED])) {
      const name = `${day}.${slot} ${kind} ${label} ${one}`
      const before = counts.get(name)?.count ?? 0
      const when = { day: Number(day), slot: Number(slot) }
      counts.set(name, { ...when, project: one, kind, label, count: before + count })
    }
  }
  return [...counts.values()]
}

const toGwei = (wei: bigint): number => Number((wei + GWEI - 1n) / GWEI)
