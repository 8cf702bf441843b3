import { sameHex } from './hex.js'
import { sameNetwork } from './networks.js'
import type { PaymentRequirements } from './payment.js'

/** Compares two entries of `accepts` by what they mean: who gets how much of what, and where. */
export function sameOffer(one: PaymentRequirements, other: PaymentRequirements): boolean {
  return (
    one.scheme === other.scheme &&
    sameNetwork(one.network, other.network) &&
    sameHex(one.asset, other.asset) &&
    sameHex(one.payTo, other.payTo) &&
    one.amount === other.amount
  )
}
