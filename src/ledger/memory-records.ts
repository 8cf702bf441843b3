import { setImmediate as nextTurn } from 'node:timers/promises'
import { LedgerError } from '../errors.js'
import type { LedgerRecord } from './ledger.js'
import { RecordList } from './record-list.js'

/** Seconds for which a final record outlives its authorization. */
const AFTERLIFE_SECONDS = 3600n

/**
 * Seconds a settled record is kept at most: beyond, the chain itself refuses the nonce. Of one that
 * failed it does not, until its authorization lapses.
 */
const MAX_AGE_SECONDS = 48n * 3600n

/** Delivered payments of which only a tombstone is kept; beyond, the oldest are left to the chain. */
const MAX_TOMBSTONES = 1_000_000

/** Milliseconds of records that are swept together. */
const BUCKET_MS = 10_000

/** Records that a write looks at to make room, at most. */
const SWEPT_AT_ONCE = 50

/** Records looked at before others may go on. */
const SCANNED_AT_ONCE = 1000

/** Options of {@link MemoryRecords}. */
interface MemoryRecordsOptions<T> {
  readonly maxRecords: number
  /** Milliseconds since the epoch. */
  readonly now: () => number
  /** Is told of a record of which nothing is left. */
  readonly onGone: (record: T, key: string) => void
}

/** A record, and until when it is kept. */
interface Kept<T> {
  readonly record: T
  /** Milliseconds since the epoch. */
  readonly lapsesAt: number
}

/**
 * The records of a memory ledger, and what finds them in lists.
 *
 * A write costs the same however many there are, also one that is refused because it is full. Of what
 * was paid and delivered, the oldest give up their records to make room, and leave tombstones: that an
 * authorization is used is known of them, and by which transaction.
 */
export class MemoryRecords<T extends LedgerRecord> {
  readonly #options: MemoryRecordsOptions<T>
  readonly #kept = new Map<string, Kept<T>>()
  /** Delivered payments without their bytes. */
  readonly #tombstones = new Map<string, Kept<T>>()
  readonly #buried = new KeyQueue()
  /** Paid and delivered, the oldest first: what gives way. */
  readonly #delivered = new KeyQueue()
  readonly #submitted = new Set<string>()
  /** Keys by {@link LedgerRecord.id}. */
  readonly #keys = new Map<string, string>()
  readonly #byProject = new Map<string, RecordList<T>>()
  readonly #final: Readonly<Record<'settled' | 'failed', RecordList<T>>>
  /** Keys by when they lapse. */
  readonly #buckets = new Map<number, Set<string>>()
  #nextBucket: number
  /** Keys of buckets that are over. */
  #due: string[] = []
  #isClosed = false

