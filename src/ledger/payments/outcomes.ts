import type { ExpressionBuilder } from 'kysely'
import { bytesOf } from '../../protocol/hex.js'
import type { Hex } from '../../protocol/payment.js'
import type { Reason } from '../../protocol/reasons.js'
import { recordId, type AuthorizationKey } from '../record.js'
import { idBytes, digitsOf } from '../engine/bytes.js'
import type { OwnLocks } from './own-locks.js'
import type { LedgerDatabase } from '../schema/schema.js'
import { idsOf, inOrder, UNSPENT, updateEach, type Statement } from '../engine/dialect.js'
import type { SqlDatabase, SqlStore } from '../engine/store.js'
import { StatementGroup } from '../engine/statement-group.js'

/** SQLSTATE of a statement that gave a transfer log to a second record at the same moment. */
const UNIQUE_VIOLATION = '23505'

/**
 * A failed payment is unlocked: it may be sent again. What was known of an earlier failure then comes too late. A
 * failed payment that is locked is about to be sent again, and may turn out to be paid.
 */
const CONCLUDE: Statement = (dialect) =>
  updateEach({
    columns: { state: 'text', transaction_hash: 'bytes', transfer: 'text', reason: 'text' },
    set: `state = w.state, transaction_hash = w.transaction_hash,
    transfer = coalesce(w.transfer, a.transfer), reason = w.reason,
    lock_owner = CASE w.state WHEN 'failed' THEN NULL ELSE a.lock_owner END,
    locked_until = CASE w.state WHEN 'failed' THEN 0 ELSE a.locked_until END`,
    where: `(a.state IN ('reserved', 'submitted')
        OR a.state = 'failed' AND w.state = 'settled' AND a.lock_owner IS NOT NULL)
      AND (w.state = 'settled' OR a.failed IS NULL
        OR a.failed NOT LIKE '%' || ${dialect.toDigits('w.transaction_hash')} || '%') AND ${UNSPENT}`,
  })(dialect)

/** What the chain has decided of a record. */
interface Conclusion {
  readonly record_id: string
  readonly state: 'settled' | 'failed'
  readonly transaction_hash: string
  readonly transfer?: string | undefined
  readonly reason?: Reason
}

/** Records what the chain has decided. This needs no lock. */
export class Outcomes {
  readonly #store: SqlStore
  readonly #locks: OwnLocks
  readonly #conclusions: StatementGroup<Conclusion, boolean>

  constructor(store: SqlStore, locks: OwnLocks) {
    this.#store = store
    this.#locks = locks
    this.#conclusions = new StatementGroup(store, conclude)
  }

