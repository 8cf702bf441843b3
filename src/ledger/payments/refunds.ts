import { recordId } from '../record.js'
import { checkRefund, isRefundRecord } from '../refunds.js'
import type {
  RefundedAmount,
  RefundedPayment,
  RefundEntry,
  RefundRecord,
  RefundRefusal,
  RefundRequest,
  RefundReservation,
} from '../refunds.js'
import type { TimedRow } from './rows.js'
import { idBytes, idOf } from '../engine/bytes.js'
import type { OwnLocks } from './own-locks.js'
import { readRefunded, readRequests } from './refund-notes.js'
import { REFUNDED, reopenUnrefunded } from './release-refund.js'
import { idsOf } from '../engine/statement.js'
import { firstsOf, reservedRows, untilReserved, type Candidate } from './reservations.js'
import { RESERVE } from './statements.js'
import { selectRecords } from './list-rows.js'
import type { Records } from './records.js'
import type { SqlDatabase, SqlStore } from '../engine/store.js'
import { StatementGroup } from '../engine/statement-group.js'

type RefundCandidate = Candidate<RefundEntry>

/** The outcome of one transaction, by the ids of its candidates' records. */
interface Tried {
  readonly reserved: ReadonlySet<string>
  readonly refused: ReadonlyMap<string, RefundRefusal>
}

/**
 * Reserves refunds.
 *
 * The row of a payment is locked while its rest is computed and its refunds are written, so that
 * only one process at a time refunds it.
 */
export class Refunds {
  readonly #store: SqlStore
  readonly #locks: OwnLocks
  readonly #records: Records
  readonly #reservations: StatementGroup<RefundCandidate, RefundReservation | undefined>

  constructor(store: SqlStore, locks: OwnLocks, records: Records) {
    this.#store = store
    this.#locks = locks
    this.#records = records
    this.#reservations = new StatementGroup(store, (...group) => this.#reserveAll(...group))
  }

  /**
   * Creates the record of a refund, locked for the caller, if the rest of its payment covers it.
   *
   * However many refunds of a payment are reserved at once, by however many processes: together they
   * never take more than was paid. From then on the payment counts as delivered: its buyer does not
   * get both.
   */
  async reserveRefund(entry: RefundEntry): Promise<RefundReservation> {
    const candidate = { entry, record_id: recordId(entry), lock_owner: this.#locks.newName() }
    return untilReserved(() => this.#reservations.add(candidate))
  }

  /** Lists the refunds of payments, oldest first, without the bytes of their transactions. */
  refundsOf(payments: readonly string[]): Promise<readonly RefundRecord[]> {
    if (payments.length === 0) return Promise.resolve([])
    return this.#store.run(async (database) => {
      const rows = await selectRecords(database)
        .where('refund_of', 'in', storedIds(payments))
        .orderBy('created_at')
        .orderBy('id')
        .execute()
      return rows.flatMap((row) => this.#records.recordOf(row) ?? []).filter(isRefundRecord)
    })
  }

  /** Notes who asks for a refund that the caller has reserved, and why; nothing if neither is to be told. */
  async noteRequest(id: string, { reason, requestedBy }: RefundRequest): Promise<void> {
    const asked = { reason: reason ?? null, requested_by: requestedBy ?? null }
    const refund = idBytes(id)
    await this.#store.run<unknown>(({ db }) =>
      reason === undefined && requestedBy === undefined
        ? // The request before was another one's.
          db.deleteFrom('x402_refund_requests').where('refund', '=', refund).execute()
        : db
            .insertInto('x402_refund_requests')
            .values({ refund, ...asked })
            // The request before was released, or has failed: nothing was sent for it, or this is it again.
            .onConflict((conflict) => conflict.column('refund').doUpdateSet(asked))
            .execute(),
    )
  }

  /** As {@link readRequests}. */
  requestsOf(refunds: readonly string[]): Promise<ReadonlyMap<string, RefundRequest>> {
    return this.#store.run((database) => readRequests(database, refunds))
  }

  /** As {@link readRefunded}. */
  refundedOf(payments: readonly string[]): Promise<ReadonlyMap<string, bigint>> {
    return this.#store.run((database) => readRefunded(database, payments))
  }

