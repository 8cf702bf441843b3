import type { Expression, ExpressionBuilder, Kysely, SqlBool } from 'kysely'
import type { LedgerDatabase } from '../schema/tables.js'
import type { SqlDatabase } from './store.js'

type Where = ExpressionBuilder<LedgerDatabase, 'x402_authorizations'>

/**
 * Returns the condition of a change of several rows, such that they are locked in the order of their
 * ids. Two changes that locked the same rows in different orders would deadlock, which PostgreSQL
 * notices after a second.
 */
export function rowsInOrder(
  { locksRows }: SqlDatabase,
  db: Kysely<LedgerDatabase>,
  condition: (where: Where) => Expression<SqlBool>,
): (where: Where) => Expression<SqlBool> {
  if (!locksRows) return condition
  const rows = db.selectFrom('x402_authorizations').select('id').where(condition)
  return (where) => where('id', 'in', rows.orderBy('id').forUpdate())
}
