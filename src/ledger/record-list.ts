import { setImmediate as nextTurn } from 'node:timers/promises'
import type { LedgerRecord } from './ledger.js'

/** Records that a list looks at before it lets others go on. */
const LISTED_AT_ONCE = 1000

/** Places of records that are gone, beyond which a list is written anew. */
const MOST_DEAD = 1000

/** A record, and when it took its place in a list. */
interface Place {
  readonly at: number
  readonly key: string
}

/** Keys of records in the order of a time of theirs. */
export class RecordList<T extends LedgerRecord> {
  readonly #find: (key: string) => T | undefined
  readonly #timeOf: (record: T) => number | undefined
  #places: Place[] = []
  #dead = 0

  /** @param timeOf - The time it is listed by; nothing where it is no longer of this list. */
  constructor(find: (key: string) => T | undefined, timeOf: (record: T) => number | undefined) {
    this.#find = find
    this.#timeOf = timeOf
  }

  add(key: string, at: number): void {
    this.#places.push({ at, key })
  }

  /** Takes note that a place is no longer that of its record. */
  noteDead(): void {
    this.#dead += 1
    if (this.#dead <= MOST_DEAD || this.#dead * 2 < this.#places.length) return
    this.#places = this.#places.filter((place) => this.#recordAt(place) !== undefined)
    this.#dead = 0
  }

  get isEmpty(): boolean {
    return this.#dead >= this.#places.length
  }

  /** The records of a time, the newest first; lets others go on in between. `until` is exclusive. */
  async *newestFirst(from: number, until: number): AsyncGenerator<T> {
    const places = this.#places
    let seen = new Set<string>()
    let seenAt = Infinity
    for (let index = firstAtOrAfter(places, until) - 1, looked = 1; index >= 0; index--, looked++) {
      const place = places[index]
      if (place === undefined || place.at < from) return
      if (looked % LISTED_AT_ONCE === 0) await nextTurn()
      if (place.at !== seenAt) seen = new Set()
      seenAt = place.at
      const record = this.#recordAt(place)
      // It may have been given back and taken again within a millisecond.
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
