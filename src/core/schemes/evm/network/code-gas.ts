import { ALL_COUNTED, type Count } from '../../../../ledger/counts.js'
import type { CountStore } from '../../../../ledger/index.js'
import type { Counters } from '../../../../ledger/counters.js'
import type { Hex } from '../../../../shared/protocol/payment.js'
import { world } from '../../../../shared/world.js'

/** How long what other processes have written may stay unread (ms). */
const MAX_AGE_MS = 5000

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

/** Kinds of counts: gas of payments that paid, and of payments that failed. */
const PAID = 'gas_paid'
const LOST = 'gas_lost'

/** Gas that the payments of one wallet code took, today and yesterday (UTC). */
export interface GasOfCode {
  /** By payments that paid. */
  readonly paid: bigint
  /** By payments that failed. */
  readonly lost: bigint
  /** The part of `lost` in this hour and the one before. */
  readonly lostLately: bigint
}

export interface CodeGasOptions {
  readonly chainId: number
  readonly counters: Counters
  readonly store: CountStore
  /** Milliseconds since the epoch. */
  readonly now: () => number
}

/**
 * Gas that payments of each wallet code took on one chain, in all processes that share the ledger.
 *
 * It is kept among the ledger's counts, so that it outlives a restart. A process that is killed loses the
 * last five seconds of it.
 */
export class CodeGas {
  readonly chainId: number
  readonly #options: CodeGasOptions
  /** As the ledger had it when it was read last, and what this process has added since. */
  #all = new Map<Hex, GasOfCode>()
  #own: Count[] = []
  #readAt = -Infinity
  #reading: Promise<void> | undefined

  constructor(options: CodeGasOptions) {
    this.#options = options
    this.chainId = options.chainId
  }

  add(codeHash: Hex, became: 'paid' | 'lost', gas: bigint): void {
    const { counters, now } = this.#options
    const kind = became === 'paid' ? PAID : LOST
    const hour = Math.floor(now() / HOUR_MS)
    // Losses are counted by the hour, so that the latest can be told from the rest of the day.
    const label = `${this.chainId}:${codeHash}${became === 'paid' ? '' : `:${hour}`}`
    const count = Number(gas)
    counters.countGas(kind, count, { label })
    const added = { day: Math.floor(now() / DAY_MS), project: ALL_COUNTED, kind, label, count }
    this.#own.push(added)
    this.#count(added)
  }

  /** Reads what other processes have added, unless it did so a moment ago. Never rejects. */
  refresh(): Promise<void> {
    if (world.elapsed() - this.#readAt < MAX_AGE_MS) return Promise.resolve()
    this.#reading ??= this.#readAll()
      // A ledger that does not answer takes no payments either: what is known here will do.
      .catch(() => undefined)
      .finally(() => {
        this.#readAt = world.elapsed()
        this.#reading = undefined
      })
    return this.#reading
  }

  /** The gas that payments of each code have paid for and lost, by code hash. */
  all(): ReadonlyMap<Hex, GasOfCode> {
    return this.#all
  }

  #count({ kind, label, count }: Count): void {
    const [chain, codeHash, hour] = label.split(':') as [string, Hex, string | undefined]
    if (Number(chain) !== this.chainId) return
    const { paid, lost, lostLately } = this.#all.get(codeHash) ?? NONE
    const gas = BigInt(count)
    const isRecent = Number(hour) >= Math.floor(this.#options.now() / HOUR_MS) - 1
    this.#all.set(
      codeHash,
      kind === PAID
        ? { paid: paid + gas, lost, lostLately }
        : { paid, lost: lost + gas, lostLately: isRecent ? lostLately + gas : lostLately },
    )
  }

  async #readAll(): Promise<void> {
    const { counters, store, now } = this.#options
    const written = this.#own.length
    await counters.flush()
    const today = Math.floor(now() / DAY_MS)
    const read = await store.listCounts({
      project: ALL_COUNTED,
      fromDay: today - 1,
      toDay: today,
      kinds: [PAID, LOST],
    })
    // Counts that were added meanwhile may be counted twice until the next read.
    this.#own = this.#own.slice(written)
    this.#all = new Map()
    for (const count of [...read, ...this.#own]) this.#count(count)
  }
}

const NONE: GasOfCode = { paid: 0n, lost: 0n, lostLately: 0n }
