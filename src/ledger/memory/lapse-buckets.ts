/** Milliseconds of records that lapse together. */
const BUCKET_MS = 10_000

/** Steps of one sweep, at most: what a write spends on making room. */
const SWEPT_AT_ONCE = 50

/** Keys by the time at which they lapse. A sweep costs the same however many there are. */
export class LapseBuckets {
  /** By {@link bucketOf} the time at which their keys lapse. */
  readonly #buckets = new Map<number, Set<string>>()
  /** The first bucket that was not swept yet. */
  #next: number
  /** Keys of past buckets that are to be swept. */
  #due: string[] = []

  constructor(nowMs: number) {
    this.#next = bucketOf(nowMs)
  }

  /** @param lapsesAt - Milliseconds since the epoch; `Infinity` for a key that never lapses. */
  add(key: string, lapsesAt: number): void {
    if (lapsesAt === Infinity) return
    const bucket = Math.max(bucketOf(lapsesAt), this.#next)
    const keys = this.#buckets.get(bucket)
    if (keys === undefined) this.#buckets.set(bucket, new Set([key]))
    else keys.add(key)
  }

  delete(key: string, lapsesAt: number): void {
    this.#buckets.get(Math.max(bucketOf(lapsesAt), this.#next))?.delete(key)
  }

  /** Takes out keys of past buckets, a few at a time. */
  *takePast(nowMs: number): Generator<string> {
    const current = bucketOf(nowMs)
    for (let left = SWEPT_AT_ONCE; left > 0; left--) {
      const key = this.#due.pop()
      if (key !== undefined) yield key
      else if (this.#next < current) {
        this.#due = [...(this.#buckets.get(this.#next) ?? [])]
        this.#buckets.delete(this.#next++)
      } else return
    }
  }

  /** Reads a few keys of the current bucket, some of which may have lapsed. */
  *current(nowMs: number): Generator<string> {
    let left = SWEPT_AT_ONCE
    for (const key of this.#buckets.get(bucketOf(nowMs)) ?? []) {
      if (left-- === 0) return
      yield key
    }
  }

  clear(): void {
    this.#buckets.clear()
    this.#due = []
  }
}

function bucketOf(ms: number): number {
  return Math.floor(ms / BUCKET_MS)
}
