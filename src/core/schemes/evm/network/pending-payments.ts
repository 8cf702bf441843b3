/** A payment's share of its payer's balance and of our gas, from its reservation to its end. */
import type { PaymentKey } from '../../../../shared/protocol/payment-key.js'
import type { SpentPayment } from './pending-spend.js'
import type { SettlementNetwork } from './settlement-network.js'

/** Ends a request's part in a payment: another request has it, or it could not be reserved. */
export function leavePayment(network: SettlementNetwork, payment: SpentPayment): void {
  network.pendingSpend.drop(payment)
}

/** Ends a payment that nothing will be sent for by the request that had it. */
export function dropPayment(network: SettlementNetwork, payment: SpentPayment): void {
  network.pendingSpend.drop(payment)
  endTransaction(network, payment)
}

export function endPayment(network: SettlementNetwork, payment: SpentPayment): void {
  network.pendingSpend.end(payment)
  endTransaction(network, payment)
}

/** Ends a transaction of a payment, which may be sent again in another one. */
export function endTransaction(network: SettlementNetwork, payment: PaymentKey): void {
  network.payers.end(payment)
  network.deployments.end(payment)
}
