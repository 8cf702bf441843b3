import type { AuthorizationKey } from '../../ledger/ledger.js'
import type { Reason } from '../../protocol/reasons.js'
import type { ExaminedPayment } from './examine.js'
import type { NetworkCore } from './network-core.js'

/**
 * Counts a payment that is about to be reserved: what it takes of its payer's balance, and what it
 * could cost us.
 *
 * @returns Why it is refused beside all that is pending; then it is not counted.
 * @throws {@link ChainError}
 */
export async function takePayment(payment: ExaminedPayment): Promise<Reason | undefined> {
  const { core, key, checked } = payment
  if (!(await core.pendingSpend.take(payment))) return 'insufficient_funds'
  if (checked === undefined || core.payers.take(key, checked)) return undefined
  core.pendingSpend.drop(key)
  return 'payer_temporarily_refused'
}

/** Nothing will be sent for a payment, or another request has it. */
export function dropPayment(core: NetworkCore, key: AuthorizationKey): void {
  core.pendingSpend.drop(key)
  core.payers.drop(key)
}

/** The chain has decided about a payment. */
export function endPayment(core: NetworkCore, key: AuthorizationKey): void {
  core.pendingSpend.end(key)
  core.payers.drop(key)
}
