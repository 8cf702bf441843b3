import type { ExpressionBuilder, Updateable } from 'kysely'
import type { Hex } from '../../protocol/payment.js'
import type { Reason } from '../../protocol/reasons.js'
import type { Records } from '../ledger.js'
import { recordId, type AuthorizationKey } from '../record.js'
import { keyColumns } from './authorization-rows.js'
import type { OwnLocks } from './own-locks.js'
import type { AuthorizationRow, LedgerDatabase } from './schema.js'
import type { SqlStore } from './sql-store.js'

/** SQLSTATE of a statement that gave a transfer log to a second record at the same moment. */
const UNIQUE_VIOLATION = '23505'

/** Records what the chain has decided. This needs no lock. */
export class SqlOutcomes implements Pick<
  Records,
  'markSettled' | 'markFailed' | 'markSettledLate'
> {
  readonly #store: SqlStore
  readonly #locks: OwnLocks

  constructor(store: SqlStore, locks: OwnLocks) {
    this.#store = store
    this.#locks = locks
  }

  async markSettled(key: AuthorizationKey, transaction: Hex, transfer?: string): Promise<boolean> {
    const paid = { state: 'settled', transaction_hash: transaction } as const
    const isDone = await this.#conclude(key, { ...paid, ...(transfer && { transfer }) })
    return isDone || !(await this.#isSpent(key, transfer))
  }

  async markFailed(
    key: AuthorizationKey,
    { transaction, reason }: { transaction: Hex; reason: Reason },
  ): Promise<void> {
    await this.#conclude(key, { state: 'failed', transaction_hash: transaction, reason })
    this.#locks.drop(key)
  }

  async markSettledLate(
    key: AuthorizationKey,
    transaction: Hex,
    transfer?: string,
  ): Promise<boolean> {
    const isDone = await this.#store.run(async ({ db, now }) => {
      const changed = {
        transaction_hash: transaction,
        transfer: transfer ?? null,
        updated_at: now,
      }
      const free = { state: 'settled', reason: null, lock_owner: null, locked_until: 0 } as const
      const settled = await db
        .updateTable('x402_authorizations')
        .set(changed)
        .where((where) => where.and({ ...keyColumns(key), state: 'settled' }))
        .where((where) =>
          where.or([
            where('transaction_hash', '!=', transaction),
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
        .set({ ...changed, ...free, paid_late: 1 })
        .where((where) => where.and({ ...keyColumns(key), state: 'failed' }))
        .where((where) => isUnspent(where, key, transfer))
        .executeTakeFirst()
        .catch(noneWhereSpent)
      return settled.numUpdatedRows + failed.numUpdatedRows > 0n
    })
    return isDone || !(await this.#isSpent(key, transfer))
  }

  /** Makes an open record final. @returns Whether it was open, and the transfer log unspent. */
  #conclude(key: AuthorizationKey, to: Updateable<AuthorizationRow>): Promise<boolean> {
    return this.#store.run(async ({ db, now }) => {
      const { numUpdatedRows } = await db
        .updateTable('x402_authorizations')
        .set({ ...to, updated_at: now })
        .where((where) => where.and(keyColumns(key)))
        .where('state', 'in', ['reserved', 'submitted'])
        .where((where) => isUnspent(where, key, to.transfer))
        .executeTakeFirst()
        .catch(noneWhereSpent)
      return numUpdatedRows > 0n
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
        .where('id', '!=', recordId(key))
        .executeTakeFirst()
      return other !== undefined
    })
  }
}

/** The condition that a transfer log has not paid for another record. */
function isUnspent(
  where: ExpressionBuilder<LedgerDatabase, 'x402_authorizations'>,
  key: AuthorizationKey,
  transfer: string | null | undefined,
) {
  if (typeof transfer !== 'string') return where.lit(true)
  return where.not(
    where.exists(
      where
        .selectFrom('x402_authorizations as other')
        .select('other.id')
        .where('other.transfer', '=', transfer)
        .where('other.id', '!=', recordId(key)),
    ),
  )
}

/** Changes nothing when another statement has just given the transfer log to its record. */
function noneWhereSpent(error: unknown): { readonly numUpdatedRows: bigint } {
  if ((error as { code?: unknown }).code === UNIQUE_VIOLATION) return { numUpdatedRows: 0n }
  throw error
}
