import { idBytes, idOf } from '../engine/bytes.js'
import type { LockOwner } from '../owners/lock-owner.js'
import { every } from '../engine/every.js'
import type { Row } from '../schema/tables.js'
import { rowsInOrder, type SqlStore } from '../engine/store.js'
import { reopen } from './release-refund.js'

/** How long a lock lasts without renewal. */
const DEFAULT_LOCK_MS = 30_000

/** Renewals in the time that a lock lasts. */
const RENEWALS_PER_LOCK = 15

/** Renewals that a process may miss before others call it silent. */
const MISSED_RENEWALS = 2

/** Locks that one statement renews. */
const RENEWED_AT_ONCE = 500

/** Options of {@link OwnLocks}. */
export interface LocksOptions {
  /**
   * How long a lock lasts without renewal (ms); others may then take it. The locks of a process that is
   * seen to be dead are free at once ({@link LockOwner}).
   *
   * @defaultValue 30000
   */
  readonly lockMs?: number
}

/**
 * The locks of this process: a name of its own each, renewed for as long as the process lives. Records are
 * named by their ids here, because making an id takes a hash.
 *
 * The name is in the `WHERE` of every statement that needs the lock, so that a process which was taken
 * for dead cannot change anything any more.
 */
export class OwnLocks {
  /** How long a lock lasts without renewal. */
  readonly lockMs: number
  /** A lock that lasts for less than this has missed renewals. */
  readonly silentMs: number
  readonly #store: SqlStore
  readonly #owner: LockOwner
  /** Names of locks by `recordId`. */
  readonly #locks = new Map<string, string>()
  /**
   * Locks of failed deliveries, by `recordId`. The caller was told that the delivery failed, but
   * the database may have written it down.
   */
  readonly #uncertain = new Map<string, string>()
  readonly #endRenewals: () => void

  constructor(store: SqlStore, owner: LockOwner, { lockMs = DEFAULT_LOCK_MS }: LocksOptions) {
    const renewalMs = lockMs / RENEWALS_PER_LOCK
    this.lockMs = lockMs
    this.silentMs = lockMs - MISSED_RENEWALS * renewalMs
    this.#store = store
    this.#owner = owner
    this.#endRenewals = every(renewalMs, () => this.#renew())
  }

  /** A name for a lock that this process asks for. */
  newName(): string {
    return this.#owner.newName()
  }

  /** The name of a record's lock, if this process has it. */
  of(id: string): string | undefined {
    return this.#locks.get(id)
  }

  isOurs({ id, lock_owner: lock }: Pick<Row<'x402_authorizations'>, 'id' | 'lock_owner'>): boolean {
    return lock !== null && this.#locks.get(idOf(id)) === lock
  }

  /** Adds a lock that the database has given to this process. */
  add(id: string, lock: string): void {
    this.#locks.set(id, lock)
  }

  /** Stops renewing a lock. @returns Whether this process had it. */
  drop(id: string, lock: string | undefined): boolean {
    return this.#locks.get(id) === lock && this.#locks.delete(id)
  }

  /** Unlocks a record in the database, unless it was delivered. */
  async unlock(id: string, lock: string): Promise<void> {
    await this.#store.run(({ db }) =>
      db
        .updateTable('x402_authorizations')
        .set({ lock_owner: null, locked_until: 0 })
        .where((where) => where.and({ id: idBytes(id), lock_owner: lock }))
        .where('delivered', '=', 0)
        .execute(),
    )
  }

  /** Remembers a delivery that failed for the caller, though the database may have written it down. */
  noteUncertain(id: string, lock: string): void {
    this.#uncertain.set(id, lock)
  }

  /** Tells whether a record's delivery failed and was not reverted yet. Its payment is still open. */
  isUncertain({
    id,
    lock_owner: lock,
  }: Pick<Row<'x402_authorizations'>, 'id' | 'lock_owner'>): boolean {
    return lock !== null && this.#uncertain.get(idOf(id)) === lock
  }

  /** Reverts all uncertain deliveries, if this record's is one of them. */
  async revertUncertain(id: string): Promise<void> {
    if (this.#uncertain.has(id)) await this.#revertAllUncertain()
  }

  /** Ends the renewals: nobody can use the remaining locks any more. */
  end(): void {
    this.#endRenewals()
    this.#locks.clear()
  }

  async #renew(): Promise<void> {
    await this.#revertAllUncertain()
    const locks = [...this.#locks.values()]
    while (locks.length > 0) {
      const some = locks.splice(0, RENEWED_AT_ONCE)
      await this.#store.run((database) =>
        database.db
          .updateTable('x402_authorizations')
          .set({ locked_until: database.plus(this.lockMs) })
          .where(
            rowsInOrder(database, (where) =>
              where.and([where('lock_owner', 'in', some), where('delivered', '=', where.lit(0))]),
            ),
          )
          .execute(),
      )
    }
  }

  async #revertAllUncertain(): Promise<void> {
    for (const [id, lock] of this.#uncertain) {
      await this.#store.run((database) => reopen(database, { record_id: id, lock_owner: lock }))
      this.#uncertain.delete(id)
    }
  }
}
