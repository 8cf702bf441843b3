import { ipKeyGenerator } from 'express-rate-limit'
import { LRUCache } from 'lru-cache'
import { growingTo } from '../../shared/growing-to.js'
import { FacilitatorError } from '../../shared/errors.js'
import { world } from '../../shared/world.js'

/** Length of the window (ms). */
const WINDOW_MS = 60_000

/** Most addresses that are remembered. */
const MAX_CLIENTS = 10_000

/** Most payments in a window. A gateway of ours takes 600 requests a minute from a project. */
export interface Bounds {
  readonly ofAll: number
  readonly ofClient: number
}

/** Limits how often a facilitator elsewhere is asked about payments that may be worth nothing. */
export class UnprovenLimit {
  readonly #bounds: Bounds
  readonly #clients = new LRUCache<string, { count: number }>({
    ...growingTo(MAX_CLIENTS),
    ttl: WINDOW_MS,
  })
  #startedAt = -Infinity
  #all = { count: 0 }

  constructor(bounds: Bounds) {
    this.#bounds = bounds
  }

  /**
   * Counts a payment.
   *
   * @param client - Address that it comes from, where that is known.
   * @returns Takes it back: it was a good one.
   * @throws {@link FacilitatorError} (`facilitator_busy`) when there were too many.
   */
  count(client: string | undefined): () => void {
    const takeBack = this.tryCount(client)
    if (takeBack === undefined) throw tooMany()
    return takeBack
  }

  /** As {@link count}. @returns `undefined` when there were too many. */
  tryCount(client: string | undefined): (() => void) | undefined {
    const now = world.elapsed()
    if (now - this.#startedAt >= WINDOW_MS) {
      this.#startedAt = now
      this.#all = { count: 0 }
    }
    const [all, own] = [this.#all, this.#countOf(client)]
    if (all.count >= this.#bounds.ofAll || own.count >= this.#bounds.ofClient) return undefined
    for (const one of [all, own]) one.count += 1
    return () => [all, own].forEach((one) => (one.count -= 1))
  }

  #countOf(client: string | undefined): { count: number } {
    // Callers of the API are limited there.
    if (client === undefined) return { count: 0 }
    // Who has one IPv6 address has a whole network of them.
    const network = ipKeyGenerator(client)
    const known = this.#clients.get(network)
    if (known !== undefined) return known
    const counted = { count: 0 }
    this.#clients.set(network, counted)
    return counted
  }
}

function tooMany(): FacilitatorError {
  return new FacilitatorError(
    'facilitator_busy',
    'Too many payments come from unknown payers; nothing was sent for this one. Present it again later.',
    { isUnsent: true, retryAfterSeconds: WINDOW_MS / 1000 },
  )
}