  /** @returns For each: its result; `undefined` if the existing record has just gone. */
  async #reserveAll(
    database: SqlDatabase,
    all: readonly RefundCandidate[],
  ): Promise<readonly (RefundReservation | undefined)[]> {
    const firsts = firstsOf(all, this.#locks)
    const { reserved, refused } = await database.db
      .transaction()
      .execute((db) => this.#tryReserve({ ...database, db }, [...firsts.values()]))
    const isReserved = (one: RefundCandidate): boolean =>
      firsts.get(one.record_id) === one && reserved.has(one.record_id)
    for (const one of all) if (isReserved(one)) this.#locks.add(one.record_id, one.lock_owner)
    const known = all.filter((one) => !isReserved(one) && !refused.has(one.record_id))
    const ids = known.map((one) => one.record_id)
    const rows = ids.length > 0 ? await this.#records.rowsById(database, ids) : undefined
    return all.map((one) => {
      if (isReserved(one)) return { kind: 'reserved' }
      const record = this.#records.recordOf(rows?.get(one.record_id))
      return record ? { kind: 'known', record } : refused.get(one.record_id)
    })
  }

  /** Reserves those that their payments cover, in a transaction. */
  async #tryReserve(database: SqlDatabase, candidates: readonly RefundCandidate[]): Promise<Tried> {
    const refused = new Map<string, RefundRefusal>()
    const taken: RefundCandidate[] = []
    if (candidates.length === 0) return { reserved: new Set(), refused }
    const payments = await this.#lockPayments(database, [
      ...new Set(candidates.map(({ entry }) => entry.refundOf)),
    ])
    const refunds = await readAmounts(database, [...payments.keys()])
    for (const one of candidates) {
      const { entry, record_id } = one
      const others = [...refunds.filter(({ id }) => id !== record_id), ...taken.map(asReserved)]
      const refusal = checkRefund(entry, {
        ...(payments.get(entry.refundOf) ?? { payment: undefined, nowSeconds: 0n }),
        others: others.filter(({ refundOf }) => refundOf === entry.refundOf),
      })
      if (refusal === undefined) taken.push(one)
      else refused.set(record_id, refusal)
    }
    const { run, db, now } = database
    if (taken.length === 0) {
      // Of a payment whose refunds were all reserved by dead processes, nothing was given back.
      await reopenUnrefunded(database, [...payments.keys()])
      return { reserved: new Set(), refused }
    }
    const reserved = idsOf(await run(RESERVE, reservedRows(taken, this.#locks), db))
    const refunded = taken.filter((one) => reserved.has(one.record_id))
    if (refunded.length > 0)
      await db
        .updateTable('x402_authorizations')
        .set({ delivered: 1, lock_owner: REFUNDED, locked_until: 0, updated_at: now })
        .where('id', 'in', storedIds(new Set(refunded.map(({ entry }) => entry.refundOf))))
        .where('delivered', '=', 0)
        .execute()
    return { reserved, refused }
  }

  /** Locks the rows of payments, in the order of their ids. */
  async #lockPayments(
    database: SqlDatabase,
    ids: readonly string[],
  ): Promise<ReadonlyMap<string, Omit<RefundedPayment, 'others'>>> {
    const select = selectRecords(database).where('id', 'in', storedIds(ids)).orderBy('id')
    const rows = await (database.locksRows ? select.forNoKeyUpdate() : select).execute()
    return new Map(
      rows.map((row: TimedRow) => {
        const nowSeconds = BigInt(Math.floor(Number(row.now) / 1000))
        return [idOf(row.id), { payment: this.#records.recordOf(row), nowSeconds }] as const
      }),
    )
  }
}

function asReserved({ entry }: RefundCandidate): RefundedAmount & Pick<RefundEntry, 'refundOf'> {
  const { value, validBefore, refundOf } = entry
  return { state: 'reserved', value, validBefore, refundOf }
}

/**
 * Reads what refunds take from payments whose rows are locked.
 *
 * Reservations of processes that seem to be dead are deleted first, rather than left out: one that only
 * slept finds that it can send nothing any more.
 */
async function readAmounts({ db, now }: SqlDatabase, payments: readonly string[]) {
  if (payments.length === 0) return []
  await db
    .deleteFrom('x402_authorizations')
    .where('refund_of', 'in', storedIds(payments))
    .where('state', '=', 'reserved')
    .where('lock_owner', 'is not', null)
    .where('locked_until', '<', now)
    .execute()
  const rows = await db
    .selectFrom('x402_authorizations')
    .select(['id', 'state', 'value', 'valid_before', 'refund_of'])
    .where('refund_of', 'in', storedIds(payments))
    .execute()
  return rows.map(({ id, state, value, valid_before, refund_of }) => {
    const amounts = { value: BigInt(value), validBefore: BigInt(valid_before) }
    return { id: idOf(id), state, ...amounts, refundOf: refund_of ? idOf(refund_of) : undefined }
  })
}

const storedIds = (ids: Iterable<string>): readonly Uint8Array[] => [...ids].map(idBytes)
