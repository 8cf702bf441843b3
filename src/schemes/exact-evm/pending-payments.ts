import type { AuthorizationKey } from '../../ledger/ledger.js'
import type { Reason } from '../../protocol/reasons.js'
import type { VerifiedPayment } from './verify/verify.js'
import type { SettlementNetwork } from './settlement-network.js'

/**
 * Counts what a payment that is about to be reserved takes of its payer's balance.
 *
 * What it could cost us is counted when it is sent: until then it can be reserved for as long as a
 * stranger likes, and would stand in the way of others.
 *
 * @returns Why it is refused beside all that its payer has pending; then it is not counted.
 * @throws {@link ChainError}
 */
export async function takePayment(payment: VerifiedPayment): Promise<Reason | undefined> {
  return (await payment.core.pendingSpend.take(payment)) ? undefined : 'insufficient_funds'
}

/** One request does without a payment; another has it, or it could not be reserved. */
export function leavePayment(core: SettlementNetwork, key: AuthorizationKey): void {
  core.pendingSpend.drop(key)
}

/** Nothing will be sent for a payment by the request that had it. */
export function dropPayment(core: SettlementNetwork, key: AuthorizationKey): void {
  core.pendingSpend.drop(key)
  core.payers.end(key)
}

/** The chain has decided about a payment. */
export function endPayment(core: SettlementNetwork, key: AuthorizationKey): void {
  core.pendingSpend.end(key)
  core.payers.end(key)
}
