import type { LedgerRecord } from '../record.js'
import { KeyQueue } from './key-queue.js'

/** Tombstones kept at most. Beyond, the oldest are dropped: the chain itself refuses their nonces. */
const MAX_TOMBSTONES = 1_000_000

/** Lapsed tombstones that one write drops: twice as many as it can add. */
const SWEPT_AT_ONCE = 2

/** A record, and until when it is kept. */
export interface Kept<T> {
  readonly record: T
  /** Milliseconds since the epoch. */
  readonly lapsesAt: number
}

/**
 * Delivered payments whose records gave way to others.
 *
 * A tombstone keeps what refuses the authorization when it is presented again, and by which transaction
 * it was used, but not the transaction's bytes.
 */
export class Tombstones<T extends LedgerRecord> {
  readonly #byKey = new Map<string, Kept<T>>()
  /** In the order in which they were added. */
  readonly #oldest = new KeyQueue()
  readonly #onGone: (record: T, key: string) => void

  /** @param onGone - Called with each tombstone that is dropped. */
  constructor(onGone: (record: T, key: string) => void) {
    this.#onGone = onGone
  }

  get(key: string): Kept<T> | undefined {
    return this.#byKey.get(key)
  }

  /** Removes a tombstone without calling `onGone`. */
  delete(key: string): void {
    this.#byKey.delete(key)
  }

  values(): Iterable<Kept<T>> {
    return this.#byKey.values()
  }

  add(key: string, kept: Kept<T>): void {
    this.#byKey.set(key, kept)
    this.#oldest.push(key)
    if (this.#byKey.size <= MAX_TOMBSTONES) return
    const oldest = this.#oldest.shift((one) => this.#byKey.has(one))
    if (oldest !== undefined) this.#drop(oldest)
  }

  /** Drops the oldest tombstones that have lapsed. */
  sweep(nowMs: number): void {
    for (let left = SWEPT_AT_ONCE; left > 0; left--) {
      const key = this.#oldest.first
      if (key === undefined) return
      const kept = this.#byKey.get(key)
      if (kept !== undefined && kept.lapsesAt > nowMs) return
      this.#oldest.shift(() => true)
      this.#drop(key)
    }
  }

  clear(): void {
    this.#byKey.clear()
    this.#oldest.clear()
  }

  #drop(key: string): void {
    const kept = this.#byKey.get(key)
    this.#byKey.delete(key)
    if (kept !== undefined) this.#onGone(kept.record, key)
  }
}
