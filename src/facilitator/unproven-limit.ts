import { ipKeyGenerator } from 'express-rate-limit'
import { LRUCache } from 'lru-cache'
import { FacilitatorError } from '../errors.js'

/** Length of the window (ms). */
const WINDOW_MS = 60_000

/**
 * Most payments in a window that the payer's own key did not sign: from one address, and from all. A gateway
 * of ours takes 600 requests a minute from a project: garbage must leave most of them to payments.
 */
const MOST_OF_CLIENT = 20
const MOST = 120

/** Most addresses that are remembered. */
const MAX_CLIENTS = 10_000

/**
 * Limits how often a facilitator elsewhere is asked about payments that the payer's own key did not sign.
 *
 * Each is garbage, or the payment of a contract account, which only the chain can tell apart.
 */
export class UnprovenLimit {
  readonly #clients = new LRUCache<string, { count: number }>({ max: MAX_CLIENTS, ttl: WINDOW_MS })
  #startedAt = -Infinity
  #count = 0

  /**
   * Counts a payment.
   *
   * @param client - Address that it comes from, where that is known.
   * @throws {@link FacilitatorError} (`facilitator_busy`) when there were too many.
   */
  count(client: string | undefined): void {
    const now = performance.now()
    if (now - this.#startedAt >= WINDOW_MS) {
      this.#startedAt = now
      this.#count = 0
    }
    const own = this.#countOf(client)
    if (this.#count >= MOST || own.count >= MOST_OF_CLIENT) throw tooMany()
    own.count += 1
    this.#count += 1
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
    'Too many payments are signed by another key than the payer’s; nothing was sent for this one. Present it again later.',
    { isUnsent: true, retryAfterSeconds: WINDOW_MS / 1000 },
  )
}
