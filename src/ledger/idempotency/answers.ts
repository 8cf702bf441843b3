import type { Updateable } from 'kysely'
import { LedgerError } from '../../shared/errors.js'
import {
  ANSWERS_KEPT_MS,
  type IdempotencyAttempt,
  type IdempotencyClaim,
  type IdempotencyState,
  type IdempotencyStore,
  type KeptAnswer,
  type RepeatableRequest,
} from '../once/store.js'
import type { AnswerBudget } from './answer-budget.js'
import type { LedgerDatabase, Row } from '../schema/tables.js'
import { every } from '../engine/every.js'
import { timeOnce, type SqlDatabase, type SqlStore } from '../engine/store.js'
import { world } from '../../shared/world.js'

/** Time between two purges. */
const PURGE_EVERY_MS = 600_000

/** Renewals in the time that a claim lasts. */
const RENEWALS_PER_LEASE = 3

/** Claims that one statement renews, and answers that it deletes. */
const AT_ONCE = 500

export interface AnswersOptions {
  /**
   * How long a claim lasts without renewal (ms); others may then take it. It must be longer than the
   * ledger's locks last: once a claim lapses, a payment that is still locked was delivered.
   */
  readonly leaseMs: number
  readonly newName: () => string
  /** How much room answers may take. @defaultValue as much as they need */
  readonly budget?: AnswerBudget | undefined
}

type Store = Pick<SqlStore, 'run'>

/** Keeps answers beside an SQL ledger, for all processes that share it. */
export class Answers implements IdempotencyStore {
  readonly #store: Store
  readonly #options: AnswersOptions
  readonly #claims = new Set<string>()
  readonly #endRenewals: () => void
  /** When expired answers were last deleted, by `world.elapsed()`. */
  #purgedAt = -Infinity

  constructor(store: Store, options: AnswersOptions) {
    this.#store = store
    this.#options = options
    this.#endRenewals = every(options.leaseMs / RENEWALS_PER_LEASE, () => this.#renew())
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
    if (taken === undefined) {
      const found = await this.look(request)
      // Another process has just let the key go: the next request may claim it.
      return found.state === 'free' || found.state === 'paused' ? { state: 'busy' } : found
    }
    this.#claims.add(name)
    const claim = new SqlClaim(this.#store, {
      request,
      name,
      kept: keptIn(taken),
      onEnd: () => this.#claims.delete(name),
      budget: this.#options.budget,
    })
    return { state: 'fresh', claim }
  }

  noteSent(key: string): void {
    this.#options.budget?.noteSent(key)
  }

  close(): void {
    this.#endRenewals()
  }

  /** Claims a key that is new, or that is unclaimed and has no final answer. It may run twice. */
  async #take(
    { db, sql, now, plus }: SqlDatabase,
    { key, fingerprint }: RepeatableRequest,
    claim: string,
  ): Promise<Pick<Row<'x402_idempotency'>, 'answer' | 'delivery'> | undefined> {
    const until = plus(this.#options.leaseMs)
    const { rows } = await sql<Pick<Row<'x402_idempotency'>, 'answer' | 'delivery'>>`
      INSERT INTO x402_idempotency AS k (key, fingerprint, done, claim, claimed_until, updated_at)
      VALUES (${key}, ${fingerprint}, 0, ${claim}, ${until}, ${now})
      ON CONFLICT (key) DO UPDATE SET claim = ${claim}, claimed_until = ${until}, updated_at = ${now}
      WHERE k.fingerprint = ${fingerprint} AND k.done = 0
        AND (k.claimed_until < ${now} OR k.claim = ${claim})
      RETURNING answer, delivery`.execute(db)
    return rows[0]
  }

  async #renew(): Promise<void> {
    const claims = [...this.#claims]
    while (claims.length > 0) {
      const some = claims.splice(0, AT_ONCE)
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

  async #purge(): Promise<void> {
    if (world.elapsed() - this.#purgedAt < PURGE_EVERY_MS) return
    this.#purgedAt = world.elapsed()
    for (let count = AT_ONCE; count === AT_ONCE; await world.nextTurn()) {
      const purged = await this.#store.run(({ db, now, plus }) => {
        const expired = db.selectFrom('x402_idempotency').select('key').orderBy('updated_at')
        const kept = timeOnce(db, plus(-ANSWERS_KEPT_MS))
        return db
          .deleteFrom('x402_idempotency')
          .where('key', 'in', expired.where('updated_at', '<', kept).limit(AT_ONCE))
          .where('claimed_until', '<', now)
          .returning('key')
          .execute()
      })
      for (const { key } of purged) this.#options.budget?.remove(key)
      count = purged.length
    }
  }
}

/** The answer that was kept under a key, with the name of its delivery. */
function keptIn({
  answer,
  delivery,
}: Pick<Row<'x402_idempotency'>, 'answer' | 'delivery'>): KeptAnswer | undefined {
  return answer === null ? undefined : { answer, delivery: delivery ?? undefined }
}

interface ClaimOptions {
  readonly request: RepeatableRequest
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
  #end(to: Updateable<LedgerDatabase['x402_idempotency']>): Promise<void> {
    this.#options.onEnd()
    return this.#change({ ...to, claimed_until: 0 })
  }

  async #change(to: Updateable<LedgerDatabase['x402_idempotency']>): Promise<void> {
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
    // One that stays as it is still counts as what it was.
    if (to.answer !== undefined) await this.#makeRoom(to.answer ?? '')
  }

  /** Deletes the answers that give way to a new one. Of claimed keys, the claims stay. */
  async #makeRoom(answer: string): Promise<void> {
    const { request, budget } = this.#options
    const keys = budget?.add(request, answer) ?? []
    if (keys.length > 0)
      await this.#store.run(async ({ db, now }) => {
        await db
          .deleteFrom('x402_idempotency')
          .where('key', 'in', keys)
          .where('claimed_until', '<', now)
          .execute()
        await db
          .updateTable('x402_idempotency')
          .set({ answer: null, delivery: null })
          .where('key', 'in', keys)
          .execute()
      })
  }
}
