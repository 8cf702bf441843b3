/** Part of the budget that one payer may take, unless one answer alone may be larger. */
const PAYER_SHARE = 1 / 4

/** What a held chunk takes in memory beside its bytes. */
const CHUNK_OVERHEAD_BYTES = 128

/** Room for one held answer. */
export interface HeldLease {
  /** Takes room for a chunk. @returns False where there is none. */
  take(bytes: number): boolean
  /** Gives everything back. May be called more than once. */
  release(): void
}

/** Who holds an answer, and how large it may get. */
export interface HeldAnswer {
  /** The payer, once his signature was verified: nobody fills the share of another. */
  readonly payer: string
  /** The bound of this answer alone. */
  readonly maxHeldBytes: number
}

/**
 * Bounds the memory of all answers that wait for their payments.
 *
 * One payer gets a quarter of it, so that he cannot keep the others out.
 */
export class HeldBudget {
  readonly #maxBytes: number
  /** By payer. Their sum is what is held. */
  readonly #heldBytes = new Map<string, number>()
  #totalBytes = 0

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  /** Whether no answer can be held at all. */
  get isFull(): boolean {
    return this.#totalBytes >= this.#maxBytes
  }

  /** Opens a lease. @returns `undefined` where there is no room left. */
  open({ payer, maxHeldBytes }: HeldAnswer): HeldLease | undefined {
    const share = Math.max(this.#maxBytes * PAYER_SHARE, maxHeldBytes)
    if (this.isFull || this.#heldBy(payer) >= share) return undefined
    let leased = 0
    return {
      take: (bytes) => {
        const needed = bytes + CHUNK_OVERHEAD_BYTES
        // The overhead of the last chunk counts only against what comes after it.
        if (this.#totalBytes + bytes > this.#maxBytes) return false
        if (this.#heldBy(payer) + bytes > share) return false
        leased += needed
        this.#add(payer, needed)
        return true
      },
      release: () => {
        this.#add(payer, -leased)
        leased = 0
      },
    }
  }

  #heldBy(payer: string): number {
    return this.#heldBytes.get(payer) ?? 0
  }

  #add(payer: string, bytes: number): void {
    const held = this.#heldBy(payer) + bytes
    if (held === 0) this.#heldBytes.delete(payer)
    else this.#heldBytes.set(payer, held)
    this.#totalBytes += bytes
  }
}
