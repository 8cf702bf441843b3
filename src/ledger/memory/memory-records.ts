import { setImmediate as nextTurn } from 'node:timers/promises'
import { LedgerError } from '../../errors.js'
import { isFinal, type LedgerRecord } from '../record.js'
import { KeyQueue } from './key-queue.js'
import { LapseBuckets } from './lapse-buckets.js'
import { lifetimeMs } from './record-lifetime.js'
import { RecordList } from './record-list.js'

/**
 * Delivered payments kept at most. Those that are watched for reorganisations are kept longer, because
 * that needs their bytes; but no more than are watched.
 */
const MAX_DELIVERED = { usually: 10_000, watched: 20_000 }

/** Milliseconds for which a payment may be watched for reorganisations after its last change. */
const WATCHED_MS = 210_000

/** Records read before the event loop gets a turn. */
const SCANNED_AT_ONCE = 1000

/** A record, and until when it is kept. */
interface Kept<T> {
  readonly record: T
  /** Milliseconds since the epoch. */
  readonly lapsesAt: number
}

/** Options of {@link MemoryRecords}. */
interface MemoryRecordsOptions<T> {
  readonly maxRecords: number
  /** Milliseconds since the epoch. */
  readonly now: () => number
  /** Called with each record that is dropped. */
  readonly onGone: (record: T) => void
}

/**
 * The records of a memory ledger, with the indexes that its lists need.
 *
 * A write costs the same however many records there are, also one that is refused because the ledger is
 * full. The oldest delivered payments make room for new records.
 */
export class MemoryRecords<T extends LedgerRecord> {
  readonly #options: MemoryRecordsOptions<T>
  /** By {@link LedgerRecord.id}, as everything here. */
  readonly #kept = new Map<string, Kept<T>>()
  /** Delivered payments, oldest first: they give way when there are too many, or the ledger is full. */
  readonly #delivered = new KeyQueue()
  #deliveredCount = 0
  readonly #submitted = new Set<string>()
  readonly #byProject = new Map<string, RecordList<T>>()
  /** By the payment that they refund, in the order in which they were reserved. */
  readonly #refunds = new Map<string, Set<string>>()
  readonly #final: Readonly<Record<'settled' | 'failed', RecordList<T>>>
  readonly #lapses: LapseBuckets
  #isClosed = false

