import { randomUUID } from 'node:crypto'
import type {
  IdempotencyAttempt,
  IdempotencyClaim,
  IdempotencyStore,
  RepeatableRequest,
} from '../../idempotency/store.js'
import { LedgerError } from '../../errors.js'
import type { IdempotencyRow } from './schema.js'
import type { SqlDatabase, SqlStore } from './sql-store.js'
import type { Updateable } from 'kysely'

/** Milliseconds for which an answer is kept. */
const DEFAULT_RETENTION_MS = 24 * 3_600_000

/** Milliseconds between two purges. */
const PURGE_EVERY_MS = 600_000

/** Claims are renewed this many times before they would lapse, so many in one statement. */
const RENEWALS_PER_LEASE = 3
const RENEWED_AT_ONCE = 500

/** Options of {@link sqlIdempotency}. */
export interface SqlIdempotencyOptions {
  /**
   * Milliseconds after which the claim of a dead process is free for others. Longer than the ledger
   * holds a payment: who takes over a claim can then tell a granted payment from a held one.
   */
  readonly leaseMs: number
  /** @defaultValue 24 hours */
  readonly retentionMs?: number
  /** @defaultValue 10 minutes */
  readonly purgeEveryMs?: number
}

/** A store in a database, with its timer. */
export interface SqlIdempotency extends IdempotencyStore {
  close(): void
}

/** Keeps answers beside an SQL ledger, for all processes that share it. */
export function sqlIdempotency(
  { run }: Pick<SqlStore, 'run'>,
  options: SqlIdempotencyOptions,
): SqlIdempotency {
  const { leaseMs, retentionMs = DEFAULT_RETENTION_MS, purgeEveryMs = PURGE_EVERY_MS } = options
  /** Claims of this process. */
  const claims = new Set<string>()
  let purgedAt = -Infinity

  const renew = async (): Promise<void> => {
    const renewed = [...claims]
    while (renewed.length > 0) {
      const some = renewed.splice(0, RENEWED_AT_ONCE)
      await run(({ db, plus }) =>
        db
          .updateTable('x402_idempotency')
          .set({ claimed_until: plus(leaseMs) })
          .where('claim', 'in', some)
          .where('done', '=', 0)
          .execute(),
      )
    }
  }
  const renewal = setInterval(
    () => void renew().catch(() => undefined),
    leaseMs / RENEWALS_PER_LEASE,
  )
  renewal.unref()

  const purge = async (): Promise<void> => {
    if (performance.now() - purgedAt < purgeEveryMs) return
    purgedAt = performance.now()
    await run(({ db, now, plus }) =>
      db
        .deleteFrom('x402_idempotency')
        .where('updated_at', '<', plus(-retentionMs))
        .where('claimed_until', '<', now)
        .execute(),
    )
  }

  /** Takes a key that is new, or that nobody works on and that has no answer. */
  const take = async (
    { db, now, plus }: SqlDatabase,
    { key, fingerprint }: RepeatableRequest,
    claim: string,
  ): Promise<{ readonly answer: string | null } | undefined> => {
    const held = { claim, claimed_until: plus(leaseMs), updated_at: now }
    return db
      .insertInto('x402_idempotency')
      .values({ key, fingerprint, answer: null, done: 0, ...held })
      .onConflict((conflict) =>
        conflict
          .column('key')
          .doUpdateSet(held)
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
      .returning('answer')
      .executeTakeFirst()
  }

  const look = async ({ db }: SqlDatabase, { key, fingerprint }: RepeatableRequest) => {
    const row = await db
      .selectFrom('x402_idempotency')
      .select(['fingerprint', 'answer', 'done'])
      .where('key', '=', key)
      .executeTakeFirst()
    if (row !== undefined && row.fingerprint !== fingerprint) return { state: 'conflict' } as const
    if (row?.done === 1) return { state: 'done', answer: row.answer ?? '' } as const
    return { state: 'busy' } as const
  }

  return {
    look: ({ key, fingerprint }) =>
      run(async ({ db, now }) => {
        const row = await db
          .selectFrom('x402_idempotency')
          .select(['fingerprint', 'answer', 'done', 'claimed_until'])
          .select(now.as('now'))
          .where('key', '=', key)
          .executeTakeFirst()
        if (row === undefined) return { state: 'free' }
        if (row.fingerprint !== fingerprint) return { state: 'conflict' }
        if (row.done === 1) return { state: 'done', answer: row.answer ?? '' }
        if (Number(row.claimed_until) >= row.now) return { state: 'busy' }
        return { state: 'paused', kept: row.answer ?? undefined }
      }),
    begin: async (request): Promise<IdempotencyAttempt> => {
      void purge().catch(() => undefined)
      const name = randomUUID()
      const taken = await run((database) => take(database, request, name))
      if (taken === undefined) return run((database) => look(database, request))
      claims.add(name)
      return { state: 'fresh', claim: openClaim(request.key, name, taken.answer ?? undefined) }
    },
    close: () => clearInterval(renewal),
  }

  function openClaim(key: string, name: string, kept: string | undefined): IdempotencyClaim {
    let isKeptByUs = false

    const change = async (to: Updateable<IdempotencyRow>): Promise<void> => {
      const changed = await run(({ db, now }) =>
        db
          .updateTable('x402_idempotency')
          .set({ ...to, updated_at: now })
          .where('key', '=', key)
          .where('claim', '=', name)
          .executeTakeFirst(),
      )
      if (changed.numUpdatedRows > 0n) return
      throw new LedgerError('ledger_unavailable', 'The claim of an idempotency key has lapsed.')
    }
    /** Ends the claim; what the database does not hear of lapses with it. */
    const end = (to: Updateable<IdempotencyRow>): Promise<void> => {
      claims.delete(name)
      return change({ ...to, claimed_until: 0 })
    }

    return {
      kept,
      keep: async (answer) => {
        await change({ answer: answer ?? null })
        isKeptByUs = true
      },
      finish: (answer) => end({ answer, done: 1 }),
      pause: () => end({}),
      abandon: async () => {
        if (kept !== undefined && !isKeptByUs) return end({})
        claims.delete(name)
        await run(({ db }) =>
          db
            .deleteFrom('x402_idempotency')
            .where('key', '=', key)
            .where('claim', '=', name)
            .execute(),
        )
      },
    }
  }
}
