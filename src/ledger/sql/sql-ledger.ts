import { randomBytes, randomUUID } from 'node:crypto'
import type { Updateable } from 'kysely'
import { LedgerError } from '../../errors.js'
import type { AuthorizationKey, LedgerStore, LedgerEntry, LedgerRecord } from '../ledger.js'
import { entryColumns, keyColumns, recordOf, type TimedRow } from './authorization-rows.js'
import { pruneRaw, type PruneRawOptions } from './prune-raw.js'
import { recordOutcomes } from './record-outcomes.js'
import { createLocks, type LocksOptions } from './locks.js'
import { recordLists } from './record-lists.js'
import { lockLost, recordSubmissions } from './record-submissions.js'
import { relayerLeases } from './relayer-leases.js'
import type { AuthorizationRow } from './schema.js'
import { sqlIdempotency } from './sql-idempotency.js'
import type { SqlDatabase, SqlStore } from './sql-store.js'

/** Claims of idempotency keys outlive the locks of their payments by this much. */
const LEASES_PER_HOLD = 1.5

/** Times a reservation is tried while others take and give back the same authorization. */
const RESERVE_ATTEMPTS = 10

/** Options of {@link sqlLedger}. */
export interface SqlLedgerOptions extends LocksOptions {
  /** When a settled payment's transaction is no longer kept. */
  readonly bytes?: PruneRawOptions
}

/**
 * Keeps the ledger in an SQL database, which may be shared by several processes.
 *
 * Whoever takes a record gets a *hold* of it: a random name, good for a short while, and renewed for
 * as long as its process lives. Every change of a held record names the lock in the same statement:
 * a process that was taken for dead finds that it may change nothing any more. For the same reason
 * every statement may run twice, where a connection broke before its answer came.
 */
