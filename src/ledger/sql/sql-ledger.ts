import { randomUUID } from 'node:crypto'
import type { Selectable, Updateable } from 'kysely'
import { LedgerError } from '../../errors.js'
import type { Address, Hex } from '../../protocol/payment.js'
import type { Reason } from '../../protocol/reasons.js'
import { recordId } from '../ledger.js'
import type {
  AuthorizationKey,
  Ledger,
  LedgerEntry,
  LedgerRecord,
  LedgerStatus,
  Submission,
} from '../ledger.js'
import { relayerLeases } from './relayer-leases.js'
import type { AuthorizationRow } from './schema.js'
import { sqlIdempotency } from './sql-idempotency.js'
import type { SqlDatabase, SqlStore } from './sql-store.js'

/** Milliseconds for which a process holds what it works on, unless it renews the hold. */
const DEFAULT_HOLD_MS = 30_000

/** Claims of idempotency keys outlive the holds of their payments by this much. */
const LEASES_PER_HOLD = 1.5

/** Holds are renewed this many times before they would lapse. */
const RENEWALS_PER_HOLD = 15

/** Renewals that a process may miss before others take it to be dead, perhaps. */
const MISSED_RENEWALS = 2

/** Holds that one statement renews. */
const RENEWED_AT_ONCE = 500

/** Times a reservation is tried while others take and give back the same authorization. */
const RESERVE_ATTEMPTS = 10

/** Options of {@link sqlLedger}. */
export interface SqlLedgerOptions {
  /**
   * Milliseconds after which what a dead process held is free for others.
   * @defaultValue 30000
   */
  readonly holdMs?: number
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
  const { holdMs = DEFAULT_HOLD_MS } = options
  const { run } = store
  const renewalMs = holdMs / RENEWALS_PER_HOLD
  /** Milliseconds that a hold lasts still, below which its process has missed its renewals. */
  const suspectMs = holdMs - MISSED_RENEWALS * renewalMs
  const leases = relayerLeases(store)
  const idempotency = sqlIdempotency(store, { leaseMs: holdMs * LEASES_PER_HOLD })
  /** What this process holds, by {@link recordId}. */
  const holds = new Map<string, string>()
  /** Grants that were refused to the caller, though the database may have written them down. */
  const doubtful = new Map<string, string>()

  const renew = async (): Promise<void> => {
    await revokeDoubtful()
    const renewed = [...holds.values()]
    while (renewed.length > 0) {
      const some = renewed.splice(0, RENEWED_AT_ONCE)
      await run(({ db, plus }) => extend(db, some, plus(holdMs)))
    }
  }
  let renewing: Promise<void> | undefined
  const renewal = setInterval(() => {
    renewing ??= renew()
      .catch(() => undefined)
      .finally(() => (renewing = undefined))
  }, renewalMs)
  renewal.unref()

  const revokeDoubtful = async (): Promise<void> => {
    for (const [id, hold] of doubtful) {
      await run(({ db }) =>
        db
          .updateTable('x402_authorizations')
          .set({ granted: 0, hold: null, held_until: 0 })
          .where('id', '=', id)
          .where('hold', '=', hold)
          .execute(),
      )
      doubtful.delete(id)
    }
  }

  /** Takes note of what this process no longer works on. @returns The hold it had. */
  const drop = (key: AuthorizationKey): string | undefined => {
    const id = recordId(key)
    const hold = holds.get(id)
    holds.delete(id)
    return hold
  }

  const toRecord = (row: Selectable<AuthorizationRow> & Clock): LedgerRecord =>
    recordOf(row, { suspectMs, isOurs: row.hold !== null && holds.get(row.id) === row.hold })

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

  /** Records what the chain has decided: that is so, whoever holds the record. */
  const conclude = (key: AuthorizationKey, to: Updateable<AuthorizationRow>): Promise<void> =>
    run(async ({ db, now }) => {
      await db
        .updateTable('x402_authorizations')
        .set({ ...to, updated_at: now })
        .where((where) => where.and(keyColumns(key)))
        .where('state', 'in', ['reserved', 'submitted'])
        .execute()
    })

