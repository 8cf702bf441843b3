import { setImmediate as nextTurn } from 'node:timers/promises'
import type { LedgerRecord } from '../record.js'

/** Records read before the event loop gets a turn. */
const READ_AT_ONCE = 1000

/** Stale places beyond which the list may be compacted. */
const MAX_STALE = 1000

/** A place in the list: the key of a record, and the time it is sorted by. */
interface Place {
  readonly at: number
  readonly key: string
}

/** Keys of records, sorted by a time that only grows. Stale places are skipped, and compacted later. */
export class RecordList<T extends LedgerRecord> {
  readonly #find: (key: string) => T | undefined
  readonly #timeOf: (record: T) => number | undefined
  #places: Place[] = []
  #stale = 0

  /** @param timeOf - The time a record is sorted by; `undefined` if it left the list. */
  constructor(find: (key: string) => T | undefined, timeOf: (record: T) => number | undefined) {
    this.#find = find
    this.#timeOf = timeOf
  }

  add(key: string, at: number): void {
    this.#places.push({ at, key })
  }

  /** Counts a place that became stale. */
  noteStale(): void {
    this.#stale += 1
    if (this.#stale <= MAX_STALE || this.#stale * 2 < this.#places.length) return
    this.#places = this.#places.filter((place) => this.#recordAt(place) !== undefined)
    this.#stale = 0
  }

  get isEmpty(): boolean {
    return this.#stale >= this.#places.length
  }

  /** Yields the records of a time span, newest first. `until` is exclusive. */
  async *newestFirst(from: number, until: number): AsyncGenerator<T> {
    const places = this.#places
    let seen = new Set<string>()
    let seenAt = Infinity
    for (let index = firstAtOrAfter(places, until) - 1, looked = 1; index >= 0; index--, looked++) {
      const place = places[index]
      if (place === undefined || place.at < from) return
      if (looked % READ_AT_ONCE === 0) await nextTurn()
      if (place.at !== seenAt) seen = new Set()
      seenAt = place.at
      const record = this.#recordAt(place)
      // A record released and reserved again within a millisecond has two places.
      if (record === undefined || seen.has(place.key)) continue
      seen.add(place.key)
      yield record
    }
  }

  #recordAt({ at, key }: Place): T | undefined {
    const record = this.#find(key)
    return record !== undefined && this.#timeOf(record) === at ? record : undefined
  }
}

function firstAtOrAfter(places: readonly Place[], time: number): number {
  let low = 0
  let high = places.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((places[middle]?.at ?? Infinity) < time) low = middle + 1
    else high = middle
  }
  return low
}
