/** Reads refund requests and refunded sums for lists and exports. */
import { idBytes, idOf } from '../engine/bytes.js'
import type { SqlDatabase } from '../engine/store.js'
import type { RefundRequest } from '../refunds.js'

/** Reads who asked for refunds, and why, by the ids of those of which something is noted. */
export async function readRequests(
  { db }: SqlDatabase,
  refunds: readonly string[],
): Promise<ReadonlyMap<string, RefundRequest>> {
  if (refunds.length === 0) return new Map()
  const rows = await db
    .selectFrom('x402_refund_requests')
    .selectAll()
    .where('refund', 'in', refunds.map(idBytes))
    .execute()
  return new Map(
    rows.map(({ refund, reason, requested_by: requestedBy }) => [
      idOf(refund),
      { ...(reason !== null && { reason }), ...(requestedBy !== null && { requestedBy }) },
    ]),
  )
}

/** Sums what was refunded of payments, in atomic units, by the ids of those of which something was. */
export async function readRefunded(
  { db }: SqlDatabase,
  payments: readonly string[],
): Promise<ReadonlyMap<string, bigint>> {
  const sums = new Map<string, bigint>()
  if (payments.length === 0) return sums
  const rows = await db
    .selectFrom('x402_authorizations')
    .select(['refund_of', 'value'])
    .where('refund_of', 'in', payments.map(idBytes))
    .where('state', '=', 'settled')
    .execute()
  for (const { refund_of, value } of rows) {
    const id = idOf(refund_of!)
    sums.set(id, (sums.get(id) ?? 0n) + BigInt(value))
  }
  return sums
}
