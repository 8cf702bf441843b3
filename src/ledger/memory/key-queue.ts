/** Stale keys below which the queue is not compacted. */
const MIN_STALE = 1000

/**
 * A first-in, first-out queue of keys.
 *
 * A `Set` is no substitute: reading its first entry skips over all that were deleted, each time.
 */
export class KeyQueue {
  #keys: string[] = []
  /** Index of the first key. Those before it were taken out. */
  #first = 0
  /** Keys in the queue that are stale. */
  #stale = 0

  push(key: string): void {
    this.#keys.push(key)
  }

  /** Reads the first key that is live. The stale ones before it are taken out. */
  first(isLive: (key: string) => boolean): string | undefined {
    for (;;) {
      const key = this.#keys[this.#first]
      if (key === undefined || isLive(key)) return key
      this.#takeFirst()
    }
  }

  /** Takes out the first key that is live, and the stale ones before it. */
  shift(isLive: (key: string) => boolean): string | undefined {
    const key = this.first(isLive)
    if (key !== undefined) this.#takeFirst()
    return key
  }

  /** Counts a key that became stale. Stale keys are dropped once they are the majority. */
  noteStale(isLive: (key: string) => boolean): void {
    this.#stale += 1
    if (this.#stale < MIN_STALE || this.#stale * 2 < this.#keys.length - this.#first) return
    this.#keys = this.#keys.slice(this.#first).filter(isLive)
    this.#first = 0
    this.#stale = 0
  }

  clear(): void {
    this.#keys = []
    this.#first = 0
    this.#stale = 0
  }

  #takeFirst(): void {
    this.#first += 1
    if (this.#first <= MIN_STALE || this.#first * 2 <= this.#keys.length) return
    this.#keys = this.#keys.slice(this.#first)
    this.#first = 0
  }
}
