import { setImmediate as nextTurn } from 'node:timers/promises'
import { LedgerError } from '../../errors.js'
import { isFinal, type LedgerRecord } from '../record.js'
import { KeyQueue } from './key-queue.js'
import { LapseBuckets } from './lapse-buckets.js'
import { RecordList } from './record-list.js'
import { Tombstones, type Kept } from './tombstones.js'

/** Seconds that a final record outlives its authorization. */
const AFTERLIFE_SECONDS = 3600n

/**
 * Seconds after which a settled record is dropped, because the chain itself refuses its nonce. That is
 * not so for a failed one, until its authorization lapses.
 */
const MAX_AGE_SECONDS = 48n * 3600n

/** Records read before the event loop gets a turn. */
const SCANNED_AT_ONCE = 1000

/** Options of {@link MemoryRecords}. */
interface MemoryRecordsOptions<T> {
  readonly maxRecords: number
  /** Milliseconds since the epoch. */
  readonly now: () => number
  /** Called when a record is dropped and leaves no tombstone, or its tombstone is dropped. */
  readonly onGone: (record: T, key: string) => void
}

/**
 * The records of a memory ledger, with the indexes that its lists need.
 *
 * A write costs the same however many records there are, also one that is refused because the ledger is
 * full. The oldest delivered payments make room for new records and leave {@link Tombstones}.
 */
export class MemoryRecords<T extends LedgerRecord> {
  readonly #options: MemoryRecordsOptions<T>
  readonly #kept = new Map<string, Kept<T>>()
  readonly #tombstones: Tombstones<T>
  /** Delivered payments, oldest first: they give way when the ledger is full. */
  readonly #delivered = new KeyQueue()
  readonly #submitted = new Set<string>()
  /** Keys by {@link LedgerRecord.id}. */
  readonly #keys = new Map<string, string>()
  readonly #byProject = new Map<string, RecordList<T>>()
  readonly #final: Readonly<Record<'settled' | 'failed', RecordList<T>>>
  readonly #lapses: LapseBuckets
  #isClosed = false

