import type { HeldLease } from './held-budget.js'

export interface HeldLimits {
  readonly maxHeldBytes: number
  /** Its part of the memory for all held responses. */
  readonly lease?: HeldLease
}

export class HeldBody {
  readonly #limits: HeldLimits
  readonly #chunks: Buffer[] = []
  #size = 0

  constructor(limits: HeldLimits) {
    this.#limits = limits
  }

  get size(): number {
    return this.#size
  }

  /** Adds a chunk. @returns Which limit it exceeds; nothing may be added after that. */
  add(chunk: Buffer): 'too_large' | 'no_room' | undefined {
    const { maxHeldBytes, lease } = this.#limits
    this.#size += chunk.length
    if (this.#size > maxHeldBytes) return 'too_large'
    if (lease?.take(chunk.length) === false) return 'no_room'
    this.#chunks.push(chunk)
    return undefined
  }

  /** The whole body; `undefined` if nothing was added. */
  read(): Buffer | undefined {
    return this.#chunks.length > 1 ? Buffer.concat(this.#chunks) : this.#chunks[0]
  }

  drop(): void {
    this.#chunks.length = 0
    this.#limits.lease?.release()
  }
}