  constructor(options: MemoryRecordsOptions<T>) {
    this.#options = options
    this.#nextBucket = bucketOf(options.now())
    const listOf = (state: LedgerRecord['state']): RecordList<T> =>
      new RecordList(this.#find, (record) =>
        record.state === state ? record.updatedAt : undefined,
      )
    this.#final = { settled: listOf('settled'), failed: listOf('failed') }
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  /** @throws {@link LedgerError} once it is closed. */
  requireOpen(): void {
    if (this.#isClosed) throw new LedgerError('ledger_unavailable', 'The ledger is closed.')
  }

  get(key: string): T | undefined {
    this.requireOpen()
    const kept = this.#kept.get(key) ?? this.#tombstones.get(key)
    if (kept === undefined || kept.lapsesAt > this.#options.now()) return kept?.record
    this.delete(key)
    return undefined
  }

  /** @throws {@link LedgerError} `ledger_full`; what is there already can always be changed. */
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

  /** Submitted ones, in no order. */
  submitted(): readonly T[] {
    this.requireOpen()
    return [...this.#submitted].flatMap((key) => this.get(key) ?? [])
  }

  byId(id: string): T | undefined {
    return this.get(this.#keys.get(id) ?? '')
  }

  /** Those of a project that were created in a time, the newest first; `until` is exclusive. */
  async *ofProject(project: string, from: number, until: number): AsyncGenerator<T> {
    this.requireOpen()
    const list = this.#byProject.get(project)
    if (list !== undefined) yield* list.newestFirst(from, until)
  }

  /** Those that became final, or were changed since, from a time on; the newest first. */
  async *finalSince(state: 'settled' | 'failed', from: number): AsyncGenerator<T> {
    this.requireOpen()
    yield* this.#final[state].newestFirst(from, Infinity)
  }

  /** All of them, and all tombstones. */
  async *all(): AsyncGenerator<T> {
    this.requireOpen()
    let looked = 0
    for (const map of [this.#kept, this.#tombstones])
      for (const { record } of map.values()) {
        yield record
        if (++looked % SCANNED_AT_ONCE === 0) await nextTurn()
      }
  }

  close(): void {
    this.#isClosed = true
    for (const index of [this.#kept, this.#tombstones, this.#keys, this.#byProject, this.#buckets])
      index.clear()
    for (const queue of [this.#delivered, this.#buried]) queue.clear()
    this.#submitted.clear()
    this.#due = []
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
    if (lapsesAt === Infinity) return
    const bucket = Math.max(bucketOf(lapsesAt), this.#nextBucket)
    const keys = this.#buckets.get(bucket)
    if (keys === undefined) this.#buckets.set(bucket, new Set([key]))
    else keys.add(key)
  }

  #unlist(key: string, { record, lapsesAt }: Kept<T>): void {
    this.#submitted.delete(key)
    if (isFinal(record)) this.#final[record.state].noteDead()
    this.#buckets.get(Math.max(bucketOf(lapsesAt), this.#nextBucket))?.delete(key)
  }

  #drop(key: string): void {
    const kept = this.#kept.get(key)
    if (kept === undefined) return
    this.#unlist(key, kept)
    this.#kept.delete(key)
    if (isDelivered(kept.record)) this.#delivered.noteDead((one) => this.#kept.has(one))
    this.#keys.delete(kept.record.id)
    const { project = '' } = kept.record
    const ofProject = this.#byProject.get(project)
    ofProject?.noteDead()
    if (ofProject?.isEmpty) this.#byProject.delete(project)
  }

  #makeRoom(): void {
    const { maxRecords } = this.#options
    this.#sweep()
    this.#sweepTombstones()
    if (this.#kept.size < maxRecords) return
    const oldest = this.#delivered.shift((key) => isDelivered(this.#find(key)))
    if (oldest === undefined)
      throw new LedgerError(
        'ledger_full',
        `The memory ledger holds ${maxRecords} live payments; use an SQL ledger for more.`,
      )
    this.#bury(oldest)
  }

  /** Leaves of a delivered payment what refuses it. */
  #bury(key: string): void {
    const kept = this.#kept.get(key)
    if (kept?.record.state !== 'settled') return
    this.#drop(key)
    const { submission: _bytes, appliedRate: _quote, ...small } = kept.record
    this.#tombstones.set(key, { record: small as T, lapsesAt: kept.lapsesAt })
    this.#buried.push(key)
    const isTooMany = this.#tombstones.size > MAX_TOMBSTONES
    const oldest = isTooMany && this.#buried.shift((one) => this.#tombstones.has(one))
    if (oldest) this.delete(oldest)
  }

  /** Drops what has lapsed, a little at a time. */
  #sweep(): void {
    const nowMs = this.#options.now()
    const current = bucketOf(nowMs)
    for (let left = SWEPT_AT_ONCE; left > 0; left--) {
      const key = this.#due.pop()
      if (key !== undefined) this.#dropLapsed(key, nowMs)
      else if (this.#nextBucket < current) {
        this.#due = [...(this.#buckets.get(this.#nextBucket) ?? [])]
        this.#buckets.delete(this.#nextBucket++)
      } else break
    }
    if (this.#kept.size < this.#options.maxRecords) return
    let left = SWEPT_AT_ONCE
    for (const key of this.#buckets.get(current) ?? []) {
      if (left-- === 0) return
      this.#dropLapsed(key, nowMs)
    }
  }

  /** Drops the oldest tombstones that have lapsed: twice as many as one write can add. */
  #sweepTombstones(): void {
    for (let left = 2; left > 0; left--) {
      const key = this.#buried.first
      if (key === undefined) return
      const kept = this.#tombstones.get(key)
      if (kept !== undefined && kept.lapsesAt > this.#options.now()) return
      this.#buried.shift(() => true)
      if (kept !== undefined) this.delete(key)
    }
  }

  #dropLapsed(key: string, nowMs: number): void {
    const kept = this.#kept.get(key)
    if (kept !== undefined && kept.lapsesAt <= nowMs) this.delete(key)
  }
}

/** Keys in the order in which they came. A `Set` would pass by all that it has deleted, each time. */
class KeyQueue {
  #keys: string[] = []
  #first = 0
  #dead = 0

  get first(): string | undefined {
    return this.#keys[this.#first]
  }

  push(key: string): void {
    this.#keys.push(key)
  }

  /** Takes out the first that still counts, and all before it. */
  shift(counts: (key: string) => boolean): string | undefined {
    for (;;) {
      const key = this.#keys[this.#first]
      if (key === undefined) return undefined
      this.#first += 1
      if (this.#first > 1000 && this.#first * 2 > this.#keys.length) {
        this.#keys = this.#keys.slice(this.#first)
        this.#first = 0
      }
      if (counts(key)) return key
    }
  }

  /** A key in it no longer counts. Such keys are dropped once they are the most. */
  noteDead(counts: (key: string) => boolean): void {
    this.#dead += 1
    if (this.#dead < 1000 || this.#dead * 2 < this.#keys.length - this.#first) return
    this.#keys = this.#keys.slice(this.#first).filter(counts)
    this.#first = 0
    this.#dead = 0
  }

  clear(): void {
    this.#keys = []
    this.#first = 0
    this.#dead = 0
  }
}

function isDelivered(record: LedgerRecord | undefined): boolean {
  return record?.state === 'settled' && record.delivered
}

/** Whether the chain has decided it. */
export function isFinal(
  record: LedgerRecord,
): record is Extract<LedgerRecord, { state: 'settled' | 'failed' }> {
  return record.state === 'settled' || record.state === 'failed'
}

function bucketOf(ms: number): number {
  return Math.floor(ms / BUCKET_MS)
}

/** Milliseconds a record is kept. */
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