  constructor(options: MemoryRecordsOptions<T>) {
    this.#options = options
    this.#tombstones = new Tombstones(options.onGone)
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

  /** Finds a record or its tombstone. */
  get(key: string): T | undefined {
    this.requireOpen()
    const kept = this.#kept.get(key) ?? this.#tombstones.get(key)
    if (kept === undefined || kept.lapsesAt > this.#options.now()) return kept?.record
    this.delete(key)
    return undefined
  }

  /** @throws {@link LedgerError} `ledger_full`, for new records only: an existing one can always change. */
  set(key: string, record: T): void {
    this.requireOpen()
    const old = this.#kept.get(key)
    if (old === undefined) this.#makeRoom()
    else this.#unlist(key, old)
    const nowMs = this.#options.now()
    const kept = { record, lapsesAt: nowMs + lifetimeMs(record, nowMs) }
    this.#kept.set(key, kept)
    this.#tombstones.delete(key)
    this.#list(key, kept, old?.record)
  }

  delete(key: string): void {
    const kept = this.#kept.get(key) ?? this.#tombstones.get(key)
    this.#tombstones.delete(key)
    this.#drop(key)
    if (kept !== undefined) this.#options.onGone(kept.record, key)
  }

  /** Submitted records, in no order. */
  submitted(): readonly T[] {
    this.requireOpen()
    return [...this.#submitted].flatMap((key) => this.get(key) ?? [])
  }

  byId(id: string): T | undefined {
    return this.get(this.#keys.get(id) ?? '')
  }

  /** Records of a project by creation time, newest first. `until` is exclusive. */
  async *ofProject(project: string, from: number, until: number): AsyncGenerator<T> {
    this.requireOpen()
    const list = this.#byProject.get(project)
    if (list !== undefined) yield* list.newestFirst(from, until)
  }

  /** Final records that were changed at or after a time, newest first. */
  async *finalSince(state: 'settled' | 'failed', from: number): AsyncGenerator<T> {
    this.requireOpen()
    yield* this.#final[state].newestFirst(from, Infinity)
  }

  /** All records, and then all tombstones. */
  async *all(): AsyncGenerator<T> {
    this.requireOpen()
    let scanned = 0
    for (const source of [this.#kept, this.#tombstones])
      for (const { record } of source.values()) {
        yield record
        if (++scanned % SCANNED_AT_ONCE === 0) await nextTurn()
      }
  }

  close(): void {
    this.#isClosed = true
    for (const index of [this.#kept, this.#tombstones, this.#keys, this.#byProject]) index.clear()
    for (const index of [this.#lapses, this.#delivered, this.#submitted]) index.clear()
  }

  readonly #find = (key: string): T | undefined => this.#kept.get(key)?.record

  #list(key: string, { record, lapsesAt }: Kept<T>, old: LedgerRecord | undefined): void {
    if (old === undefined) {
      this.#keys.set(record.id, key)
      const { project = '' } = record
      const ofProject =
        this.#byProject.get(project) ?? new RecordList(this.#find, ({ createdAt }) => createdAt)
      this.#byProject.set(project, ofProject)
      ofProject.add(key, record.createdAt)
    }
    if (record.state === 'submitted') this.#submitted.add(key)
    if (isDelivered(record) && !isDelivered(old)) this.#delivered.push(key)
    if (isFinal(record)) this.#final[record.state].add(key, record.updatedAt)
    this.#lapses.add(key, lapsesAt)
  }

  #unlist(key: string, { record, lapsesAt }: Kept<T>): void {
    this.#submitted.delete(key)
    if (isFinal(record)) this.#final[record.state].noteStale()
    this.#lapses.delete(key, lapsesAt)
  }

  #drop(key: string): void {
    const kept = this.#kept.get(key)
    if (kept === undefined) return
    this.#unlist(key, kept)
    this.#kept.delete(key)
    if (isDelivered(kept.record)) this.#delivered.noteStale((one) => this.#kept.has(one))
    this.#keys.delete(kept.record.id)
    const { project = '' } = kept.record
    const ofProject = this.#byProject.get(project)
    ofProject?.noteStale()
    if (ofProject?.isEmpty) this.#byProject.delete(project)
  }

  #makeRoom(): void {
    const { maxRecords, now } = this.#options
    this.#sweep()
    this.#tombstones.sweep(now())
    if (this.#kept.size < maxRecords) return
    const oldest = this.#delivered.shift((key) => isDelivered(this.#find(key)))
    if (oldest === undefined)
      throw new LedgerError(
        'ledger_full',
        `The memory ledger holds ${maxRecords} live payments; use an SQL ledger for more.`,
      )
    this.#bury(oldest)
  }

  /** Replaces the record of a delivered payment by a tombstone without the transaction's bytes. */
  #bury(key: string): void {
    const kept = this.#kept.get(key)
    if (kept?.record.state !== 'settled') return
    this.#drop(key)
    const { submission: _bytes, appliedRate: _rate, ...small } = kept.record
    this.#tombstones.add(key, { record: small as T, lapsesAt: kept.lapsesAt })
  }

  /** Drops records that have lapsed, a few at a time. */
  #sweep(): void {
    const nowMs = this.#options.now()
    for (const key of this.#lapses.takePast(nowMs)) this.#dropLapsed(key, nowMs)
    if (this.#kept.size < this.#options.maxRecords) return
    for (const key of this.#lapses.current(nowMs)) this.#dropLapsed(key, nowMs)
  }

  #dropLapsed(key: string, nowMs: number): void {
    const kept = this.#kept.get(key)
    if (kept !== undefined && kept.lapsesAt <= nowMs) this.delete(key)
  }
}

function isDelivered(record: LedgerRecord | undefined): boolean {
  return record?.state === 'settled' && record.delivered
}

/** How long a record is kept. */
function lifetimeMs(record: LedgerRecord, nowMs: number): number {
  const left = record.validBefore - BigInt(Math.floor(nowMs / 1000))
  const validFor = left > 0n ? left : 0n
  if (!isFinal(record))
    return validFor > MAX_AGE_SECONDS ? Infinity : toMs(validFor + MAX_AGE_SECONDS)
  const afterwards = validFor + AFTERLIFE_SECONDS
  if (record.state === 'failed') return validFor > MAX_AGE_SECONDS ? Infinity : toMs(afterwards)
  return toMs(afterwards < MAX_AGE_SECONDS ? afterwards : MAX_AGE_SECONDS)
}

function toMs(seconds: bigint): number {
  return Number(seconds) * 1000
}
