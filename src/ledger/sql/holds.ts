import type { Updateable } from 'kysely'
import { recordId, type AuthorizationKey } from '../ledger.js'
import { keyColumns } from './authorization-rows.js'
import { rowsInOrder } from './rows-in-order.js'
import type { AuthorizationRow } from './schema.js'
import type { SqlDatabase, SqlStore } from './sql-store.js'

/** Milliseconds for which a process holds what it works on, unless it renews the hold. */
const DEFAULT_HOLD_MS = 30_000

/** Holds are renewed this many times before they would lapse. */
const RENEWALS_PER_HOLD = 15

/** Renewals that a process may miss before others take it to be dead, perhaps. */
const MISSED_RENEWALS = 2

/** Holds that one statement renews. */
const RENEWED_AT_ONCE = 500

/** Options of {@link createHolds}. */
export interface HoldsOptions {
  /**
   * Milliseconds after which what a dead process held is free for others.
   * @defaultValue 30000
   */
  readonly holdMs?: number
}

/** What this process works on: a random name for each taking, which it renews for as long as it lives. */
export interface Holds {
  /** Milliseconds that a hold lasts. */
  readonly holdMs: number
  /** Milliseconds that a hold lasts still, below which its process has missed its renewals. */
  readonly suspectMs: number
  /** The hold of a record, where this process has it. */
  of(key: AuthorizationKey): string | undefined
  isOurs(row: Pick<AuthorizationRow, 'id' | 'hold'>): boolean
  take(key: AuthorizationKey, hold: string): void
  /** Takes note of what this process no longer works on. @returns The hold it had. */
  drop(key: AuthorizationKey): string | undefined
  /** Lets others have what was held. */
  letGo(key: AuthorizationKey, hold: string): Promise<void>
  /** Remembers a grant that was refused to the caller, though the database may have written it down. */
  doubt(key: AuthorizationKey, hold: string): void
  /** Whether a record may have been granted by what the caller was refused: it is still open. */
  isDoubtful(row: Pick<AuthorizationRow, 'id' | 'hold'>): boolean
  /** Takes back every such grant, where this record's is among them. */
  revoke(key: AuthorizationKey): Promise<void>
  /** Ends the renewals. @returns Lets everything lapse now that is still held. */
  end(): (database: SqlDatabase) => Promise<void>
}

/** Renews what is taken, until it is dropped. */
export function createHolds({ run }: SqlStore, options: HoldsOptions): Holds {
  const { holdMs = DEFAULT_HOLD_MS } = options
  const renewalMs = holdMs / RENEWALS_PER_HOLD
  /** By {@link recordId}. */
  const holds = new Map<string, string>()
  const doubtful = new Map<string, string>()

  const renew = async (): Promise<void> => {
    await revokeDoubtful()
    const renewed = [...holds.values()]
    while (renewed.length > 0) {
      const some = renewed.splice(0, RENEWED_AT_ONCE)
      await run((database) => extend(database, some, database.plus(holdMs)))
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

  return {
    holdMs,
    suspectMs: holdMs - MISSED_RENEWALS * renewalMs,
    of: (key) => holds.get(recordId(key)),
    isOurs: ({ id, hold }) => hold !== null && holds.get(id) === hold,
    take: (key, hold) => void holds.set(recordId(key), hold),
    drop(key) {
      const id = recordId(key)
      const hold = holds.get(id)
      holds.delete(id)
      return hold
    },
    async letGo(key, hold) {
      await run(({ db }) =>
        db
          .updateTable('x402_authorizations')
          .set({ hold: null, held_until: 0 })
          .where((where) => where.and({ ...keyColumns(key), hold }))
          .where('granted', '=', 0)
          .execute(),
      )
    },
    doubt: (key, hold) => void doubtful.set(recordId(key), hold),
    isDoubtful: ({ id, hold }) => hold !== null && doubtful.get(id) === hold,
    async revoke(key) {
      if (doubtful.has(recordId(key))) await revokeDoubtful()
    },
    end() {
      clearInterval(renewal)
      const held = [...holds.values()]
      holds.clear()
      return async (database) => {
        if (held.length > 0) await extend(database, held, 0)
      }
    },
  }
}

/** Lets holds last until another time. */
async function extend(
  database: SqlDatabase,
  holds: readonly string[],
  until: Updateable<AuthorizationRow>['held_until'] | ReturnType<SqlDatabase['plus']>,
): Promise<void> {
  const { db } = database
  await db
    .updateTable('x402_authorizations')
    .set({ held_until: until })
    .where(
      rowsInOrder(database, db, (where) =>
        where.and([where('hold', 'in', holds), where('granted', '=', where.lit(0))]),
      ),
    )
    .execute()
}
