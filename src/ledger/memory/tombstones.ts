/** Digests of one generation, at most. */
const MAX_DIGESTS = 2 ** 19

/** Digests for which the first generation has room at first. */
const FIRST_ROOM = 1024

/** 32-bit words of a digest. */
const WORDS = 4

/**
 * What is left of payments whose records were dropped: digests of their ids, transfers and
 * transactions.
 *
 * A digest takes 32 to 64 bytes, outside the garbage-collected heap. There are two generations, and the
 * old one is dropped when the young one is full: the last 524,288 digests are always known, which are
 * the payments of some minutes at least. The chain itself refuses those before.
 */
export class Tombstones {
  #young = new DigestTable(FIRST_ROOM)
  #old = new DigestTable(FIRST_ROOM)

  /** @param digest - Hexadecimal digits, of which the first 32 count. */
  has(digest: string): boolean {
    const words = wordsOf(digest)
    return this.#young.has(words) || this.#old.has(words)
  }

  /** @param digest - As for {@link Tombstones.has}. */
  add(digest: string): void {
    if (this.#young.size === MAX_DIGESTS) {
      this.#old = this.#young
      this.#young = new DigestTable(MAX_DIGESTS)
    }
    this.#young.add(wordsOf(digest))
  }
}

/** The first word is not 0. */
type Digest = readonly [number, number, number, number]

/** A hash table with open addressing, at most half full. A place is free if its first word is 0. */
class DigestTable {
  size = 0
  #words: Uint32Array

  constructor(room: number) {
    this.#words = new Uint32Array(room * 2 * WORDS)
  }

  has(digest: Digest): boolean {
    return this.size > 0 && this.#words[this.#placeOf(digest)] !== 0
  }

  add(digest: Digest): void {
    if (this.size * 2 * WORDS === this.#words.length) this.#grow()
    const place = this.#placeOf(digest)
    if (this.#words[place] === 0) this.size += 1
    this.#words.set(digest, place)
  }

  /** The place of a digest, or the free one where it belongs, as the index of its first word. */
  #placeOf([first, second, third, fourth]: Digest): number {
    const words = this.#words
    for (let at = (first * WORDS) % words.length; ; at = (at + WORDS) % words.length) {
      if (words[at] === 0) return at
      if (words[at] !== first || words[at + 1] !== second) continue
      if (words[at + 2] === third && words[at + 3] === fourth) return at
    }
  }

  #grow(): void {
    const before = this.#words
    this.#words = new Uint32Array(before.length * 2)
    for (let at = 0; at < before.length; at += WORDS) {
      const [first = 0, second = 0, third = 0, fourth = 0] = before.subarray(at, at + WORDS)
      const digest = [first, second, third, fourth] as const
      if (first !== 0) this.#words.set(digest, this.#placeOf(digest))
    }
  }
}

function wordsOf(digest: string): Digest {
  const wordAt = (index: number): number => parseInt(digest.slice(index * 8, index * 8 + 8), 16)
  return [wordAt(0) || 1, wordAt(1), wordAt(2), wordAt(3)]
}
