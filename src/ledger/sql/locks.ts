import type { Updateable } from 'kysely'
import { recordId, type AuthorizationKey } from '../ledger.js'
import { keyColumns } from './authorization-rows.js'
import { rowsInOrder } from './rows-in-order.js'
import type { AuthorizationRow } from './schema.js'
import type { SqlDatabase, SqlStore } from './sql-store.js'

/** Milliseconds for which a process locks what it works on, unless it renews the hold. */
const DEFAULT_LOCK_MS = 30_000

/** Holds are renewed this many times before they would lapse. */
const RENEWALS_PER_LOCK = 15

/** Renewals that a process may miss before others take it to be dead, perhaps. */
const MISSED_RENEWALS = 2

/** Holds that one statement renews. */
const RENEWED_AT_ONCE = 500

/** Options of {@link createLocks}. */
export interface LocksOptions {
  /**
   * Milliseconds after which what a dead process held is free for others.
   * @defaultValue 30000
   */
  readonly lockMs?: number
}

/** What this process works on: a random name for each taking, which it renews for as long as it lives. */
export interface Locks {
  /** Milliseconds that a lock lasts. */
  readonly lockMs: number
  /** Milliseconds that a lock lasts still, below which its process has missed its renewals. */
  readonly silentMs: number
  /** The lock of a record, where this process has it. */
  of(key: AuthorizationKey): string | undefined
  isOurs(row: Pick<AuthorizationRow, 'id' | 'lock_owner'>): boolean
  take(key: AuthorizationKey, lock: string): void
  /** Takes note of what this process no longer works on. @returns The lock it had. */
  drop(key: AuthorizationKey): string | undefined
  /** Lets others have what was held. */
  unlock(key: AuthorizationKey, lock: string): Promise<void>
  /** Remembers a grant that was refused to the caller, though the database may have written it down. */
  noteUncertain(key: AuthorizationKey, lock: string): void
  /** Whether a record may have been granted by what the caller was refused: it is still open. */
  isUncertain(row: Pick<AuthorizationRow, 'id' | 'lock_owner'>): boolean
  /** Takes back every such grant, where this record's is among them. */
  revertUncertain(key: AuthorizationKey): Promise<void>
  /** Ends the renewals. @returns Lets everything lapse now that is still held. */
  end(): (database: SqlDatabase) => Promise<void>
}

/** Renews what is taken, until it is dropped. */
export function createLocks({ run }: SqlStore, options: LocksOptions): Locks {
  const { lockMs = DEFAULT_LOCK_MS } = options
  const renewalMs = lockMs / RENEWALS_PER_LOCK
  /** By {@link recordId}. */
  const locks = new Map<string, string>()
  const uncertain = new Map<string, string>()

  const renew = async (): Promise<void> => {
    await revertAllUncertain()
    const renewed = [...locks.values()]
    while (renewed.length > 0) {
      const some = renewed.splice(0, RENEWED_AT_ONCE)
      await run((database) => extend(database, some, database.plus(lockMs)))
    }
  }
  let renewing: Promise<void> | undefined
  const renewal = setInterval(() => {
    renewing ??= renew()
      .catch(() => undefined)
      .finally(() => (renewing = undefined))
  }, renewalMs)
  renewal.unref()

  const revertAllUncertain = async (): Promise<void> => {
    for (const [id, lock] of uncertain) {
      await run(({ db }) =>
        db
          .updateTable('x402_authorizations')
          .set({ delivered: 0, lock_owner: null, locked_until: 0 })
          .where('id', '=', id)
          .where('lock_owner', '=', lock)
          .execute(),
      )
      uncertain.delete(id)
    }
  }

  return {
    lockMs,
    silentMs: lockMs - MISSED_RENEWALS * renewalMs,
    of: (key) => locks.get(recordId(key)),
    isOurs: ({ id, lock_owner: lock }) => lock !== null && locks.get(id) === lock,
    take: (key, lock) => void locks.set(recordId(key), lock),
    drop(key) {
      const id = recordId(key)
      const lock = locks.get(id)
      locks.delete(id)
      return lock
    },
    async unlock(key, lock) {
      await run(({ db }) =>
        db
          .updateTable('x402_authorizations')
          .set({ lock_owner: null, locked_until: 0 })
          .where((where) => where.and({ ...keyColumns(key), lock_owner: lock }))
          .where('delivered', '=', 0)
          .execute(),
      )
    },
    noteUncertain: (key, lock) => void uncertain.set(recordId(key), lock),
    isUncertain: ({ id, lock_owner: lock }) => lock !== null && uncertain.get(id) === lock,
    async revertUncertain(key) {
      if (uncertain.has(recordId(key))) await revertAllUncertain()
    },
    end() {
      clearInterval(renewal)
      const held = [...locks.values()]
      locks.clear()
      return async (database) => {
        if (held.length > 0) await extend(database, held, 0)
      }
    },
  }
}

/** Lets locks last until another time. */
async function extend(
  database: SqlDatabase,
  locks: readonly string[],
  until: Updateable<AuthorizationRow>['locked_until'] | ReturnType<SqlDatabase['plus']>,
): Promise<void> {
  const { db } = database
  await db
    .updateTable('x402_authorizations')
    .set({ locked_until: until })
    .where(
      rowsInOrder(database, db, (where) =>
        where.and([where('lock_owner', 'in', locks), where('delivered', '=', where.lit(0))]),
      ),
    )
    .execute()
}