  /**
   * Records that a transaction has paid the merchant.
   *
   * @param transfer - Names the transfer log that paid, if known. A log pays for one record.
   * @returns `false` if that log has paid for another record. Nothing is changed then.
   */
  async markSettled(key: AuthorizationKey, transaction: Hex, transfer?: string): Promise<boolean> {
    const record_id = recordId(key)
    const transaction_hash = digitsOf(transaction)
    const paid = { record_id, state: 'settled', transaction_hash, transfer } as const
    const isDone = await this.#conclusions.add(paid)
    return isDone || !(await this.#isSpent(key, transfer))
  }

  /** Records that the transaction was mined without paying the merchant. */
  async markFailed(
    key: AuthorizationKey,
    { transaction, reason }: { transaction: Hex; reason: Reason },
  ): Promise<void> {
    const record_id = recordId(key)
    const transaction_hash = digitsOf(transaction)
    const failed = { record_id, state: 'failed', transaction_hash, reason } as const
    const lock = this.#locks.of(record_id)
    const isDone = await this.#conclusions.add(failed)
    if (lock === undefined) return
    // Otherwise it was concluded before, and may have been locked since, to be sent again.
    if (isDone || !(await this.#hasLock(record_id, lock))) this.#locks.drop(record_id, lock)
  }

  /**
   * Records the transaction that has paid for a final record. A failed record becomes settled; a request that
   * has it locked, to send it again, keeps the lock and delivers it. A settled one names another transaction,
   * after a reorganisation.
   *
   * @param transfer - As for {@link Records.markSettled}; omitted while the transaction is not mined.
   * @returns `false` if that log has paid for another record. Nothing is changed then.
   */
  async markSettledLate(
    key: AuthorizationKey,
    transaction: Hex,
    transfer?: string,
  ): Promise<boolean> {
    const isDone = await this.#store.run(async ({ db, now }) => {
      const id = idBytes(recordId(key))
      const transaction_hash = bytesOf(transaction)
      const changed = { transaction_hash, transfer: transfer ?? null, updated_at: now }
      const paid = { state: 'settled', reason: null, paid_late: 1 } as const
      const settled = await db
        .updateTable('x402_authorizations')
        .set(changed)
        .where((where) => where.and({ id, state: 'settled' }))
        .where((where) =>
          where.or([
            where('transaction_hash', '!=', transaction_hash),
            ...(transfer === undefined
              ? []
              : [where('transfer', 'is', null), where('transfer', '!=', transfer)]),
          ]),
        )
        .where((where) => isUnspent(where, key, transfer))
        .executeTakeFirst()
        .catch(noneWhereSpent)
      const failed = await db
        .updateTable('x402_authorizations')
        .set({ ...changed, ...paid })
        .where((where) => where.and({ id, state: 'failed' }))
        .where((where) => isUnspent(where, key, transfer))
        .executeTakeFirst()
        .catch(noneWhereSpent)
      return settled.numUpdatedRows + failed.numUpdatedRows > 0n
    })
    return isDone || !(await this.#isSpent(key, transfer))
  }

  #hasLock(record_id: string, lock_owner: string): Promise<boolean> {
    return this.#store.run(async ({ db }) => {
      const locked = await db
        .selectFrom('x402_authorizations')
        .select('id')
        .where((where) => where.and({ id: idBytes(record_id), lock_owner }))
        .executeTakeFirst()
      return locked !== undefined
    })
  }

  /** Tells whether a transfer log has paid for another record. */
  #isSpent(key: AuthorizationKey, transfer: string | undefined): Promise<boolean> {
    return this.#store.run(async ({ db }) => {
      if (transfer === undefined) return false
      const other = await db
        .selectFrom('x402_authorizations')
        .select('id')
        .where('transfer', '=', transfer)
        .where('id', '!=', idBytes(recordId(key)))
        .executeTakeFirst()
      return other !== undefined
    })
  }
}

/** Makes open records final. @returns For each: whether it was open, and its transfer log unspent. */
async function conclude(
  { run }: SqlDatabase,
  all: readonly Conclusion[],
): Promise<readonly boolean[]> {
  const firsts = new Map(all.toReversed().map((one) => [one.record_id, one]))
  const rows = await run(CONCLUDE, [JSON.stringify(inOrder([...firsts.values()]))]).catch(
    (error: unknown) => {
      if (all.length > 1 || !isUniqueViolation(error)) throw error
      return []
    },
  )
  const concluded = idsOf(rows)
  return all.map((one) => firsts.get(one.record_id) === one && concluded.has(one.record_id))
}

/** The condition that a transfer log has not paid for another record. */
function isUnspent(
  where: ExpressionBuilder<LedgerDatabase, 'x402_authorizations'>,
  key: AuthorizationKey,
  transfer: string | undefined,
) {
  if (transfer === undefined) return where.lit(true)
  return where.not(
    where.exists(
      where
        .selectFrom('x402_authorizations as other')
        .select('other.id')
        .where('other.transfer', '=', transfer)
        .where('other.id', '!=', idBytes(recordId(key))),
    ),
  )
}

/** Changes nothing when another statement has just given the transfer log to its record. */
function noneWhereSpent(error: unknown): { readonly numUpdatedRows: bigint } {
  if (isUniqueViolation(error)) return { numUpdatedRows: 0n }
  throw error
}

function isUniqueViolation(error: unknown): boolean {
  return (error as { code?: unknown }).code === UNIQUE_VIOLATION
}
