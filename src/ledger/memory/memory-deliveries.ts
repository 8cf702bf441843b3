import { LRUCache } from 'lru-cache'
import { newDeliveryId } from '../delivery-id.js'
import type { LedgerRecord } from '../record.js'
import {
  CLAIM_MS,
  KEPT_MS,
  type AttemptOutcome,
  type ClaimedDelivery,
  type DeliveryQuery,
  type WebhookDeliveries,
  type WebhookDelivery,
  type WebhookEndpoint,
} from '../webhook-store.js'

/** Deliveries in memory at most: finished ones give way first, the oldest of them. */
const MAX_DELIVERIES = 20_000

/** Payments whose last version is remembered. */
const MAX_VERSIONS = 100_000

/** A delivery, and what claims give out with it. */
interface Kept {
  delivery: WebhookDelivery
  retryFrom: number
  claim: string | undefined
  readonly record: LedgerRecord | undefined
  readonly data: object | undefined
}

/** What a new delivery has. */
type NewDelivery = Pick<WebhookDelivery, 'id' | 'endpoint' | 'project' | 'type'> &
  Pick<WebhookDelivery, 'payment' | 'version'> & {
    readonly record?: LedgerRecord
    readonly data?: object
  }

/** Deliveries of webhooks in memory. */
export class MemoryDeliveries implements WebhookDeliveries {
  readonly #now: () => number
  readonly #endpoints: { all(): readonly WebhookEndpoint[] }
  /** By id, oldest first. */
  readonly #kept = new Map<string, Kept>()
  /** The pending ones of each endpoint, oldest first. */
  readonly #pending = new Map<string, Set<Kept>>()
  // Unlike `max`, this sets no room aside for all of them, where nobody may want webhooks.
  readonly #versions = new LRUCache<string, number>({
    maxSize: MAX_VERSIONS,
    sizeCalculation: () => 1,
  })
  #claims = 0

  constructor(now: () => number, endpoints: { all(): readonly WebhookEndpoint[] }) {
    this.#now = now
    this.#endpoints = endpoints
  }

  /** The version of the last event of a payment. */
  lastVersion(payment: string): number {
    return this.#versions.get(payment) ?? 0
  }

  put(created: NewDelivery): WebhookDelivery {
    const { record, data, ...names } = created
    const now = this.#now()
    const delivery = {
      ...names,
      ...{ state: 'pending' as const, attempts: 0, nextAttemptAt: now, createdAt: now },
    }
    if (this.#kept.size >= MAX_DELIVERIES) this.#makeRoom()
    const kept = { delivery, retryFrom: now, claim: undefined, record, data }
    this.#kept.set(delivery.id, kept)
    this.#pendingOf(delivery.endpoint).add(kept)
    if (delivery.payment !== undefined) this.#versions.set(delivery.payment, delivery.version ?? 0)
    return delivery
  }

  async listDue(): Promise<readonly WebhookEndpoint[]> {
    return this.#endpoints.all().filter(({ id }) => {
      for (const kept of this.#pendingOf(id)) if (this.#isDue(kept)) return true
      return false
    })
  }

  async claim(endpoint: string, limit: number): Promise<readonly ClaimedDelivery[]> {
    const blocked = new Set<string>()
    const claimed: ClaimedDelivery[] = []
    for (const kept of this.#pendingOf(endpoint)) {
      if (claimed.length === limit) break
      const { payment } = kept.delivery
      const isBlocked = payment !== undefined && blocked.has(payment)
      if (payment !== undefined) blocked.add(payment)
      if (isBlocked || !this.#isDue(kept)) continue
      const claim = String(++this.#claims)
      kept.claim = claim
      kept.delivery = { ...kept.delivery, nextAttemptAt: this.#now() + CLAIM_MS }
      const { delivery, record, data, retryFrom } = kept
      claimed.push({ ...delivery, claim, ageMs: this.#now() - retryFrom, record, data })
    }
    return claimed
  }

  async conclude({ id, claim }: ClaimedDelivery, outcome: AttemptOutcome): Promise<void> {
    const kept = this.#kept.get(id)
    if (kept === undefined || kept.claim !== claim) return
    const now = this.#now()
    kept.claim = undefined
    const attempts = kept.delivery.attempts + (outcome.kind === 'returned' ? 0 : 1)
    const { lastStatus: _s, lastError: _e, lastResponse: _r, ...rest } = kept.delivery
    switch (outcome.kind) {
      case 'returned':
        kept.delivery = { ...kept.delivery, nextAttemptAt: now }
        return
      case 'delivered':
        kept.delivery = {
          ...rest,
          ...{ attempts, state: 'delivered', deliveredAt: now, lastStatus: outcome.status },
        }
        break
      case 'retry':
      case 'failed': {
        const { kind, error, status, response } = outcome
        kept.delivery = {
          ...{ ...rest, attempts, lastError: error },
          ...(status !== undefined && { lastStatus: status }),
          ...(response !== undefined && { lastResponse: response }),
          ...(kind === 'retry' ? { nextAttemptAt: now + outcome.afterMs } : { state: 'failed' }),
        }
      }
    }
    if (kept.delivery.state !== 'pending') this.#pendingOf(kept.delivery.endpoint).delete(kept)
  }

  async add({
    endpoint,
    type,
    data,
  }: Parameters<WebhookDeliveries['add']>[0]): Promise<WebhookDelivery> {
    const { id, project } = endpoint
    return this.put({ id: newDeliveryId(), endpoint: id, project, type, data })
  }

  async list({
    project,
    endpoint,
    state,
    after,
    limit,
  }: DeliveryQuery): Promise<readonly WebhookDelivery[]> {
    return [...this.#kept.values()]
      .map(({ delivery }) => delivery)
      .filter((one) => one.project === project && one.endpoint === endpoint)
      .filter((one) => state === undefined || one.state === state)
      .filter((one) => after === undefined || newestFirst(after, one) < 0)
      .toSorted(newestFirst)
      .slice(0, limit)
  }

  async resend(
    { project, id: endpoint }: Pick<WebhookEndpoint, 'project' | 'id'>,
    id: string,
  ): Promise<WebhookDelivery | undefined> {
    const kept = this.#kept.get(id)
    if (kept?.delivery.endpoint !== endpoint || kept.delivery.project !== project) return undefined
    if (kept.claim !== undefined) return kept.delivery
    const now = this.#now()
    kept.retryFrom = now
    kept.delivery = { ...kept.delivery, state: 'pending', attempts: 0, nextAttemptAt: now }
    this.#pendingOf(endpoint).add(kept)
    return kept.delivery
  }

  async prune(): Promise<void> {
    const from = this.#now() - KEPT_MS
    for (const { delivery } of this.#kept.values())
      if (delivery.createdAt < from && delivery.state !== 'pending') this.#kept.delete(delivery.id)
  }

  /** Drops the deliveries of an endpoint. */
  forgetEndpoint(endpoint: string): void {
    this.#pending.delete(endpoint)
    for (const { delivery } of this.#kept.values())
      if (delivery.endpoint === endpoint) this.#kept.delete(delivery.id)
  }

  clear(): void {
    this.#kept.clear()
    this.#pending.clear()
    this.#versions.clear()
  }

  #isDue({ delivery }: Kept): boolean {
    return delivery.nextAttemptAt <= this.#now()
  }

  #pendingOf(endpoint: string): Set<Kept> {
    const pending = this.#pending.get(endpoint) ?? new Set()
    this.#pending.set(endpoint, pending)
    return pending
  }

  /** Drops the oldest tenth, finished ones first, so that this is seldom done. */
  #makeRoom(): void {
    const all = [...this.#kept.values()]
    const finished = all.filter(({ delivery }) => delivery.state !== 'pending')
    const pending = all.filter(({ delivery }) => delivery.state === 'pending')
    for (const kept of [...finished, ...pending].slice(0, MAX_DELIVERIES / 10)) {
      this.#kept.delete(kept.delivery.id)
      this.#pendingOf(kept.delivery.endpoint).delete(kept)
    }
  }
}

function newestFirst(
  one: Pick<WebhookDelivery, 'createdAt' | 'id'>,
  other: Pick<WebhookDelivery, 'createdAt' | 'id'>,
): number {
  return other.createdAt - one.createdAt || (one.id < other.id ? 1 : one.id > other.id ? -1 : 0)
}
