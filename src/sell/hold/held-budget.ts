/** Most bytes of all responses of paid routes that are held at once. */
export const MAX_HELD_BYTES_TOTAL = 256 * 1024 * 1024

/** Part of the budget that one payer may use, unless a single response may be larger. */
const PAYER_SHARE = 1 / 4

/** Memory that a held chunk takes in addition to its bytes. */
const CHUNK_OVERHEAD_BYTES = 128

export interface HeldLease {
  /** Reserves memory for a chunk. @returns False if there is none left. */
  take(bytes: number): boolean
  /** Frees everything. May be called more than once. */
  release(): void
}

export interface HeldLeaseOptions {
  /** The payer, whose signature was verified: no one else can use up that share. */
  readonly payer: string
  /** The limit of this response alone. */
  readonly maxHeldBytes: number
}

/**
 * Limits the memory of all responses that wait for their payments.
 *
 * One payer gets a quarter of it, so that no payer can lock out the others.
 */
export class HeldBudget {
  /** Bytes by payer. They add up to `#totalBytes`. */
  readonly #heldBytes = new Map<string, number>()
  #totalBytes = 0

  get isFull(): boolean {
    return this.#totalBytes >= MAX_HELD_BYTES_TOTAL
  }

  /** Opens a lease. @returns `undefined` if there is no memory left for this payer. */
  open({ payer, maxHeldBytes }: HeldLeaseOptions): HeldLease | undefined {
    const share = Math.max(MAX_HELD_BYTES_TOTAL * PAYER_SHARE, maxHeldBytes)
    if (this.isFull || this.#heldBy(payer) >= share) return undefined
    let leased = 0
    return {
      take: (bytes) => {
        const needed = bytes + CHUNK_OVERHEAD_BYTES
        // The overhead of a chunk counts only against later chunks.
        if (this.#totalBytes + bytes > MAX_HELD_BYTES_TOTAL) return false
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
