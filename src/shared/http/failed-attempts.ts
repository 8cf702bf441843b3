import { ipKeyGenerator, MemoryStore, type Options } from 'express-rate-limit'
import type { Request } from 'express'
import { world } from '../world.js'

export interface AttemptLimit {
  readonly windowMs: number
  readonly limit: number
}

export interface Attempt {
  /** How long to wait before the next one (s); 0 if this one is allowed. */
  readonly waitSeconds: number
  /** Whether it is the last one that may fail in its window. */
  readonly isLast: boolean
}

export class FailedAttempts {
  readonly #limit: number
  readonly #windowMs: number
  readonly #counts = new MemoryStore()

  constructor({ windowMs, limit }: AttemptLimit) {
    this.#limit = limit
    this.#windowMs = windowMs
    this.#counts.init({ windowMs } as Options)
  }

  /** Counts an attempt in advance, so that simultaneous ones cannot exceed the limit. */
  async begin(req: Request): Promise<Attempt> {
    const { totalHits, resetTime } = await this.#counts.increment(keyOf(req))
    const isLast = totalHits === this.#limit
    if (totalHits <= this.#limit) return { waitSeconds: 0, isLast }
    const leftMs = resetTime === undefined ? this.#windowMs : resetTime.getTime() - world.now()
    return { waitSeconds: Math.max(1, Math.ceil(leftMs / 1000)), isLast }
  }

  async succeed(req: Request): Promise<void> {
    await this.#counts.decrement(keyOf(req))
  }
}

const keyOf = (req: Request): string => ipKeyGenerator(req.ip ?? '')
