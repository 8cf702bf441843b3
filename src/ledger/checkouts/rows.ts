/** Converts checkouts to rows and back. */
import type { Kysely } from 'kysely'
import { idOf } from '../engine/bytes.js'
import type { SqlDatabase } from '../engine/store.js'
import type { Checkout, CheckoutStatus } from '../checkouts.js'
import type { LedgerDatabase, Row } from '../schema/tables.js'

/** A checkout, with what its payment depends on and the database's time. */
export type CheckoutRow = Row<'x402_checkouts'> & {
  readonly payment_state: Row<'x402_authorizations'>['state'] | null
  readonly payment_lock: string | null
  readonly payment_locked_until: number | string | null
  readonly payment_valid_before: string | null
  readonly payment_at: number | string | null
  readonly now: number | string
}

/** Selects {@link CheckoutRow}s. A payment counts only while it is reserved for the checkout that it took. */
export function selectCheckouts({ now }: SqlDatabase, db: Kysely<LedgerDatabase>) {
  return db
    .selectFrom('x402_checkouts as c')
    .leftJoin('x402_authorizations as a', (join) =>
      join
        .onRef('a.id', '=', 'c.payment')
        .onRef('a.resource', 'is not distinct from', 'c.purchase'),
    )
    .selectAll('c')
    .select([
      'a.state as payment_state',
      'a.lock_owner as payment_lock',
      'a.locked_until as payment_locked_until',
      'a.valid_before as payment_valid_before',
      'a.updated_at as payment_at',
      now.as('now'),
    ])
}

/** How far the clocks of chain and database may differ (ms). */
export const LAPSED_MS = 120_000

/**
 * Whether the payment of a checkout may still be settled. A reservation that was released is gone, and one of a
 * dead process sends nothing. A payment that failed counts from when it is locked to be sent again.
 */
export function isUnderWay(row: CheckoutRow): boolean {
  const now = Number(row.now)
  const isLocked = row.payment_lock !== null && Number(row.payment_locked_until) >= now
  switch (row.payment_state) {
    case 'submitted':
      return true
    case 'reserved':
      // Unlocked, its authorization was found used, and it is not known by which transaction.
      return row.payment_lock === null
        ? Number(row.payment_valid_before) * 1000 >= now - LAPSED_MS
        : isLocked
    case 'failed':
      return isLocked
    case 'settled':
    case null:
      return false
  }
}

export function statusOf(row: CheckoutRow): CheckoutStatus {
  if (row.state === 'paid' || row.payment_state === 'settled') return 'paid'
  if (row.state !== 'open' || isUnderWay(row)) return row.state
  return Number(row.expires_at) <= Number(row.now) ? 'expired' : 'open'
}

export function checkoutOf(row: CheckoutRow): Checkout {
  const { id, project, url, amount, currency, reference, description, payment } = row
  const status = statusOf(row)
  const hasPayment = payment !== null && (status === 'paid' || isUnderWay(row))
  return {
    id,
    project,
    url,
    amount,
    currency,
    reference: reference ?? undefined,
    description: description ?? undefined,
    successUrl: row.success_url ?? undefined,
    cancelUrl: row.cancel_url ?? undefined,
    status,
    settlement: hasPayment ? idOf(payment) : undefined,
    paidAt: status === 'paid' ? Number(row.paid_at ?? row.payment_at) : undefined,
    expiresAt: Number(row.expires_at),
    createdAt: Number(row.created_at),
  }
}
