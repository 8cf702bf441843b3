/** The same payment, as its events and its answers tell it. */
import type { LedgerEntry } from '../../ledger/ledger.js'
import type { Network } from '../../protocol/networks.js'
import type { SettleResponse } from '../../protocol/payment.js'
import type { Reason } from '../../protocol/reasons.js'
import type { PaymentEvent } from '../events.js'
import { displayAddress } from './authorization.js'
import type { VerifiedPayment } from './verify/verify.js'

/** What events tell of a payment. */
export function describePayment({
  core,
  requirements,
  terms,
  payer,
}: VerifiedPayment): PaymentEvent {
  const { asset, amount, payTo } = requirements
  return {
    network: core.chain.network.caip2,
    asset,
    amount,
    payTo,
    payer,
    project: terms?.project,
  }
}

/** What events tell of a payment that only the ledger knows. */
export function describeEntry(network: Network, entry: LedgerEntry): PaymentEvent {
  const { asset, value, payTo, from, project } = entry
  return {
    network: network.caip2,
    asset: displayAddress(asset),
    amount: value.toString(),
    payTo: displayAddress(payTo),
    payer: displayAddress(from),
    project,
  }
}

/** The merchant was paid. */
export function settledResponse(payment: VerifiedPayment, transaction: string): SettleResponse {
  const { network } = payment.requirements
  return { success: true, transaction, network, payer: payment.payer }
}

/** The merchant was not paid, or is not known to have been. */
export function failedResponse(
  payment: VerifiedPayment,
  errorReason: Reason,
  transaction = '',
): SettleResponse {
  const { network } = payment.requirements
  return { success: false, errorReason, transaction, network, payer: payment.payer }
}
