import type { ExpressionBuilder, Updateable } from 'kysely'
import { recordId, type AuthorizationKey, type LedgerStore } from '../ledger.js'
import { keyColumns } from './authorization-rows.js'
import type { Locks } from './locks.js'
import type { AuthorizationRow, LedgerDatabase } from './schema.js'
import type { SqlStore } from './sql-store.js'

/** SQLSTATE of two statements that gave the same transfer to two records at the same moment. */
const UNIQUE_VIOLATION = '23505'

/** How a ledger records what the chain has decided: that is so, whoever locks the record. */
export function recordOutcomes(
  { run }: SqlStore,
  locks: Locks,
): Pick<LedgerStore, 'markSettled' | 'markFailed' | 'markSettledLate'> {
  const conclude = (key: AuthorizationKey, to: Updateable<AuthorizationRow>): Promise<boolean> =>
    run(async ({ db, now }) => {
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

  /** Tells whether a transfer has paid for another record. */
  const isSpent = (key: AuthorizationKey, transfer: string | undefined): Promise<boolean> =>
    run(async ({ db }) => {
      if (transfer === undefined) return false
      const other = await db
        .selectFrom('x402_authorizations')
        .select('id')
        .where('transfer', '=', transfer)
        .where('id', '!=', recordId(key))
        .executeTakeFirst()
      return other !== undefined
    })

  return {
    async markSettled(key, transaction, transfer) {
      const paid = { state: 'settled', transaction_hash: transaction } as const
      const isDone = await conclude(key, { ...paid, ...(transfer && { transfer }) })
      return isDone || !(await isSpent(key, transfer))
    },

    async markFailed(key, { transaction, reason }) {
      await conclude(key, { state: 'failed', transaction_hash: transaction, reason })
      locks.drop(key)
    },

    async markSettledLate(key, transaction, transfer) {
      const isDone = await run(async ({ db, now }) => {
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
      return isDone || !(await isSpent(key, transfer))
    },
  }
}

/** Where a transfer has not paid for another record. */
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

/** Nothing was changed, where another statement has just given the transfer to its record. */
function noneWhereSpent(error: unknown): { readonly numUpdatedRows: bigint } {
  if ((error as { code?: unknown }).code === UNIQUE_VIOLATION) return { numUpdatedRows: 0n }
  throw error
}
