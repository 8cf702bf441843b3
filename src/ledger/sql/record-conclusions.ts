import type { Updateable } from 'kysely'
import type { AuthorizationKey, Ledger } from '../ledger.js'
import { keyColumns } from './authorization-rows.js'
import type { Holds } from './holds.js'
import type { AuthorizationRow } from './schema.js'
import type { SqlStore } from './sql-store.js'

/** How a ledger records what the chain has decided: that is so, whoever holds the record. */
export function recordConclusions(
  { run }: SqlStore,
  holds: Holds,
): Pick<Ledger, 'settle' | 'fail' | 'correct'> {
  const conclude = (key: AuthorizationKey, to: Updateable<AuthorizationRow>): Promise<void> =>
    run(async ({ db, now }) => {
      await db
        .updateTable('x402_authorizations')
        .set({ ...to, updated_at: now })
        .where((where) => where.and(keyColumns(key)))
        .where('state', 'in', ['reserved', 'submitted'])
        .execute()
    })

  return {
    settle: (key, transaction) =>
      conclude(key, { state: 'settled', transaction_hash: transaction }),

    async fail(key, { transaction, reason }) {
      await conclude(key, { state: 'failed', transaction_hash: transaction, reason })
      holds.drop(key)
    },

    correct: (key, transaction) =>
      run(async ({ db, now }) => {
        const changed = { transaction_hash: transaction, updated_at: now }
        const free = { state: 'settled', reason: null, hold: null, held_until: 0 } as const
        await db
          .updateTable('x402_authorizations')
          .set(changed)
          .where((where) => where.and({ ...keyColumns(key), state: 'settled' }))
          .where('transaction_hash', '!=', transaction)
          .execute()
        await db
          .updateTable('x402_authorizations')
          .set({ ...changed, ...free })
          .where((where) => where.and({ ...keyColumns(key), state: 'failed' }))
          .execute()
      }),
  }
}
