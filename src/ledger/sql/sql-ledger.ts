import { randomBytes, randomUUID } from 'node:crypto'
import type { Updateable } from 'kysely'
import { LedgerError } from '../../errors.js'
import type { AuthorizationKey, Ledger, LedgerEntry, LedgerRecord } from '../ledger.js'
import { entryColumns, keyColumns, recordOf, type TimedRow } from './authorization-rows.js'
import { forgetBytes, type ForgetBytesOptions } from './forget-bytes.js'
import { recordConclusions } from './record-conclusions.js'
import { createHolds, type HoldsOptions } from './holds.js'
import { recordLists } from './record-lists.js'
import { lostHold, recordSubmissions } from './record-submissions.js'
import { relayerLeases } from './relayer-leases.js'
import type { AuthorizationRow } from './schema.js'
import { sqlIdempotency } from './sql-idempotency.js'
import type { SqlDatabase, SqlStore } from './sql-store.js'

/** Claims of idempotency keys outlive the holds of their payments by this much. */
const LEASES_PER_HOLD = 1.5

/** Times a reservation is tried while others take and give back the same authorization. */
const RESERVE_ATTEMPTS = 10

/** Options of {@link sqlLedger}. */
export interface SqlLedgerOptions extends HoldsOptions {
  /** When a settled payment's transaction is no longer kept. */
  readonly bytes?: ForgetBytesOptions
}

/**
 * Keeps the ledger in an SQL database, which may be shared by several processes.
 *
 * Whoever takes a record gets a *hold* of it: a random name, good for a short while, and renewed for
 * as long as its process lives. Every change of a held record names the hold in the same statement:
 * a process that was taken for dead finds that it may change nothing any more. For the same reason
 * every statement may run twice, where a connection broke before its answer came.
 */
export function sqlLedger(store: SqlStore, options: SqlLedgerOptions = {}): Ledger {
  const holds = createHolds(store, options)
  const { holdMs } = holds
  const { run } = store
  const leases = relayerLeases(store)
  const endForgetting = forgetBytes(store, options.bytes)
  const idempotency = sqlIdempotency(store, { leaseMs: holdMs * LEASES_PER_HOLD })
  const toRecord = (row: TimedRow): LedgerRecord =>
    recordOf(row, {
      suspectMs: holds.suspectMs,
      isOurs: holds.isOurs(row),
      isDoubtful: holds.isDoubtful(row),
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
    const isAbandoned = record.state === 'reserved' && row.hold !== null && !record.held
    return isAbandoned ? undefined : record
  }

  /** Changes what a hold allows to be changed. @returns Whether it did. */
  const changeHeld = (
    key: AuthorizationKey,
    hold: string,
    { from, to }: Change,
  ): Promise<boolean> =>
    run(async ({ db, now }) => {
      const { numUpdatedRows } = await db
        .updateTable('x402_authorizations')
        .set({ ...to, updated_at: now })
        .where((where) => where.and({ ...keyColumns(key), hold }))
        .where('state', 'in', from)
        .executeTakeFirst()
      return numUpdatedRows > 0n
    })

  /** @returns Whether the authorization was free. */
  const tryReserve = (entry: LedgerEntry, hold: string): Promise<boolean> =>
    run(async ({ db, now, plus }) => {
      const columns = {
        ...entryColumns(entry),
        state: 'reserved',
        hold,
        held_until: plus(holdMs),
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
            .where('x402_authorizations.hold', 'is not', null)
            .where((where) =>
              where.or([
                // Left behind by a process that is gone.
                where('x402_authorizations.held_until', '<', now),
                where('x402_authorizations.hold', '=', hold),
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
      const hold = randomUUID()
      for (let attempt = 0; attempt < RESERVE_ATTEMPTS; attempt++) {
        // What this process works on stays its own, though its hold may have lapsed meanwhile.
        if (holds.of(entry) === undefined && (await tryReserve(entry, hold))) {
          holds.take(entry, hold)
          return undefined
        }
        const record = await run((database) => findRecord(database, entry))
        if (record !== undefined) return record
      }
      throw new LedgerError('ledger_unavailable', 'Others work on this payment.')
    },

    async release(key) {
      const hold = holds.drop(key)
      if (hold === undefined || store.isClosed()) return
      const { numDeletedRows } = await run(({ db }) =>
        db
          .deleteFrom('x402_authorizations')
          .where((where) => where.and({ ...keyColumns(key), hold }))
          .where('state', '=', 'reserved')
          .executeTakeFirst(),
      )
      if (numDeletedRows === 0n) await holds.letGo(key, hold)
    },

    ...recordSubmissions(store, holds),

    ...recordConclusions(store, holds),

    async yield(key) {
      const hold = holds.drop(key)
      if (store.isClosed()) return
      if (hold !== undefined) await holds.letGo(key, hold)
      else await holds.revoke(key)
    },

    async claim(key) {
      if (holds.of(key) !== undefined) return false
      const hold = randomUUID()
      const claimed = await run(async ({ db, now, plus }) => {
        const { numUpdatedRows } = await db
          .updateTable('x402_authorizations')
          .set({ hold, held_until: plus(holdMs), updated_at: now })
          .where((where) => where.and(keyColumns(key)))
          .where('state', 'in', ['reserved', 'submitted', 'settled'])
          .where('granted', '=', 0)
          .where((where) =>
            where.or([
              where('hold', 'is', null),
              where('held_until', '<', now),
              where('hold', '=', hold),
            ]),
          )
          .executeTakeFirst()
        return numUpdatedRows > 0n
      })
      if (claimed) holds.take(key, hold)
      return claimed
    },

    async grant(key) {
      const hold = holds.drop(key)
      if (hold === undefined) throw lostHold()
      const granted = await changeHeld(key, hold, {
        from: ['submitted', 'settled'],
        to: { granted: 1 },
      }).catch((error: unknown) => {
        holds.doubt(key, hold)
        throw error
      })
      if (!granted) throw lostHold()
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
      // Nothing can be done with what is still held: it lapses now.
      const lapse = holds.end()
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
