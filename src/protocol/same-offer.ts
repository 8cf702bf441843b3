import { sameHex } from './hex.js'
import { sameNetwork } from './networks.js'
import type { PaymentRequirements } from './payment.js'

/** How much of a client's text is repeated (characters). */
const MAX_SHOWN = 120

/** Compares two entries of `accepts` by meaning: scheme, network, token, payee and amount. */
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
 * Describes how the entry that a payment accepts differs from another one.
 *
 * @param source - Describes the other entry: `the offer of this request`.
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

/** Shortens a text of a client. */
export function shown(text: string): string {
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text
}