export function sqlLedger(store: SqlStore, options: SqlLedgerOptions = {}): LedgerStore {
  const locks = createLocks(store, options)
  const { lockMs } = locks
  const { run } = store
  const leases = relayerLeases(store)
  const endForgetting = pruneRaw(store, options.bytes)
  const idempotency = sqlIdempotency(store, { leaseMs: lockMs * LEASES_PER_HOLD })
  const toRecord = (row: TimedRow): LedgerRecord =>
    recordOf(row, {
      silentMs: locks.silentMs,
      isOurs: locks.isOurs(row),
      isUncertain: locks.isUncertain(row),
    })

  const findRecord = async (
    { db, now }: SqlDatabase,
    key: AuthorizationKey,
  ): Promise<LedgerRecord | undefined> => {
    const row = await db
      .selectFrom('x402_authorizations')
      .selectAll()
      .select(now.as('now'))
      .where((where) => where.and(keyColumns(key)))
      .executeTakeFirst()
    if (row === undefined) return undefined
    const record = toRecord(row)
    // Whoever reserved it is gone, and has sent nothing: it is as if it had never been reserved.
    const isAbandoned = record.state === 'reserved' && row.lock_owner !== null && !record.locked
    return isAbandoned ? undefined : record
  }

  /** Changes what a lock allows to be changed. @returns Whether it did. */
  const changeHeld = (
    key: AuthorizationKey,
    lock: string,
    { from, to }: Change,
  ): Promise<boolean> =>
    run(async ({ db, now }) => {
      const { numUpdatedRows } = await db
        .updateTable('x402_authorizations')
        .set({ ...to, updated_at: now })
        .where((where) => where.and({ ...keyColumns(key), lock_owner: lock }))
        .where('state', 'in', from)
        .executeTakeFirst()
      return numUpdatedRows > 0n
    })

  /** @returns Whether the authorization was free. */
  const tryReserve = (entry: LedgerEntry, lock: string): Promise<boolean> =>
    run(async ({ db, now, plus }) => {
      const columns = {
        ...entryColumns(entry),
        state: 'reserved',
        lock_owner: lock,
        locked_until: plus(lockMs),
        created_at: now,
        updated_at: now,
      } as const
      const reserved = await db
        .insertInto('x402_authorizations')
        .values({ ...columns, ...keyColumns(entry) })
        .onConflict((conflict) =>
          conflict
            .columns(['chain_id', 'asset', 'payer', 'nonce'])
            .doUpdateSet(columns)
            .where('x402_authorizations.state', '=', 'reserved')
            .where('x402_authorizations.lock_owner', 'is not', null)
            .where((where) =>
              where.or([
                // Left behind by a process that is gone.
                where('x402_authorizations.locked_until', '<', now),
                where('x402_authorizations.lock_owner', '=', lock),
              ]),
            ),
        )
        .returning('id')
        .executeTakeFirst()
      return reserved !== undefined
    })

  return {
    idempotency,

    find: (key) => run((database) => findRecord(database, key)),

    async reserve(entry) {
      const lock = randomUUID()
      for (let attempt = 0; attempt < RESERVE_ATTEMPTS; attempt++) {
        // What this process works on stays its own, though its lock may have lapsed meanwhile.
        if (locks.of(entry) === undefined && (await tryReserve(entry, lock))) {
          locks.take(entry, lock)
          return undefined
        }
        const record = await run((database) => findRecord(database, entry))
        if (record !== undefined) return record
      }
      throw new LedgerError('ledger_unavailable', 'Others work on this payment.')
    },

    async release(key) {
      const lock = locks.drop(key)
      if (lock === undefined || store.isClosed()) return
      const { numDeletedRows } = await run(({ db }) =>
        db
          .deleteFrom('x402_authorizations')
          .where((where) => where.and({ ...keyColumns(key), lock_owner: lock }))
          .where('state', '=', 'reserved')
          .executeTakeFirst(),
      )
      if (numDeletedRows === 0n) await locks.unlock(key, lock)
    },

    ...recordSubmissions(store, locks),

    ...recordOutcomes(store, locks),

    async unlock(key) {
      const lock = locks.drop(key)
      if (store.isClosed()) return
      if (lock !== undefined) await locks.unlock(key, lock)
      else await locks.revertUncertain(key)
    },

    async relock(key) {
      if (locks.of(key) !== undefined) return false
      const lock = randomUUID()
      const claimed = await run(async ({ db, now, plus }) => {
        const { numUpdatedRows } = await db
          .updateTable('x402_authorizations')
          .set({ lock_owner: lock, locked_until: plus(lockMs), updated_at: now })
          .where((where) => where.and(keyColumns(key)))
          .where('state', 'in', ['reserved', 'submitted', 'settled'])
          .where('delivered', '=', 0)
          .where((where) =>
            where.or([
              where('lock_owner', 'is', null),
              where('locked_until', '<', now),
              where('lock_owner', '=', lock),
            ]),
          )
          .executeTakeFirst()
        return numUpdatedRows > 0n
      })
      if (claimed) locks.take(key, lock)
      return claimed
    },

    async markDelivered(key) {
      const lock = locks.drop(key)
      if (lock === undefined) throw lockLost()
      const granted = await changeHeld(key, lock, {
        from: ['submitted', 'settled'],
        to: { delivered: 1 },
      }).catch((error: unknown) => {
        locks.noteUncertain(key, lock)
        throw error
      })
      if (!granted) throw lockLost()
    },

    ...recordLists(store, toRecord),

    leaseRelayers: leases.lease,

    sharedSecret: (name) =>
      run(async ({ db }) => {
        const secret = randomBytes(32).toString('base64url')
        await db
          .insertInto('x402_secrets')
          .values({ name, secret })
          .onConflict((conflict) => conflict.column('name').doNothing())
          .execute()
        // Whoever was first.
        const row = await db
          .selectFrom('x402_secrets')
          .select('secret')
          .where('name', '=', name)
          .executeTakeFirstOrThrow()
        return row.secret
      }),

    async close() {
      idempotency.close()
      endForgetting()
      // Nothing can be done with what is still locked: it lapses now.
      const lapse = locks.end()
      await store.close(async (database) => {
        await leases.giveUp(database)
        await lapse(database)
      })
    },
  }
}

/** A change of a record in one of some states. */
interface Change {
  readonly from: readonly AuthorizationRow['state'][]
  readonly to: Updateable<AuthorizationRow>
}
