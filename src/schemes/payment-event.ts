/** A payment as its events describe it. */
import { checksumAddress } from '../crypto/checksum-address.js'
import type { LedgerEntry } from '../ledger/ledger.js'
import type { Payment } from '../protocol/decoded-payment.js'
import type { Network } from '../protocol/networks.js'
import type { PaymentEvent } from './events.js'
import type { MerchantTerms } from './scheme.js'

/** Describes a payment that was presented. */
export function paymentEvent({
  payment: { requirements, network },
  terms,
  payer,
}: {
  readonly payment: Payment
  readonly terms?: MerchantTerms | undefined
  readonly payer: string | undefined
}): PaymentEvent {
  const { asset, amount, payTo } = requirements
  const project = terms?.project
  return { network: network?.caip2 ?? requirements.network, asset, amount, payTo, payer, project }
}

/** Describes a payment that only the ledger knows. */
export function entryEvent(network: Network, entry: LedgerEntry): PaymentEvent {
  const { asset, value, payTo, from, project } = entry
  return {
    network: network.caip2,
    asset: checksumAddress(asset),
    amount: value.toString(),
    payTo: checksumAddress(payTo),
    payer: checksumAddress(from),
    project,
  }
}
