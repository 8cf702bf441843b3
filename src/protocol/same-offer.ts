import { sameHex } from './hex.js'
import { sameNetwork } from './networks.js'
import type { PaymentRequirements } from './payment.js'

/** Longest part of what a client sent that is repeated to it. */
const MAX_SHOWN = 120

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

/**
 * Says what differs between the entry that a payment accepts and another one.
 *
 * @param source - What the other entry is: `the offer of this request`.
 */
export function describeDifference(
  accepted: PaymentRequirements,
  other: PaymentRequirements,
  source: string,
): string {
  const differences = (['scheme', 'network', 'asset', 'payTo', 'amount'] as const)
    .filter((name) => !sameOffer({ ...other, [name]: accepted[name] }, other))
    .map((name) => `${name} is ${shown(accepted[name])}, and ${shown(other[name])} in ${source}`)
  return `In what the payment accepts, ${differences.join('; ')}.`
}

/** A text of a client, no longer than what is repeated of it. */
export function shown(text: string): string {
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text
}
