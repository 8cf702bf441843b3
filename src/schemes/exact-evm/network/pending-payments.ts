/** A payment's share of its payer's balance and of our gas, from its reservation to its end. */
import type { PaymentKey } from '../../../ledger/index.js'
import type { SettlementNetwork } from './settlement-network.js'

/** Ends a request's part in a payment: another request has it, or it could not be reserved. */
export function leavePayment(core: SettlementNetwork, key: PaymentKey): void {
  core.pendingSpend.drop(key)
}

/** Ends a payment that nothing will be sent for by the request that had it. */
export function dropPayment(core: SettlementNetwork, key: PaymentKey): void {
  core.pendingSpend.drop(key)
  core.payers.end(key)
}

/** Ends a payment that the chain has decided about. */
export function endPayment(core: SettlementNetwork, key: PaymentKey): void {
  core.pendingSpend.end(key)
  core.payers.end(key)
}
