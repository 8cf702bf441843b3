import { bytesOf } from '../../shared/protocol/hex.js'
import type { Hex } from '../../shared/protocol/payment.js'
import type { Reason } from '../../shared/protocol/reasons.js'
import { recordId, type PaymentKey } from '../record.js'
import { idBytes, digitsOf } from '../engine/bytes.js'
import type { OwnLocks } from './own-locks.js'
import { idsOf, rowsParameter } from '../engine/statement.js'
import { CONCLUDE } from './statements.js'
import type { SqlDatabase, SqlStore } from '../engine/store.js'
import { StatementGroup } from '../engine/statement-group.js'

/** SQLSTATE of a statement that gave a transfer log to a second record at the same moment. */
const UNIQUE_VIOLATION = '23505'

/** The outcome of a record's transaction on the chain. */
interface Conclusion {
  readonly record_id: string
  readonly state: 'settled' | 'failed'
  readonly transaction_hash: string
  readonly transfer?: string | undefined
  readonly reason?: Reason
}

/** Records the outcomes of transactions on the chain. This needs no lock. */
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
  async markSettled(key: PaymentKey, transaction: Hex, transfer?: string): Promise<boolean> {
    const record_id = recordId(key)
    const transaction_hash = digitsOf(transaction)
    const paid = { record_id, state: 'settled', transaction_hash, transfer } as const
    const isDone = await this.#conclusions.add(paid)
    return isDone || !(await this.#isSpent(key, transfer))
  }

  /** Records that the transaction was mined without paying the merchant. */
  async markFailed(
    key: PaymentKey,
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
   * after a reorganisation; one that nothing was charged for stays.
   *
   * @param transfer - As for {@link Records.markSettled}; omitted while the transaction is not mined.
   * @returns `false` if that log has paid for another record. Nothing is changed then.
   */
  async markSettledLate(key: PaymentKey, transaction: Hex, transfer?: string): Promise<boolean> {
    const id = idBytes(recordId(key))
    const hash = bytesOf(transaction)
    const paid = transfer ?? null
    const isDone = await this.#store.run(async ({ db, sql, now }) => {
      const change = sql`
        UPDATE x402_authorizations SET state = 'settled', reason = NULL, transaction_hash = ${hash},
          transfer = ${paid}, paid_late = CASE state WHEN 'failed' THEN 1 ELSE paid_late END, updated_at = ${now}
        WHERE id = ${id}
          AND (state = 'failed' OR state = 'settled' AND (transaction_hash <> ${hash}
            OR transaction_hash IS NOT NULL AND CAST(${paid} AS TEXT) IS NOT NULL
              AND coalesce(transfer, '') <> ${paid}))
          AND NOT EXISTS (
            SELECT 1 FROM x402_authorizations AS other WHERE other.transfer = ${paid} AND other.id <> ${id})`
      const { numAffectedRows } = await change.execute(db).catch(noneWhereSpent)
      return numAffectedRows === 1n
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
  #isSpent(key: PaymentKey, transfer: string | undefined): Promise<boolean> {
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
  const rows = await run(CONCLUDE, [rowsParameter([...firsts.values()])]).catch(
    (error: unknown) => {
      if (all.length > 1 || !isUniqueViolation(error)) throw error
      return []
    },
  )
  const concluded = idsOf(rows)
  return all.map((one) => firsts.get(one.record_id) === one && concluded.has(one.record_id))
}

/** Changes nothing when another statement has just given the transfer log to its record. */
function noneWhereSpent(error: unknown): { readonly numAffectedRows: bigint } {
  if (isUniqueViolation(error)) return { numAffectedRows: 0n }
  throw error
}

function isUniqueViolation(error: unknown): boolean {
  return (error as { code?: unknown }).code === UNIQUE_VIOLATION
}