  const letGo = async (key: AuthorizationKey, hold: string): Promise<void> => {
    await run(({ db }) =>
      db
        .updateTable('x402_authorizations')
        .set({ hold: null, held_until: 0 })
        .where((where) => where.and({ ...keyColumns(key), hold }))
        .where('granted', '=', 0)
        .execute(),
    )
  }

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
      const id = recordId(entry)
      const hold = randomUUID()
      for (let attempt = 0; attempt < RESERVE_ATTEMPTS; attempt++) {
        // What this process works on stays its own, though its hold may have lapsed meanwhile.
        if (!holds.has(id) && (await tryReserve(entry, hold))) {
          holds.set(id, hold)
          return undefined
        }
        const record = await run((database) => findRecord(database, entry))
        if (record !== undefined) return record
      }
      throw new LedgerError('ledger_unavailable', 'Others work on this payment.')
    },

    async release(key) {
      const hold = drop(key)
      if (hold === undefined || store.isClosed()) return
      const { numDeletedRows } = await run(({ db }) =>
        db
          .deleteFrom('x402_authorizations')
          .where((where) => where.and({ ...keyColumns(key), hold }))
          .where('state', '=', 'reserved')
          .executeTakeFirst(),
      )
      if (numDeletedRows === 0n) await letGo(key, hold)
    },

    submit: (key, submission) =>
      run(async ({ db, now }) => {
        const { transaction, relayer, transactionCount: transaction_count, raw } = submission
        const replaces = submission.replaces?.join(',') ?? null
        const columns = { transaction_hash: transaction, relayer, transaction_count, raw, replaces }
        const hold = holds.get(recordId(key))
        const { numUpdatedRows } = await db
          .updateTable('x402_authorizations')
          .set({ state: 'submitted', ...columns, updated_at: now })
          .where((where) => where.and(keyColumns(key)))
          .where((where) => {
            const isReplaced = where.and({ state: 'submitted', relayer, transaction_count })
            if (hold === undefined) return isReplaced
            return where.or([
              isReplaced,
              where.and([
                where('state', 'in', ['reserved', 'submitted']),
                where('hold', '=', hold),
              ]),
            ])
          })
          .executeTakeFirst()
        if (numUpdatedRows === 0n) throw lostHold()
      }),

    async withdraw(key, transaction) {
      const hold = holds.get(recordId(key))
      const { deleted, record } = await run(async (database) => {
        const { numDeletedRows } = await database.db
          .deleteFrom('x402_authorizations')
          .where((where) => where.and({ ...keyColumns(key), transaction_hash: transaction }))
          .where('state', '=', 'submitted')
          .where('hold', '=', hold ?? '')
          .executeTakeFirst()
        return { deleted: numDeletedRows > 0n, record: await findRecord(database, key) }
      })
      if (deleted) return void drop(key)
      const isOthers =
        record?.state === 'submitted' && record.submission.transaction === transaction
      if (isOthers) throw lostHold()
    },

    settle: (key, transaction) =>
      conclude(key, { state: 'settled', transaction_hash: transaction }),

    async fail(key, { transaction, reason }) {
      await conclude(key, { state: 'failed', transaction_hash: transaction, reason })
      drop(key)
    },

    correct: (key, transaction) =>
      run(async ({ db, now }) => {
        const changed = { transaction_hash: transaction, updated_at: now }
        const free = { state: 'settled', reason: null, hold: null, held_until: 0 } as const
        await db
          .updateTable('x402_authorizations')
          .set(changed)
          .where((where) => where.and({ ...keyColumns(key), state: 'settled' }))
          .where('transaction_hash', '!=', transaction)
          .execute()
        await db
          .updateTable('x402_authorizations')
          .set({ ...changed, ...free })
          .where((where) => where.and({ ...keyColumns(key), state: 'failed' }))
          .execute()
      }),

    async yield(key) {
      const hold = drop(key)
      if (store.isClosed()) return
      if (hold !== undefined) await letGo(key, hold)
      else if (doubtful.has(recordId(key))) await revokeDoubtful()
    },

    async claim(key) {
      const id = recordId(key)
      if (holds.has(id)) return false
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
      if (claimed) holds.set(id, hold)
      return claimed
    },

    async grant(key) {
      const hold = drop(key)
      if (hold === undefined) throw lostHold()
      const granted = await changeHeld(key, hold, {
        from: ['submitted', 'settled'],
        to: { granted: 1 },
      }).catch((error: unknown) => {
        doubtful.set(recordId(key), hold)
        throw error
      })
      if (!granted) throw lostHold()
    },

    listSubmitted: () =>
      run(async ({ db, now }) => {
        const rows = await db
          .selectFrom('x402_authorizations')
          .selectAll()
          .select(now.as('now'))
          .where('state', '=', 'submitted')
          .orderBy('created_at')
          .orderBy('id')
          .execute()
        return rows.map(toRecord)
      }),

    listConcluded: ({ state, withinMs, limit }) =>
      run(async ({ db, plus }) => {
        const rows = await db
          .selectFrom('x402_authorizations')
          .select(ENTRY_COLUMNS)
          .where('state', '=', state)
          .where('updated_at', '>=', plus(-withinMs))
          .orderBy('updated_at', 'desc')
          .limit(limit)
          .execute()
        return rows.map((row) => ({ ...entryOf(row), id: row.id, state }))
      }),

    list: ({ project, id, state, from, until, after, limit }) =>
      run(async ({ db, now }) => {
        let select = db
          .selectFrom('x402_authorizations')
          .selectAll()
          .select(now.as('now'))
          .where('project', '=', project)
          .where((where) =>
            where.or([
              where('state', '!=', 'reserved'),
              where('hold', 'is', null),
              where('held_until', '>=', now),
            ]),
          )
        if (id !== undefined) select = select.where('id', '=', id)
        if (state !== undefined) select = select.where('state', '=', state)
        if (from !== undefined) select = select.where('created_at', '>=', from)
        if (until !== undefined) select = select.where('created_at', '<', until)
        if (after !== undefined)
          select = select.where((where) =>
            where.or([
              where('created_at', '<', after.createdAt),
              where.and([where('created_at', '=', after.createdAt), where('id', '<', after.id)]),
            ]),
          )
        const rows = await select
          .orderBy('created_at', 'desc')
          .orderBy('id', 'desc')
          .limit(limit)
          .execute()
        return rows.map(toRecord)
      }),

    leaseRelayers: leases.lease,

    async close() {
      clearInterval(renewal)
      idempotency.close()
      const held = [...holds.values()]
      holds.clear()
      // Nothing can be done with what is still held: it lapses now.
      await store.close(async (database) => {
        await leases.giveUp(database)
        if (held.length > 0) await extend(database.db, held, 0)
      })
    },
  }
}

