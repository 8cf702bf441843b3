/** Random numbers of a seed: sfc32, which passes PractRand, seeded by FNV-1a. */
export class Chance {
  #a = 0
  #b = 0
  #c = 0
  #counter = 1

  constructor(seed: string) {
    let hash = 0x811c9dc5
    for (let index = 0; index < seed.length; index++)
      hash = Math.imul(hash ^ seed.charCodeAt(index), 0x01000193)
    this.#a = hash
    this.#b = Math.imul(hash, 0x9e3779b1)
    this.#c = hash ^ 0x5bd1e995
    for (let round = 0; round < 16; round++) this.word()
  }

  /** 32 random bits, as an unsigned number. */
  word(): number {
    const sum = (this.#a + this.#b + this.#counter++) | 0
    this.#a = this.#b ^ (this.#b >>> 9)
    this.#b = (this.#c + (this.#c << 3)) | 0
    this.#c = (((this.#c << 21) | (this.#c >>> 11)) + sum) | 0
    return sum >>> 0
  }

  /** At least 0 and less than 1. */
  fraction(): number {
    return this.word() / 0x1_0000_0000
  }

  /** A whole number of at least 0 and less than the bound. */
  below(bound: number): number {
    return Math.floor(this.fraction() * bound)
  }

  between(least: number, most: number): number {
    return least + this.below(most - least + 1)
  }

  /** Whether something happens that happens once in so many times. */
  onceIn(times: number): boolean {
    return this.fraction() * times < 1
  }

  pick<T>(all: readonly T[]): T {
    return all[this.below(all.length)]!
  }

  bytes(count: number): Buffer {
    const bytes = Buffer.alloc(count)
    for (let index = 0; index < count; index += 4) {
      const word = this.word()
      for (let byte = 0; byte < 4 && index + byte < count; byte++)
        bytes[index + byte] = word >>> (8 * byte)
    }
    return bytes
  }
}
