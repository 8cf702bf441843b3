export interface SlotLimits {
  readonly total: number
  /** For one key, such as a client. */
  readonly perKey: number
}

/** Limits how much runs at once, in total and per key. */
export class Slots {
  readonly #limits: SlotLimits
  readonly #taken = new Map<string, number>()
  #total = 0

  constructor(limits: SlotLimits) {
    this.#limits = limits
  }

  /** Takes a slot. @returns A function that releases it, or the limit that was reached. */
  take(key: string): (() => void) | keyof SlotLimits {
    const ofKey = this.#taken.get(key) ?? 0
    if (ofKey >= this.#limits.perKey) return 'perKey'
    if (this.#total >= this.#limits.total) return 'total'
    this.#total += 1
    this.#taken.set(key, ofKey + 1)
    let isTaken = true
    return () => {
      if (!isTaken) return
      isTaken = false
      this.#total -= 1
      const left = (this.#taken.get(key) ?? 1) - 1
      if (left === 0) this.#taken.delete(key)
      else this.#taken.set(key, left)
    }
  }
}
