import { setTimeout as sleep } from 'node:timers/promises'
import type {
  ClaimedDelivery,
  WebhookDeliveries,
  WebhookEndpoint,
} from '../ledger/webhook-store.js'
import type { Logger } from '../logger.js'
import { LRUCache } from 'lru-cache'
import { attempt, type AttemptOptions } from './attempt.js'

/**
 * Milliseconds between two queries for deliveries that other processes have written, or that are due again.
 */
const POLL_MS = 1000

/** Milliseconds after a payment until the next query: it also covers payments that end in between. */
const SOON_MS = 50

/** Attempts under way at most: of this process, of an endpoint, and of one that has failed or was slow. */
const MOST_AT_ONCE = 40
const MOST_OF_ENDPOINT = 8
const MOST_OF_SUSPECT = 1

/** Endpoints that a process remembers. */
const MOST_LOADS = 10_000

/** Milliseconds after which an endpoint counts as slow. */
const SLOW_MS = 2000

/** Milliseconds between two removals of old deliveries. */
const PRUNE_MS = 600_000

/** Milliseconds that attempts under way are given when the gateway closes. */
const CLOSING_MS = 1000

/** Options of {@link WebhookDispatcher}. */
export interface WebhookDispatcherOptions extends AttemptOptions {
  readonly deliveries: WebhookDeliveries
  readonly logger: Logger
}

/** What a process does for one endpoint. */
interface Load {
  underWay: number
  /** The last attempt has failed, or was slow. */
  isSuspect: boolean
}

/**
 * Delivers what the ledger has for webhooks, beside all other processes that share it.
 *
 * Every endpoint may have a few attempts under way, and one that fails or is slow only one, so that it never
 * holds up others.
 */
export class WebhookDispatcher {
  readonly #options: WebhookDispatcherOptions
  readonly #loads = new LRUCache<string, Load>({ max: MOST_LOADS })
  /** Attempts under way, and what ends each. */
  readonly #attempts = new Map<Promise<void>, AbortController>()
  readonly #timer: NodeJS.Timeout
  #soon: NodeJS.Timeout | undefined
  #round: Promise<void> | undefined
  /** Whether another round was requested during this one. */
  #isAsked = false
  #isClosed = false
  #prunedAt = performance.now()

  constructor(options: WebhookDispatcherOptions) {
    this.#options = options
    this.#timer = setInterval(() => this.wake(), POLL_MS)
    this.#timer.unref()
  }

  /** Looks for due deliveries in a moment. Payments call this: most of them have no endpoint. */
  wakeSoon(): void {
    if (this.#isClosed || this.#soon !== undefined) return
    this.#soon = setTimeout(() => {
      this.#soon = undefined
      this.wake()
    }, SOON_MS)
    this.#soon.unref()
  }

  /** Looks for due deliveries now: there may be some. */
  wake(): void {
    if (this.#isClosed) return
    this.#isAsked = true
    this.#round ??= this.#runRounds().finally(() => (this.#round = undefined))
  }

  /** Ends attempts, and leaves the rest to other processes. Never rejects. */
  async close(): Promise<void> {
    this.#isClosed = true
    clearInterval(this.#timer)
    clearTimeout(this.#soon)
    await this.#round
    const ended = new AbortController()
    await Promise.race([
      Promise.all(this.#attempts.keys()),
      sleep(CLOSING_MS, undefined, ended).catch(() => undefined),
    ])
    ended.abort()
    for (const ending of this.#attempts.values()) ending.abort()
    await Promise.all(this.#attempts.keys())
  }

  /** Never rejects: requests report that the ledger does not answer. */
  async #runRounds(): Promise<void> {
    while (this.#isAsked && !this.#isClosed) {
      this.#isAsked = false
      await this.#claimDue().catch(() => undefined)
    }
  }

  async #claimDue(): Promise<void> {
    const { deliveries, random = Math.random } = this.#options
    if (performance.now() - this.#prunedAt > PRUNE_MS) {
      this.#prunedAt = performance.now()
      await deliveries.prune()
    }
    for (const endpoint of shuffled(await deliveries.listDue(), random)) {
      const load = this.#loadOf(endpoint.id)
      const most = load.isSuspect ? MOST_OF_SUSPECT : MOST_OF_ENDPOINT
      const room = Math.min(most - load.underWay, MOST_AT_ONCE - this.#attempts.size)
      if (room <= 0 || this.#isClosed) continue
      for (const claimed of await deliveries.claim(endpoint.id, room))
        this.#start(endpoint, claimed)
    }
  }

  #start(endpoint: WebhookEndpoint, claimed: ClaimedDelivery): void {
    const load = this.#loadOf(endpoint.id)
    load.underWay += 1
    const ending = new AbortController()
    const attempted = this.#attempt(endpoint, claimed, ending.signal)
      // The claim lapses, and it is attempted again.
      .catch(() => undefined)
      .finally(() => {
        load.underWay -= 1
        if (load.underWay === 0 && !load.isSuspect) this.#loads.delete(endpoint.id)
        this.#attempts.delete(attempted)
        this.wake()
      })
    this.#attempts.set(attempted, ending)
  }

  async #attempt(
    endpoint: WebhookEndpoint,
    claimed: ClaimedDelivery,
    signal: AbortSignal,
  ): Promise<void> {
    const startedAt = performance.now()
    const outcome = await attempt({ endpoint, claimed }, this.#options, signal)
    const isSlow = performance.now() - startedAt > SLOW_MS
    this.#loadOf(endpoint.id).isSuspect = outcome.kind !== 'delivered' || isSlow
    await this.#options.deliveries.conclude(claimed, outcome)
    if (outcome.kind !== 'failed') return
    const { id: delivery, project, type, payment, attempts } = claimed
    // Logs neither the URL nor the receiver's words: either may be a secret.
    this.#options.logger.warn('A webhook could not be delivered, and is not tried again.', {
      ...{
        project: project || undefined,
        endpoint: endpoint.id,
        delivery,
        type,
        payment,
        attempts: attempts + 1,
      },
    })
  }

  #loadOf(endpoint: string): Load {
    const load = this.#loads.get(endpoint) ?? { underWay: 0, isSuspect: false }
    this.#loads.set(endpoint, load)
    return load
  }
}

/** In another order each time, so that none is always last. */
function shuffled<T>(all: readonly T[], random: () => number): readonly T[] {
  return all
    .map((one) => ({ one, at: random() }))
    .toSorted((a, b) => a.at - b.at)
    .map(({ one }) => one)
}
