import type { WebhookStore } from '../../ledger/index.js'
import type { AttemptOutcome, ClaimedDelivery, WebhookEndpoint } from '../../ledger/webhooks.js'
import type { Logger } from '../../shared/logger.js'
import { LRUCache } from 'lru-cache'
import { growingTo } from '../../shared/growing-to.js'
import { attempt, GONE, type AttemptOptions } from './attempt.js'
import { LIFETIME_MS, nextAttemptInMs } from './backoff.js'
import { MOST_AT_ONCE, sharePlaces, type Load, type UnderWay } from './share-places.js'
import { world } from '../../shared/world.js'

/** How often to look for retries and for deliveries of other processes (ms). */
const POLL_MS = 1000

/** How soon to look after a payment (ms): one look covers all payments in this time. */
const SOON_MS = 50

/** How many endpoints a process remembers. */
const MOST_LOADS = 10_000

/** Longer attempts make an endpoint slow (ms): normally, and while half of all slots are taken. */
const SLOW_MS = 2000
const SLOW_WHEN_BUSY_MS = 500

/** How often old deliveries are removed (ms). */
const PRUNE_MS = 600_000

/** How long an endpoint that keeps failing rests at most (ms): once it is back, new deliveries wait no longer. */
const LONGEST_REST_MS = 15 * 60_000

/** How long open attempts may take when the gateway closes (ms). */
const CLOSING_MS = 1000

export interface WebhookDispatcherOptions extends AttemptOptions {
  readonly deliveries: WebhookStore['deliveries']
  readonly logger: Logger
  /** Called with the result of each attempt. */
  readonly onAttempt?: (kind: AttemptOutcome['kind']) => void
}

/**
 * Sends the webhook deliveries of the ledger, together with all other processes that share it.
 *
 * Every endpoint may have a few attempts at once, and only one if it fails or is slow, so that it never
 * holds up others. Projects get slots in turn, and at most a quarter of all.
 */
export class WebhookDispatcher {
  readonly #options: WebhookDispatcherOptions
  readonly #loads = new LRUCache<string, Load>(growingTo(MOST_LOADS))
  /** Running attempts: the controller that aborts each, and the load of its endpoint. */
  readonly #attempts = new Map<Promise<void>, { ending: AbortController; load: Load }>()
  /** Number of running attempts per project. */
  readonly #ofProjects = new Map<string, number>()
  readonly #timer: NodeJS.Timeout
  #soon: NodeJS.Timeout | undefined
  #round: Promise<void> | undefined
  /** Endpoints with a delivery that was due at the last look. */
  #due: readonly WebhookEndpoint[] = []
  /** Whether another round was requested during this one, and whether it has to look again. */
  #isAsked = false
  #mustLook = false
  #isClosed = false
  #prunedAt = world.elapsed()

  constructor(options: WebhookDispatcherOptions) {
    this.#options = options
    this.#timer = world.setInterval(() => this.wake(), POLL_MS)
    this.#timer.unref()
  }

  /** Looks for due deliveries in a moment. Called for payments, most of which have no endpoint. */
  wakeSoon(): void {
    this.#mustLook = true
    this.#shareSoon()
  }

  /** @param endpoint - One that is attempted whatever it did before: somebody asks for that. */
  wake(endpoint?: string): void {
    if (endpoint !== undefined) this.#loadOf(endpoint).restsUntil = 0
    this.#mustLook = true
    this.#share()
  }

