import type { Updateable } from 'kysely'
import { LedgerError } from '../../errors.js'
import type {
  IdempotencyAttempt,
  IdempotencyClaim,
  IdempotencyState,
  IdempotencyStore,
  KeptAnswer,
  RepeatableRequest,
} from '../../idempotency/store.js'
import type { AnswerBudget } from './answer-budget.js'
import type { IdempotencyRow } from '../schema/schema.js'
import type { SqlDatabase, SqlStore } from '../engine/store.js'

/** How long an answer is kept. */
const DEFAULT_RETENTION_MS = 24 * 3_600_000

/** Time between two purges. */
const PURGE_EVERY_MS = 600_000

/** Renewals in the time that a claim lasts. */
const RENEWALS_PER_LEASE = 3

/** Claims that one statement renews. */
const RENEWED_AT_ONCE = 500

/** Options of {@link Answers}. */
export interface AnswersOptions {
  /**
   * Milliseconds after which a claim that was not renewed is free for others. It must be longer than the
   * ledger's locks last: once a claim lapses, a payment that is still locked was delivered.
   */
  readonly leaseMs: number
  /** Returns a unique name for a claim. */
  readonly newName: () => string
  /** @defaultValue 24 hours */
  readonly retentionMs?: number
  /** @defaultValue 10 minutes */
  readonly purgeEveryMs?: number
  /** How much room answers may take. @defaultValue as much as they need */
  readonly budget?: AnswerBudget | undefined
}

type Store = Pick<SqlStore, 'run'>

/** Keeps answers beside an SQL ledger, for all processes that share it. */
export class Answers implements IdempotencyStore {
  readonly #store: Store
  readonly #options: Required<Omit<AnswersOptions, 'budget'>>
  readonly #budget: AnswerBudget | undefined
  /** Names of the claims of this process. */
  readonly #claims = new Set<string>()
  readonly #renewal: NodeJS.Timeout
  /** When expired answers were last deleted, by `performance.now()`. */
  #purgedAt = -Infinity

