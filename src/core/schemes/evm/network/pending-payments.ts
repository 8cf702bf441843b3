/** A payment's share of its payer's balance and of our gas, from its reservation to its end. */
import type { PaymentKey } from '../../../../shared/protocol/payment-key.js'
import type { SpentPayment } from './pending-spend.js'
import type { SettlementNetwork } from './settlement-network.js'

/** Ends a request's part in a payment: another request has it, or it could not be reserved. */
export function leavePayment(core: SettlementNetwork, payment: SpentPayment): void {
  core.pendingSpend.drop(payment)
}

/** Ends a payment that nothing will be sent for by the request that had it. */
export function dropPayment(core: SettlementNetwork, payment: SpentPayment): void {
  core.pendingSpend.drop(payment)
  endTransaction(core, payment)
}

/** Ends a payment that the chain has decided about. */
export function endPayment(core: SettlementNetwork, payment: SpentPayment): void {
  core.pendingSpend.end(payment)
  endTransaction(core, payment)
}

/** Ends a transaction of a payment, which may be sent again in another one. */
export function endTransaction(core: SettlementNetwork, payment: PaymentKey): void {
  core.payers.end(payment)
  core.deployments.end(payment)
}