/** A change of a record in one of some states. */
interface Change {
  readonly from: readonly AuthorizationRow['state'][]
  readonly to: Updateable<AuthorizationRow>
}

/** The database's time at which a row was read. */
interface Clock {
  readonly now: number | string
}

/** Lets holds last until another time. */
async function extend(
  db: SqlDatabase['db'],
  holds: readonly string[],
  until: Updateable<AuthorizationRow>['held_until'] | ReturnType<SqlDatabase['plus']>,
): Promise<void> {
  await db
    .updateTable('x402_authorizations')
    .set({ held_until: until })
    .where('hold', 'in', holds)
    .where((where) => where('granted', '=', where.lit(0)))
    .execute()
}

function lostHold(): LedgerError {
  return new LedgerError('ledger_unavailable', 'This payment is no longer held: it was let go.')
}

function keyColumns({ chainId, asset, from, nonce }: AuthorizationKey) {
  return {
    chain_id: chainId,
    asset: asset.toLowerCase(),
    payer: from.toLowerCase(),
    nonce: nonce.toLowerCase(),
  }
}

function entryColumns(entry: LedgerEntry) {
  return {
    id: recordId(entry),
    pay_to: entry.payTo,
    value: entry.value.toString(),
    valid_before: entry.validBefore.toString(),
    project: entry.project ?? null,
  }
}

/** What an entry is made of, and the record's id. */
const ENTRY_COLUMNS = [
  'chain_id',
  'asset',
  'payer',
  'nonce',
  'pay_to',
  'value',
  'valid_before',
  'project',
  'id',
] as const

function entryOf(
  row: Pick<Selectable<AuthorizationRow>, (typeof ENTRY_COLUMNS)[number]>,
): LedgerEntry {
  return {
    chainId: Number(row.chain_id),
    asset: row.asset as Address,
    from: row.payer as Address,
    nonce: row.nonce as Hex,
    payTo: row.pay_to as Address,
    value: BigInt(row.value),
    validBefore: BigInt(row.valid_before),
    project: row.project ?? undefined,
  }
}

function recordOf(
  row: Selectable<AuthorizationRow> & Clock,
  { isOurs, suspectMs }: { readonly isOurs: boolean; readonly suspectMs: number },
): LedgerRecord {
  const leftMs = row.hold === null ? -1 : Number(row.held_until) - Number(row.now)
  const isGranted = row.granted === 1
  return {
    ...entryOf(row),
    id: row.id,
    createdAt: Number(row.created_at),
    updatedAt: Number(row.updated_at),
    held: isGranted || isOurs || leftMs >= 0,
    suspect: !isGranted && !isOurs && leftMs >= 0 && leftMs < suspectMs,
    granted: isGranted,
    ...statusOf(row),
  }
}

function statusOf(row: Selectable<AuthorizationRow>): LedgerStatus {
  const { state } = row
  if (state === 'reserved') return { state }
  const transaction = row.transaction_hash as Hex
  const submission = submissionOf(row)
  switch (state) {
    case 'submitted':
      return { state, submission }
    case 'settled':
      return { state, transaction, ...(row.raw !== null && { submission }) }
    case 'failed': {
      const reason = row.reason as Reason
      return { state, transaction, reason, ...(row.raw !== null && { submission }) }
    }
  }
}

function submissionOf(row: Selectable<AuthorizationRow>): Submission {
  const replaces = row.replaces?.split(',') as readonly Hex[] | undefined
  return {
    transaction: row.transaction_hash as Hex,
    relayer: row.relayer as Address,
    transactionCount: Number(row.transaction_count),
    raw: row.raw as Hex,
    ...(replaces && { replaces }),
  }
}
