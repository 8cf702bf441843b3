/** Opens payments that counted as delivered, unless something of them is refunded: nobody gets both. */
import type { ExpressionBuilder } from 'kysely'
import { idBytes, idOf } from '../engine/bytes.js'
import type { LedgerDatabase } from '../schema/tables.js'
import type { SqlDatabase } from '../engine/store.js'

/**
 * The owner of a payment that counts as delivered because it is refunded: no lock has this name. Once nothing
 * of it is refunded after all, it is open again.
 */
export const REFUNDED = 'refund'

/**
 * Forgets the reservation of a refund for which nothing was sent. Its payment is as it was before.
 *
 * @returns Whether it was reserved under that lock.
 */
export async function releaseRefund(
  database: SqlDatabase,
  { record_id, lock_owner }: { readonly record_id: string; readonly lock_owner: string },
): Promise<boolean> {
  const id = idBytes(record_id)
  return database.db.transaction().execute(async (db) => {
    const own = db
      .selectFrom('x402_authorizations')
      .select('refund_of')
      .where((where) => where.and({ id, lock_owner, state: 'reserved', kind: 'refund' }))
    const payment = (await own.executeTakeFirst())?.refund_of
    if (!payment) return false
    // The payment's row first, as where refunds are reserved: two orders would deadlock.
    await lockRow({ ...database, db }, payment)
    const released = await db
      .deleteFrom('x402_authorizations')
      .where((where) => where.and({ id, lock_owner, state: 'reserved' }))
      .executeTakeFirst()
    await reopenUnrefunded({ ...database, db }, [idOf(payment)])
    return released.numDeletedRows > 0n
  })
}

/** Opens payments again that only counted as delivered because of refunds that are gone. */
export async function reopenUnrefunded(
  { db, now }: SqlDatabase,
  payments: readonly string[],
): Promise<void> {
  if (payments.length === 0) return
  await db
    .updateTable('x402_authorizations')
    .set({ delivered: 0, lock_owner: null, updated_at: now })
    .where('id', 'in', payments.map(idBytes))
    .where((where) => where.and({ delivered: 1, lock_owner: REFUNDED }))
    .where(isUnrefunded)
    .execute()
}

/**
 * Opens a payment again that was marked as delivered under a lock, though nothing went out. One that has a
 * refund stays as it is.
 */
export async function reopen(
  database: SqlDatabase,
  { record_id, lock_owner }: { readonly record_id: string; readonly lock_owner: string },
): Promise<void> {
  const id = idBytes(record_id)
  await database.db.transaction().execute(async (db) => {
    // Waits for a refund that is being reserved: an update alone would not see it.
    await lockRow({ ...database, db }, id)
    await db
      .updateTable('x402_authorizations')
      .set({ delivered: 0, lock_owner: null, locked_until: 0, updated_at: database.now })
      .where((where) => where.and({ id, lock_owner }))
      .where(isUnrefunded)
      .execute()
  })
}

/** Locks a record's row until the transaction ends, where several may be changed at once. */
async function lockRow({ db, locksRows }: SqlDatabase, id: Uint8Array): Promise<void> {
  const row = db.selectFrom('x402_authorizations').select('id').where('id', '=', id)
  if (locksRows) await row.forNoKeyUpdate().execute()
}

function isUnrefunded(where: ExpressionBuilder<LedgerDatabase, 'x402_authorizations'>) {
  return where.not(
    where.exists(
      where
        .selectFrom('x402_authorizations as refund')
        .select('refund.id')
        .whereRef('refund.refund_of', '=', 'x402_authorizations.id'),
    ),
  )
}
