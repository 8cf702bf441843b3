import type { LedgerRecord, LedgerStore } from '../../../ledger/index.js'
import { EVERY_PROJECT } from '../../../ledger/index.js'
import type { Logger } from '../../../shared/logger.js'
import { refundTotals, type RefundTotals } from '../refund-totals.js'

/** Milliseconds between two reads of the ledger. */
const POLL_MS = 1000

/** Most records of each state that are read at once. */
const LIMIT = 200

/** Most refunds of one read whose payments are shown. */
const MAX_REFUNDS = 20

/** Milliseconds by which reads overlap: a record may become visible after its own time. */
const OVERLAP_MS = 10_000

/** Most milliseconds that a read goes back after the ledger has failed. */
const LONGEST_MS = 300_000

/** A payment that is new or has changed. */
export interface FeedEntry {
  readonly record: LedgerRecord
  readonly totals: RefundTotals | undefined
}

export interface FeedReader {
  readonly project: string | typeof EVERY_PROJECT
  readonly take: (entries: readonly FeedEntry[]) => void
  /** The feed has ended. */
  readonly end: () => void
}

/** Dependencies of a feed. */
export interface FeedOptions {
  readonly ledger: Pick<LedgerStore, 'payments' | 'refunds'>
  readonly logger: Logger
}

/**
 * Tells readers what happens to payments, at this gateway and at others on the same ledger.
 *
 * While anyone reads, one loop looks at what is newest in the ledger, for all readers together: what that
 * costs depends neither on their number nor on that of payments. Where more than {@link LIMIT} payments
 * change between two looks, the older of them are left out.
 */
export class SettlementFeed {
  readonly #options: FeedOptions
  readonly #readers = new Set<FeedReader>()
  /** The state and time of the records of the last read, by their ids. */
  #seen: ReadonlyMap<string, string> | undefined
  #seenAt = 0
  #looking: Promise<void> | undefined
  #timer: NodeJS.Timeout | undefined
  #isFailing = false
  #isClosed = false

  constructor(options: FeedOptions) {
    this.#options = options
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  /**
   * Adds a reader. Once this has resolved, the reader is told of everything that happens.
   *
   * @returns Removes it.
   * @throws `LedgerError` if the ledger cannot be read.
   */
  async add(reader: FeedReader): Promise<() => void> {
    this.#readers.add(reader)
    const remove = (): void => {
      this.#readers.delete(reader)
      if (this.#readers.size === 0) this.#rest()
    }
    try {
      while (this.#seen === undefined && !this.#isClosed) await (this.#looking ??= this.#look())
    } catch (error) {
      remove()
      throw error
    }
    if (this.#readers.size > 0 && !this.#isClosed) this.#timer ??= this.#startTimer()
    return remove
  }

  /** Ends all readers. */
  close(): void {
    this.#isClosed = true
    this.#rest()
    for (const { end } of [...this.#readers]) end()
    this.#readers.clear()
  }

  #startTimer(): NodeJS.Timeout {
    return setInterval(() => {
      if (this.#looking !== undefined) return
      this.#look().then(
        () => this.#noteFailure(undefined),
        (error: unknown) => this.#noteFailure(error),
      )
    }, POLL_MS).unref()
  }

  #rest(): void {
    clearInterval(this.#timer)
    this.#timer = undefined
    this.#seen = undefined
  }

  #look(): Promise<void> {
    this.#looking = this.#readChanges().finally(() => (this.#looking = undefined))
    return this.#looking
  }

  async #readChanges(): Promise<void> {
    const before = this.#seen
    const startedAt = performance.now()
    const sinceMs = before === undefined ? 0 : startedAt - this.#seenAt
    const withinMs = Math.min(sinceMs + OVERLAP_MS, LONGEST_MS)
    const latest = await this.#options.ledger.payments.listLatest({ withinMs, limit: LIMIT })
    // Nobody reads any more, or someone else has begun anew meanwhile.
    if (this.#readers.size === 0 || this.#seen !== before) return
    this.#seen = new Map(latest.map((record) => [record.id, placeOf(record)]))
    this.#seenAt = startedAt
    if (before === undefined) return
    const changed = latest.filter((record) => before.get(record.id) !== placeOf(record))
    await this.#tell(changed.filter((record) => this.#isRead(record)))
  }

  async #tell(changed: readonly LedgerRecord[]): Promise<void> {
    if (changed.length === 0) return
    const { ledger } = this.#options
    const refunded = new Set(changed.flatMap(({ refundOf }) => refundOf ?? []))
    const lookUps = [...refunded].slice(-MAX_REFUNDS).map(async (id) => {
      const found = await ledger.payments.list({ project: EVERY_PROJECT, id, limit: 1 })
      return found.filter((record) => this.#isRead(record))
    })
    const payments = changed.filter(
      ({ id, refundOf }) => refundOf === undefined && !refunded.has(id),
    )
    const records = [...payments, ...(await Promise.all(lookUps)).flat()].toSorted(
      (one, other) => one.updatedAt - other.updatedAt,
    )
    const totals = await refundTotals(ledger, records)
    const entries = records.map((record) => ({ record, totals: totals.get(record.id) }))
    for (const { project, take } of [...this.#readers]) {
      const own = entries.filter(({ record }) => isOf(record, project))
      if (own.length > 0) take(own)
    }
  }

  #isRead(record: LedgerRecord): boolean {
    return [...this.#readers].some(({ project }) => isOf(record, project))
  }

  #noteFailure(error: unknown): void {
    if (error !== undefined && !this.#isFailing && !this.#isClosed)
      this.#options.logger.warn('Live payments cannot be read from the ledger at present.', {
        error,
      })
    this.#isFailing = error !== undefined
  }
}

function isOf(record: LedgerRecord, project: FeedReader['project']): boolean {
  return project === EVERY_PROJECT || record.project === project
}

function placeOf({ state, updatedAt }: LedgerRecord): string {
  return `${state} ${updatedAt}`
}