  constructor(options: MemoryRecordsOptions<T>) {
    this.#options = options
    this.#lapses = new LapseBuckets(options.now())
    const listOf = (state: LedgerRecord['state']): RecordList<T> =>
      new RecordList(this.#find, (record) =>
        record.state === state ? record.updatedAt : undefined,
      )
    this.#final = { settled: listOf('settled'), failed: listOf('failed') }
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  /** @throws {@link LedgerError} `ledger_unavailable` after {@link MemoryRecords.close}. */
  requireOpen(): void {
    if (this.#isClosed) throw new LedgerError('ledger_unavailable', 'The ledger is closed.')
  }

  get(id: string): T | undefined {
    this.requireOpen()
    const kept = this.#kept.get(id)
    if (kept === undefined || kept.lapsesAt > this.#options.now()) return kept?.record
    this.delete(id)
    return undefined
  }

  /** @throws {@link LedgerError} `ledger_full`, for new records only: an existing one can always change. */
  set(record: T): void {
    this.requireOpen()
    const old = this.#kept.get(record.id)
    if (old === undefined) this.#makeRoom()
    else this.#unlist(old)
    const nowMs = this.#options.now()
    const kept = { record, lapsesAt: nowMs + lifetimeMs(record, nowMs) }
    this.#kept.set(record.id, kept)
    this.#list(kept, old?.record)
  }

  delete(id: string): void {
    const kept = this.#kept.get(id)
    if (kept === undefined) return
    const { record } = kept
    this.#unlist(kept)
    this.#kept.delete(id)
    if (isDelivered(record)) {
      this.#deliveredCount -= 1
      this.#delivered.noteStale((one) => this.#kept.has(one))
    }
    const { project = '', refundOf = '' } = record
    const refunds = this.#refunds.get(refundOf)
    refunds?.delete(id)
    if (refunds?.size === 0) this.#refunds.delete(refundOf)
    const ofProject = this.#byProject.get(project)
    ofProject?.noteStale()
    if (ofProject?.isEmpty) this.#byProject.delete(project)
    this.#options.onGone(record)
  }

  /** Submitted records, in no order. */
  submitted(): readonly T[] {
    this.requireOpen()
    return [...this.#submitted].flatMap((id) => this.get(id) ?? [])
  }

  /** Refunds of a payment, oldest first. */
  refundsOf(payment: string): readonly T[] {
    this.requireOpen()
    return [...(this.#refunds.get(payment) ?? [])].flatMap((id) => this.get(id) ?? [])
  }

  /** Records of a project by creation time, newest first. `until` is exclusive. */
  async *ofProject(project: string, from: number, until: number): AsyncGenerator<T> {
    this.requireOpen()
    const list = this.#byProject.get(project)
    if (list !== undefined) yield* list.newestFirst(from, until)
  }

  /** The projects that have records; empty for payments without one. */
  projects(): readonly string[] {
    this.requireOpen()
    return [...this.#byProject.keys()]
  }

  /** Final records that were changed at or after a time, newest first. */
  async *finalSince(state: 'settled' | 'failed', from: number): AsyncGenerator<T> {
    this.requireOpen()
    yield* this.#final[state].newestFirst(from, Infinity)
  }

  async *all(): AsyncGenerator<T> {
    this.requireOpen()
    let scanned = 0
    for (const { record } of this.#kept.values()) {
      yield record
      if (++scanned % SCANNED_AT_ONCE === 0) await nextTurn()
    }
  }

  close(): void {
    this.#isClosed = true
    for (const index of [this.#kept, this.#byProject, this.#lapses]) index.clear()
    for (const index of [this.#delivered, this.#submitted, this.#refunds]) index.clear()
  }

  readonly #find = (id: string): T | undefined => this.#kept.get(id)?.record
  readonly #isDelivered = (id: string): boolean => isDelivered(this.#find(id))

  #list({ record, lapsesAt }: Kept<T>, old: LedgerRecord | undefined): void {
    const { id, project = '' } = record
    if (old === undefined) {
      const ofProject =
        this.#byProject.get(project) ?? new RecordList(this.#find, ({ createdAt }) => createdAt)
      this.#byProject.set(project, ofProject)
      ofProject.add(id, record.createdAt)
      if (record.refundOf !== undefined) this.#noteRefund(record.refundOf, id)
    }
    if (record.state === 'submitted') this.#submitted.add(id)
    if (isDelivered(record) && !isDelivered(old)) {
      this.#deliveredCount += 1
      this.#delivered.push(id)
    }
    // Its place in the queue is skipped once it is reached.
    if (isDelivered(old) && !isDelivered(record)) this.#deliveredCount -= 1
    if (isFinal(record)) this.#final[record.state].add(id, record.updatedAt)
    this.#lapses.add(id, lapsesAt)
  }

  #noteRefund(payment: string, id: string): void {
    const refunds = this.#refunds.get(payment) ?? new Set()
    this.#refunds.set(payment, refunds.add(id))
  }

  #unlist({ record, lapsesAt }: Kept<T>): void {
    this.#submitted.delete(record.id)
    if (isFinal(record)) this.#final[record.state].noteStale()
    this.#lapses.delete(record.id, lapsesAt)
  }

  #makeRoom(): void {
    const { maxRecords } = this.#options
    this.#sweep()
    // Two give way to one, until there are no more than usually.
    for (let left = 2; left > 0 && this.#hasTooManyDelivered(); left--) this.#dropOldestDelivered()
    if (this.#kept.size < maxRecords || this.#dropOldestDelivered()) return
    throw new LedgerError(
      'ledger_full',
      `The memory ledger holds ${maxRecords} live payments; use an SQL ledger for more.`,
    )
  }

  /** @returns Whether there was one. */
  #dropOldestDelivered(): boolean {
    const oldest = this.#delivered.shift(this.#isDelivered)
    if (oldest !== undefined) this.delete(oldest)
    return oldest !== undefined
  }

  #hasTooManyDelivered(): boolean {
    if (this.#deliveredCount < MAX_DELIVERED.usually) return false
    if (this.#deliveredCount >= MAX_DELIVERED.watched) return true
    const oldest = this.#find(this.#delivered.first(this.#isDelivered) ?? '')
    return (oldest?.updatedAt ?? 0) < this.#options.now() - WATCHED_MS
  }

  /** Drops records that have lapsed, a few at a time. */
  #sweep(): void {
    const nowMs = this.#options.now()
    for (const id of this.#lapses.takePast(nowMs)) this.#dropLapsed(id, nowMs)
    if (this.#kept.size < this.#options.maxRecords) return
    for (const id of this.#lapses.current(nowMs)) this.#dropLapsed(id, nowMs)
  }

  #dropLapsed(id: string, nowMs: number): void {
    const kept = this.#kept.get(id)
    if (kept !== undefined && kept.lapsesAt <= nowMs) this.delete(id)
  }
}

/** Tells whether a record is of a delivered payment, which another record may replace. No refund is. */
export function isDelivered(record: LedgerRecord | undefined): boolean {
  return record?.state === 'settled' && record.delivered && record.refundOf === undefined
}
