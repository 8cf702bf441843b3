import type { WebhookStore } from '../ledger/index.js'
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import type { ClaimedDelivery, WebhookEndpoint } from '../ledger/webhooks.js'
import type { Logger } from '../logger.js'
import { LRUCache } from 'lru-cache'
import { attempt, type AttemptOptions } from './attempt.js'
import { MOST_AT_ONCE, sharePlaces, type Load, type UnderWay } from './share-places.js'

/**
 * Milliseconds between two queries for deliveries that other processes have written, or that are due again.
 */
const POLL_MS = 1000

/** Milliseconds after a payment until the next query: it also covers payments that end in between. */
const SOON_MS = 50

/** Endpoints that a process remembers. */
const MOST_LOADS = 10_000

/** An attempt that takes longer makes its endpoint slow (ms): at rest, and while half of all places are taken. */
const SLOW_MS = 2000
const SLOW_WHEN_BUSY_MS = 500

/** Milliseconds between two removals of old deliveries. */
const PRUNE_MS = 600_000

/** Milliseconds that attempts under way are given when the gateway closes. */
const CLOSING_MS = 1000

/** Options of {@link WebhookDispatcher}. */
export interface WebhookDispatcherOptions extends AttemptOptions {
  readonly deliveries: WebhookStore['deliveries']
  readonly logger: Logger
}

/**
 * Delivers what the ledger has for webhooks, beside all other processes that share it.
 *
 * Every endpoint may have a few attempts under way, and one that fails or is slow only one, so that it never
 * holds up others. Places go to projects in turn, and no project has more than a quarter of them.
 */
export class WebhookDispatcher {
  readonly #options: WebhookDispatcherOptions
  readonly #loads = new LRUCache<string, Load>({ max: MOST_LOADS })
  /** Attempts under way, and what ends each. */
  readonly #attempts = new Map<Promise<void>, AbortController>()
  /** Attempts under way of each project that has any. */
  readonly #ofProjects = new Map<string, number>()
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
    let due = shuffled(await deliveries.listDue(), random)
    // Places that some leave in the first pass go to those that had too few.
    for (let pass = 0; pass < 2; pass++) {
      const finished = new Set<WebhookEndpoint>()
      for (const [endpoint, share] of sharePlaces(due, this.#underWay())) {
        // SQLite answers in the same turn: requests would wait for the whole round.
        await nextTurn()
        if (this.#isClosed) return
        const claimed = await deliveries.claim(endpoint.id, share)
        for (const one of claimed) this.#start(endpoint, one)
        if (claimed.length < share) finished.add(endpoint)
      }
      due = due.filter((endpoint) => !finished.has(endpoint))
    }
  }

  #underWay(): UnderWay {
    return {
      attempts: this.#attempts.size,
      ofProject: (project) => this.#ofProjects.get(project) ?? 0,
      ofEndpoint: (id) => this.#loads.get(id),
    }
  }

  #start(endpoint: WebhookEndpoint, claimed: ClaimedDelivery): void {
    const load = this.#loadOf(endpoint.id)
    const { project } = endpoint
    load.underWay += 1
    this.#ofProjects.set(project, (this.#ofProjects.get(project) ?? 0) + 1)
    const ending = new AbortController()
    const attempted = this.#attempt(endpoint, claimed, ending.signal)
      // The claim lapses, and it is attempted again.
      .catch(() => undefined)
      .finally(() => {
        load.underWay -= 1
        if (load.underWay === 0 && !load.isSuspect) this.#loads.delete(endpoint.id)
        const left = (this.#ofProjects.get(project) ?? 1) - 1
        if (left > 0) this.#ofProjects.set(project, left)
        else this.#ofProjects.delete(project)
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
    const isBusy = this.#attempts.size >= MOST_AT_ONCE / 2
    const isSlow = performance.now() - startedAt > (isBusy ? SLOW_WHEN_BUSY_MS : SLOW_MS)
    this.#loadOf(endpoint.id).isSuspect = outcome.kind !== 'delivered' || isSlow
    await this.#options.deliveries.conclude(claimed, outcome)
    if (outcome.kind !== 'failed') return
    const { id: delivery, project, type, payment, attempts } = claimed
    // Logs neither the URL nor the receiver's words: either may be a secret.
    this.#options.logger.warn('A webhook could not be delivered, and is not tried again.', {
      project: project || undefined,
      endpoint: endpoint.id,
      delivery,
      type,
      payment,
      attempts: attempts + 1,
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
