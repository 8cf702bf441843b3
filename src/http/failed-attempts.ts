import { ipKeyGenerator, MemoryStore, type Options } from 'express-rate-limit'
import type { Request } from 'express'

/** How many attempts of one address may fail, and in which time span. */
export interface AttemptLimit {
  readonly windowMs: number
  readonly limit: number
}

/** An attempt that was counted. */
export interface Attempt {
  /** Seconds until the next one may be made; 0 if this one may. */
  readonly waitSeconds: number
  /** Whether it is the last one that may fail in its time span. */
  readonly isLast: boolean
}

/** Counts attempts by address, and forgets those that succeed. */
export class FailedAttempts {
  readonly #limit: number
  readonly #windowMs: number
  readonly #counts = new MemoryStore()

  constructor({ windowMs, limit }: AttemptLimit) {
    this.#limit = limit
    this.#windowMs = windowMs
    this.#counts.init({ windowMs } as Options)
  }

  /** Counts an attempt before it is made, so that many at once cannot exceed the limit. */
  async begin(req: Request): Promise<Attempt> {
    const { totalHits, resetTime } = await this.#counts.increment(keyOf(req))
    const isLast = totalHits === this.#limit
    if (totalHits <= this.#limit) return { waitSeconds: 0, isLast }
    const leftMs = resetTime === undefined ? this.#windowMs : resetTime.getTime() - Date.now()
    return { waitSeconds: Math.max(1, Math.ceil(leftMs / 1000)), isLast }
  }

  /** Takes back the count of an attempt that has not failed. */
  async succeed(req: Request): Promise<void> {
    await this.#counts.decrement(keyOf(req))
  }
}

const keyOf = (req: Request): string => ipKeyGenerator(req.ip ?? '')
