import { LedgerError } from '../../shared/errors.js'
import { lockLost, recordId, UNPAID } from '../record.js'
import type { PaymentKey, LedgerEntry, LedgerRecord, PaidTransfer } from '../record.js'
import { entryColumns } from './rows.js'
import { digitsOf, idBytes } from '../engine/bytes.js'
import type { OwnLocks } from './own-locks.js'
import { idsOf, rowsParameter, type Statement } from '../engine/statement.js'
import { DELIVER, RELEASE, RESERVE } from './statements.js'
import { releaseRefund, reopen } from './release-refund.js'
import type { Records } from './records.js'
import type { SqlDatabase, SqlStore } from '../engine/store.js'
import { StatementGroup } from '../engine/statement-group.js'

/** How often a reservation is tried while others reserve and release the same authorization. */
const RESERVE_ATTEMPTS = 10

/** A record that a statement is to lock, or that is locked. */
interface Locked {
  readonly record_id: string
  readonly lock_owner: string
  /** The transfer that has paid, if it is recorded with the delivery. */
  readonly transaction_hash?: string | undefined
  readonly transfer?: string | undefined
}

/** A payment that is to be reserved, under a lock. */
export interface Candidate<Entry extends LedgerEntry = LedgerEntry> extends Locked {
  readonly entry: Entry
}

/**
 * Reserves, locks and unlocks records.
 *
 * Every statement may run twice, because its answer is lost when a connection breaks. That is why each
 * one also accepts the lock that it has just written.
 */
export class Reservations {
  readonly #store: SqlStore
  readonly #locks: OwnLocks
  readonly #records: Records
  readonly #reservations: StatementGroup<Candidate, LedgerRecord | 'reserved' | undefined>
  readonly #releases: StatementGroup<Locked, boolean>
  readonly #deliveries: StatementGroup<Locked, boolean>

  constructor(store: SqlStore, locks: OwnLocks, records: Records) {
    this.#store = store
    this.#locks = locks
    this.#records = records
    this.#reservations = new StatementGroup(store, (...group) => this.#reserveAll(...group))
    this.#releases = new StatementGroup(store, changeAll(RELEASE))
    this.#deliveries = new StatementGroup(store, changeAll(DELIVER))
  }