  constructor(store: Store, options: AnswersOptions) {
    const { retentionMs = DEFAULT_RETENTION_MS, purgeEveryMs = PURGE_EVERY_MS } = options
    this.#store = store
    this.#options = { ...options, retentionMs, purgeEveryMs }
    this.#budget = options.budget
    this.#renewal = setInterval(
      () => void this.#renew().catch(() => undefined),
      options.leaseMs / RENEWALS_PER_LEASE,
    )
    this.#renewal.unref()
  }

  look({ key, fingerprint }: RepeatableRequest): Promise<IdempotencyState> {
    return this.#store.run(async ({ db, now }) => {
      const row = await db
        .selectFrom('x402_idempotency')
        .select(['fingerprint', 'answer', 'delivery', 'done', 'claimed_until'])
        .select(now.as('now'))
        .where('key', '=', key)
        .executeTakeFirst()
      if (row === undefined) return { state: 'free' }
      if (row.fingerprint !== fingerprint) return { state: 'conflict' }
      if (row.done === 1) return { state: 'done', answer: row.answer ?? '' }
      if (Number(row.claimed_until) >= row.now) return { state: 'busy' }
      return { state: 'paused', kept: keptIn(row) }
    })
  }

  async begin(request: RepeatableRequest): Promise<IdempotencyAttempt> {
    void this.#purge().catch(() => undefined)
    const name = this.#options.newName()
    const taken = await this.#store.run((database) => this.#take(database, request, name))
    if (taken === undefined) return this.#store.run((database) => lookAgain(database, request))
    this.#claims.add(name)
    const claim = new SqlClaim(this.#store, {
      request,
      name,
      kept: keptIn(taken),
      onEnd: () => this.#claims.delete(name),
      budget: this.#budget,
    })
    return { state: 'fresh', claim }
  }

  noteSent(key: string): void {
    this.#budget?.noteSent(key)
  }

  /** Ends the renewals. */
  close(): void {
    clearInterval(this.#renewal)
  }

  /** Claims a key that is new, or that is unclaimed and has no final answer. */
  async #take(
    { db, now, plus }: SqlDatabase,
    { key, fingerprint }: RepeatableRequest,
    claim: string,
  ): Promise<Pick<IdempotencyRow, 'answer' | 'delivery'> | undefined> {
    const claimed = { claim, claimed_until: plus(this.#options.leaseMs), updated_at: now }
    return db
      .insertInto('x402_idempotency')
      .values({ key, fingerprint, answer: null, delivery: null, done: 0, ...claimed })
      .onConflict((conflict) =>
        conflict
          .column('key')
          .doUpdateSet(claimed)
          .where('x402_idempotency.fingerprint', '=', fingerprint)
          .where('x402_idempotency.done', '=', 0)
          .where((where) =>
            where.or([
              where('x402_idempotency.claimed_until', '<', now),
              // The statement ran already, and its answer was lost.
              where('x402_idempotency.claim', '=', claim),
            ]),
          ),
      )
      .returning(['answer', 'delivery'])
      .executeTakeFirst()
  }

  async #renew(): Promise<void> {
    const claims = [...this.#claims]
    while (claims.length > 0) {
      const some = claims.splice(0, RENEWED_AT_ONCE)
      await this.#store.run(({ db, plus }) =>
        db
          .updateTable('x402_idempotency')
          .set({ claimed_until: plus(this.#options.leaseMs) })
          .where('claim', 'in', some)
          .where('done', '=', 0)
          .execute(),
      )
    }
  }

  /** Deletes expired answers, once in a while. */
  async #purge(): Promise<void> {
    const { retentionMs, purgeEveryMs } = this.#options
    if (performance.now() - this.#purgedAt < purgeEveryMs) return
    this.#purgedAt = performance.now()
    await this.#store.run(async ({ db, now, plus }) => {
      const expired = db
        .deleteFrom('x402_idempotency')
        .where('updated_at', '<', plus(-retentionMs))
        .where('claimed_until', '<', now)
      if (this.#budget === undefined) return expired.execute()
      for (const { key } of await expired.returning('key').execute()) this.#budget.remove(key)
    })
  }
}

/** Tells why a key could not be claimed. */
async function lookAgain(
  { db }: SqlDatabase,
  { key, fingerprint }: RepeatableRequest,
): Promise<Exclude<IdempotencyAttempt, { state: 'fresh' }>> {
  const row = await db
    .selectFrom('x402_idempotency')
    .select(['fingerprint', 'answer', 'done'])
    .where('key', '=', key)
    .executeTakeFirst()
  if (row !== undefined && row.fingerprint !== fingerprint) return { state: 'conflict' }
  if (row?.done === 1) return { state: 'done', answer: row.answer ?? '' }
  return { state: 'busy' }
}

/** The answer that was kept under a key, with what it was made for. */
function keptIn({
  answer,
  delivery,
}: Pick<IdempotencyRow, 'answer' | 'delivery'>): KeptAnswer | undefined {
  return answer === null ? undefined : { answer, delivery: delivery ?? undefined }
}

/** What a {@link SqlClaim} is made of. */
interface ClaimOptions {
  readonly request: RepeatableRequest
  /** Name of the claim. */
  readonly name: string
  readonly kept: KeptAnswer | undefined
  /** Called when the claim is no longer to be renewed. */
  readonly onEnd: () => void
  readonly budget: AnswerBudget | undefined
}

/** A key that one request of this process has claimed. */
class SqlClaim implements IdempotencyClaim {
  readonly kept: KeptAnswer | undefined
  readonly #store: Store
  readonly #options: ClaimOptions
  #isKeptByUs = false

  constructor(store: Store, options: ClaimOptions) {
    this.kept = options.kept
    this.#store = store
    this.#options = options
  }

  async keep(kept: KeptAnswer | undefined): Promise<void> {
    await this.#change({ answer: kept?.answer ?? null, delivery: kept?.delivery ?? null })
    this.#isKeptByUs = true
  }

  finish(answer: string): Promise<void> {
    return this.#end({ answer, done: 1 })
  }

  pause(): Promise<void> {
    return this.#end({})
  }

  async abandon(): Promise<void> {
    if (this.kept !== undefined && !this.#isKeptByUs) return this.#end({})
    const { request, name, onEnd, budget } = this.#options
    onEnd()
    await this.#store.run(({ db }) =>
      db
        .deleteFrom('x402_idempotency')
        .where('key', '=', request.key)
        .where('claim', '=', name)
        .execute(),
    )
    budget?.remove(request.key)
  }

  /** Ends the claim. If the database does not hear of it, the claim lapses. */
  #end(to: Updateable<IdempotencyRow>): Promise<void> {
    this.#options.onEnd()
    return this.#change({ ...to, claimed_until: 0 })
  }

  async #change(to: Updateable<IdempotencyRow>): Promise<void> {
    const { request, name } = this.#options
    const changed = await this.#store.run(({ db, now }) =>
      db
        .updateTable('x402_idempotency')
        .set({ ...to, updated_at: now })
        .where('key', '=', request.key)
        .where('claim', '=', name)
        .executeTakeFirst(),
    )
    if (changed.numUpdatedRows === 0n)
      throw new LedgerError('ledger_unavailable', 'The claim of an idempotency key has lapsed.')
    await this.#makeRoom(to.answer ?? '')
  }

  /** Deletes what gives way to an answer, except for what is claimed now. */
  async #makeRoom(answer: string): Promise<void> {
    const { request, budget } = this.#options
    const keys = budget?.add(request, answer) ?? []
    if (keys.length > 0)
      await this.#store.run(({ db, now }) =>
        db
          .deleteFrom('x402_idempotency')
          .where('key', 'in', keys)
          .where('claimed_until', '<', now)
          .execute(),
      )
  }
}