  #shareSoon(): void {
    if (this.#isClosed || this.#soon !== undefined) return
    this.#soon = world.setTimeout(() => {
      this.#soon = undefined
      this.#share()
    }, SOON_MS)
    this.#soon.unref()
  }

  #share(): void {
    if (this.#isClosed) return
    this.#isAsked = true
    this.#round ??= this.#runRounds().finally(() => (this.#round = undefined))
  }

  /** Ends attempts and leaves the rest to other processes. Never rejects. */
  async close(): Promise<void> {
    this.#isClosed = true
    world.clearInterval(this.#timer)
    world.clearTimeout(this.#soon)
    await this.#round
    const ended = new AbortController()
    await Promise.race([
      Promise.all(this.#attempts.keys()),
      world.sleep(CLOSING_MS, undefined, ended).catch(() => undefined),
    ])
    ended.abort()
    for (const { ending } of this.#attempts.values()) ending.abort()
    await Promise.all(this.#attempts.keys())
  }

  /** Never rejects: requests report a ledger that does not answer. */
  async #runRounds(): Promise<void> {
    while (this.#isAsked && !this.#isClosed) {
      this.#isAsked = false
      await this.#claimDue().catch(() => undefined)
    }
  }

  async #claimDue(): Promise<void> {
    const { deliveries, random = world.random } = this.#options
    if (world.elapsed() - this.#prunedAt > PRUNE_MS) {
      this.#prunedAt = world.elapsed()
      await deliveries.prune()
    }
    const rests = (id: string): boolean =>
      (this.#loads.get(id)?.restsUntil ?? 0) > this.#options.now()
    if (this.#mustLook) {
      this.#mustLook = false
      const failuresOf = ({ id }: WebhookEndpoint): number => this.#loads.get(id)?.failures ?? 0
      // Those that have failed most come last.
      this.#due = shuffled(await deliveries.listDue(rests), random).toSorted(
        (one, other) => failuresOf(one) - failuresOf(other),
      )
    }
    // A second pass gives away the slots that are left.
    for (let pass = 0; pass < 2; pass++) {
      const finished = new Set<WebhookEndpoint>()
      const due = this.#due.filter(({ id }) => !rests(id))
      for (const [endpoint, share] of sharePlaces(due, this.#underWay())) {
        // SQLite is synchronous: without this, requests would wait for the whole round.
        await world.nextTurn()
        if (this.#isClosed) return
        const claimed = await deliveries.claim(endpoint.id, share)
        for (const one of claimed) this.#start(endpoint, one)
        if (claimed.length < share) finished.add(endpoint)
      }
      this.#due = due.filter((endpoint) => !finished.has(endpoint))
    }
  }

  #underWay(): UnderWay {
    return {
      attempts: this.#attempts.size,
      suspects: [...this.#attempts.values()].filter(({ load }) => load.isSuspect).length,
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
      // The claim lapses, then it is tried again.
      .catch(() => undefined)
      .finally(() => {
        load.underWay -= 1
        if (load.underWay === 0 && !load.isSuspect) this.#loads.delete(endpoint.id)
        const left = (this.#ofProjects.get(project) ?? 1) - 1
        if (left > 0) this.#ofProjects.set(project, left)
        else this.#ofProjects.delete(project)
        this.#attempts.delete(attempted)
        this.#shareSoon()
      })
    this.#attempts.set(attempted, { ending, load })
  }

  async #attempt(
    endpoint: WebhookEndpoint,
    claimed: ClaimedDelivery,
    signal: AbortSignal,
  ): Promise<void> {
    const load = this.#loadOf(endpoint.id)
    const { failures } = load
    let isSlow = false
    const slowMs = this.#attempts.size >= MOST_AT_ONCE / 2 ? SLOW_WHEN_BUSY_MS : SLOW_MS
    const slow = world.setTimeout(() => {
      isSlow = load.isSuspect = true
      this.#shareSoon()
    }, slowMs)
    const outcome = await attempt({ endpoint, claimed }, this.#options, signal)
    world.clearTimeout(slow)
    load.isSuspect = outcome.kind !== 'delivered' || isSlow
    if (outcome.kind === 'delivered') load.failures = 0
    else if (outcome.kind !== 'returned' && load.failures === failures)
      this.#rest(load, outcome.restMs)
    this.#options.onAttempt?.(outcome.kind)
    const { deliveries } = this.#options
    await deliveries.conclude(claimed, outcome)
    if (outcome.kind !== 'failed') return
    await deliveries.giveUp(endpoint.id, outcome.status === GONE ? 0 : LIFETIME_MS, outcome.error)
    const { id: delivery, project, type, payment, attempts } = claimed
    // Logs neither the URL nor the response: either may contain a secret.
    this.#options.logger.warn('A webhook could not be delivered and will not be retried.', {
      project: project || undefined,
      endpoint: endpoint.id,
      delivery,
      type,
      payment,
      attempts: attempts + 1,
    })
  }

  /** Leaves an endpoint alone that has failed again, or asks for it: it may be dead, with any number of deliveries. */
  #rest(load: Load, restMs = 0): void {
    const { now, random = world.random } = this.#options
    load.failures += 1
    const backoff = {
      attempts: load.failures - 1,
      ageMs: 0,
      restMs,
      longestMs: LONGEST_REST_MS,
    }
    const waitMs = load.failures > 1 ? (nextAttemptInMs(backoff, random) ?? 0) : restMs
    load.restsUntil = now() + waitMs
  }

  #loadOf(endpoint: string): Load {
    const load = this.#loads.get(endpoint) ?? {
      underWay: 0,
      isSuspect: false,
      failures: 0,
      restsUntil: 0,
    }
    this.#loads.set(endpoint, load)
    return load
  }
}

/** Shuffles, so that none is always last. */
function shuffled<T>(all: readonly T[], random: () => number): readonly T[] {
  return all
    .map((one) => ({ one, at: random() }))
    .toSorted((a, b) => a.at - b.at)
    .map(({ one }) => one)
}