  /**
   * Creates the record of an authorization, locked for the caller.
   *
   * @returns The record that exists already, or `undefined` if the caller has it now.
   */
  async reserve(entry: LedgerEntry): Promise<LedgerRecord | undefined> {
    const candidate = { entry, record_id: recordId(entry), lock_owner: this.#locks.newName() }
    const record = await untilReserved(() => this.#reservations.add(candidate))
    return record === 'reserved' ? undefined : record
  }

  /**
   * Unlocks a record. A reservation for which nothing was sent is forgotten.
   *
   * @param lock - The caller's lock. Without effect once another request has the record.
   */
  async release(key: PaymentKey, lock = this.lockOf(key)): Promise<void> {
    const id = recordId(key)
    const isOurs = this.#locks.drop(id, lock)
    if (!isOurs || lock === undefined || this.#store.isClosed) return
    const one = { record_id: id, lock_owner: lock }
    if (await this.#releases.add(one)) return
    const isReleased = await this.#store.run((database) => releaseRefund(database, one))
    if (!isReleased) await this.#locks.unlock(id, lock)
  }

  /**
   * Unlocks a record whose payment was not delivered.
   *
   * @param lock - As for {@link release}.
   */
  async unlock(key: PaymentKey, lock = this.lockOf(key)): Promise<void> {
    const id = recordId(key)
    const isOurs = this.#locks.drop(id, lock)
    if (this.#store.isClosed) return
    if (isOurs && lock !== undefined) await this.#locks.unlock(id, lock)
    else await this.#locks.revertUncertain(id)
  }

  /**
   * Locks an unlocked record again; a failed one only if its transaction has left the authorization unused.
   *
   * @param asker - As `Purchase.asker`: replaces who had it locked before.
   * @returns `false` if another request has the lock.
   */
  async relock(key: PaymentKey, asker?: string): Promise<boolean> {
    const id = recordId(key)
    if (this.#locks.of(id) !== undefined) return false
    const lock = this.#locks.newName()
    const isLocked = await this.#store.run(async ({ db, sql, now, plus }) => {
      const { numAffectedRows } = await sql`
        UPDATE x402_authorizations SET lock_owner = ${lock}, locked_until = ${plus(this.#locks.lockMs)},
          asker = ${asker ?? null}, updated_at = ${now}
        WHERE id = ${idBytes(id)} AND delivered = 0
          AND (state <> 'failed' OR reason = ${UNPAID} AND kind = 'payment')
          AND (lock_owner IS NULL OR lock_owner = ${lock} OR locked_until < ${now})`.execute(db)
      return numAffectedRows === 1n
    })
    if (isLocked) this.#locks.add(id, lock)
    return isLocked
  }

  /**
   * Records that the payer is about to be given the resource. The record stays locked for good.
   *
   * This is the last step before the response is sent. If it throws, the response must not be sent.
   *
   * @param paid - Does what {@link Records.markSettled} does in the same write. It throws where the
   * transfer log has paid for another record.
   * @param lock - The caller's lock. The payment is known to be delivered to the request that had it.
   */
  async markDelivered(
    key: PaymentKey,
    paid?: PaidTransfer,
    lock = this.lockOf(key),
  ): Promise<void> {
    const id = recordId(key)
    if (!this.#locks.drop(id, lock) || lock === undefined) throw lockLost()
    const { transaction, transfer } = paid ?? {}
    const transaction_hash = transaction && digitsOf(transaction)
    const locked = { record_id: id, lock_owner: lock, transaction_hash, transfer }
    const isDelivered = await this.#deliveries.add(locked).catch((error: unknown) => {
      this.#locks.noteUncertain(id, lock)
      throw error
    })
    if (!isDelivered) throw lockLost()
  }

  /**
   * Opens a payment again that the caller has marked as delivered, though nothing went out. A payment that
   * has a refund, or that another request has delivered meanwhile, stays as it is.
   */
  async undeliver(key: PaymentKey, lock: string | undefined): Promise<void> {
    if (lock === undefined) return
    const own = { record_id: recordId(key), lock_owner: lock }
    await this.#store.run((database) => reopen(database, own))
  }

  /**
   * The name of the lock that this process has on a record, and of the delivery under it: no other has it. A
   * request reads it as soon as it has reserved or relocked the record.
   */
  lockOf(key: PaymentKey): string | undefined {
    return this.#locks.of(recordId(key))
  }

  /**
   * @returns For each: that it is reserved now, or the existing record; `undefined` if that has just gone.
   */
  async #reserveAll(
    database: SqlDatabase,
    all: readonly Candidate[],
  ): Promise<readonly (LedgerRecord | 'reserved' | undefined)[]> {
    const firsts = firstsOf(all, this.#locks)
    const reserved = await this.#tryReserve(database, [...firsts.values()])
    const isReserved = (one: Candidate): boolean =>
      firsts.get(one.record_id) === one && reserved.has(one.record_id)
    const others = all.filter((one) => !isReserved(one)).map((one) => one.record_id)
    const rows = others.length > 0 ? await this.#records.rowsById(database, others) : undefined
    for (const one of all) if (isReserved(one)) this.#locks.add(one.record_id, one.lock_owner)
    return all.map((one) =>
      isReserved(one) ? 'reserved' : this.#records.recordOf(rows?.get(one.record_id)),
    )
  }

  /** @returns The ids of the records that were free. */
  async #tryReserve(
    { run }: SqlDatabase,
    candidates: readonly Candidate[],
  ): Promise<ReadonlySet<string>> {
    if (candidates.length === 0) return new Set()
    return idsOf(await run(RESERVE, reservedRows(candidates, this.#locks)))
  }
}

/** @returns A function that runs a statement, and returns for each member whether its record has changed. */
function changeAll(statement: Statement) {
  return async ({ run }: SqlDatabase, members: readonly Locked[]): Promise<readonly boolean[]> => {
    const changed = idsOf(await run(statement, [rowsParameter(members)]))
    return members.map(({ record_id }) => changed.has(record_id))
  }
}

/** Tries a reservation until it has a result. @throws `LedgerError` where others keep taking the record. */
export async function untilReserved<Result>(
  tryOnce: () => Promise<Result | undefined>,
): Promise<Result> {
  for (let attempt = 0; attempt < RESERVE_ATTEMPTS; attempt++) {
    const result = await tryOnce()
    if (result !== undefined) return result
  }
  throw new LedgerError('ledger_unavailable', 'Others work on this payment.')
}

/**
 * The first candidate of each record, unless this process works on the record: then it stays its own, even if its
 * lock has lapsed in the database.
 */
export function firstsOf<One extends Candidate>(
  all: readonly One[],
  locks: OwnLocks,
): ReadonlyMap<string, One> {
  const firsts = new Map<string, One>()
  for (const one of all)
    if (locks.of(one.record_id) === undefined && !firsts.has(one.record_id))
      firsts.set(one.record_id, one)
  return firsts
}

/** The parameters of {@link RESERVE}. */
export function reservedRows(
  candidates: readonly Candidate[],
  { lockMs: lock_ms }: OwnLocks,
): readonly unknown[] {
  const rows = candidates.map(({ entry, record_id, lock_owner }) => {
    return { lock_owner, lock_ms, ...entryColumns(entry, record_id) }
  })
  return [rowsParameter(rows)]
}
