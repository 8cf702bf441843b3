import { randomUUID } from 'node:crypto'
import { LedgerError } from '../../errors.js'
import type { Locks } from '../ledger.js'
import { lockLost } from '../lock-lost.js'
import type { AuthorizationKey, LedgerEntry, LedgerRecord } from '../record.js'
import { entryColumns, keyColumns } from './authorization-rows.js'
import type { OwnLocks } from './own-locks.js'
import type { SqlRecords } from './sql-records.js'
import type { SqlStore } from './sql-store.js'

/** How often a reservation is tried while others reserve and release the same authorization. */
const RESERVE_ATTEMPTS = 10

/**
 * Reserves, locks and unlocks records.
 *
 * Every statement may run twice, because its answer is lost when a connection breaks. That is why each
 * one also accepts the lock that it has just written.
 */
export class SqlLocks implements Locks {
  readonly #store: SqlStore
  readonly #locks: OwnLocks
  readonly #records: SqlRecords

  constructor(store: SqlStore, locks: OwnLocks, records: SqlRecords) {
    this.#store = store
    this.#locks = locks
    this.#records = records
  }

  async reserve(entry: LedgerEntry): Promise<LedgerRecord | undefined> {
    const lock = randomUUID()
    for (let attempt = 0; attempt < RESERVE_ATTEMPTS; attempt++) {
      // What this process works on stays its own, even if its lock has lapsed in the database.
      if (this.#locks.of(entry) === undefined && (await this.#tryReserve(entry, lock))) {
        this.#locks.add(entry, lock)
        return undefined
      }
      const record = await this.#records.find(entry)
      if (record !== undefined) return record
    }
    throw new LedgerError('ledger_unavailable', 'Others work on this payment.')
  }

  async release(key: AuthorizationKey): Promise<void> {
    const lock = this.#locks.drop(key)
    if (lock === undefined || this.#store.isClosed) return
    const { numDeletedRows } = await this.#store.run(({ db }) =>
      db
        .deleteFrom('x402_authorizations')
        .where((where) => where.and({ ...keyColumns(key), lock_owner: lock }))
        .where('state', '=', 'reserved')
        .executeTakeFirst(),
    )
    if (numDeletedRows === 0n) await this.#locks.unlock(key, lock)
  }

  async unlock(key: AuthorizationKey): Promise<void> {
    const lock = this.#locks.drop(key)
    if (this.#store.isClosed) return
    if (lock !== undefined) await this.#locks.unlock(key, lock)
    else await this.#locks.revertUncertain(key)
  }

  async relock(key: AuthorizationKey): Promise<boolean> {
    if (this.#locks.of(key) !== undefined) return false
    const lock = randomUUID()
    const isLocked = await this.#store.run(async ({ db, now, plus }) => {
      const { numUpdatedRows } = await db
        .updateTable('x402_authorizations')
        .set({ lock_owner: lock, locked_until: plus(this.#locks.lockMs), updated_at: now })
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
    if (isLocked) this.#locks.add(key, lock)
    return isLocked
  }

  async markDelivered(key: AuthorizationKey): Promise<void> {
    const lock = this.#locks.drop(key)
    if (lock === undefined) throw lockLost()
    const isDelivered = await this.#deliver(key, lock).catch((error: unknown) => {
      this.#locks.noteUncertain(key, lock)
      throw error
    })
    if (!isDelivered) throw lockLost()
  }

  #deliver(key: AuthorizationKey, lock: string): Promise<boolean> {
    return this.#store.run(async ({ db, now }) => {
      const { numUpdatedRows } = await db
        .updateTable('x402_authorizations')
        .set({ delivered: 1, updated_at: now })
        .where((where) => where.and({ ...keyColumns(key), lock_owner: lock }))
        .where('state', 'in', ['submitted', 'settled'])
        .executeTakeFirst()
      return numUpdatedRows > 0n
    })
  }

  /** @returns Whether the authorization was free. */
  #tryReserve(entry: LedgerEntry, lock: string): Promise<boolean> {
    return this.#store.run(async ({ db, now, plus }) => {
      const columns = {
        ...entryColumns(entry),
        state: 'reserved',
        lock_owner: lock,
        locked_until: plus(this.#locks.lockMs),
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
                // Its process is dead.
                where('x402_authorizations.locked_until', '<', now),
                where('x402_authorizations.lock_owner', '=', lock),
              ]),
            ),
        )
        .returning('id')
        .executeTakeFirst()
      return reserved !== undefined
    })
  }
}
