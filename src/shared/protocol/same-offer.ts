import { sameHex } from './hex.js'
import { sameNetwork } from './networks.js'
import type { PaymentRequirements } from './payment.js'

/** How much of a client's text is repeated (characters). */
const MAX_SHOWN = 120

/** How the token is moved, where `extra` does not say it. */
const USUAL_METHOD = 'eip3009'

export function sameMethod(one: Offered, other: Offered): boolean {
  return methodOf(one) === methodOf(other)
}

type Offered = Pick<PaymentRequirements, 'extra'>

/** How an entry of `accepts` has its token moved: `eip3009` or `permit2`. */
export function methodOf({ extra }: Offered): string {
  const method = extra?.['assetTransferMethod']
  return typeof method === 'string' ? method : USUAL_METHOD
}

export function isPermit2(entry: Offered): boolean {
  return methodOf(entry) === 'permit2'
}

/** Compares two entries of `accepts` by meaning: scheme, network, token, its method, payee and amount. */
export function sameOffer(one: PaymentRequirements, other: PaymentRequirements): boolean {
  return (
    one.scheme === other.scheme &&
    sameNetwork(one.network, other.network) &&
    sameHex(one.asset, other.asset) &&
    sameHex(one.payTo, other.payTo) &&
    sameMethod(one, other) &&
    one.amount === other.amount
  )
}

const MEMBERS = [
  'scheme',
  'network',
  'asset',
  'extra.assetTransferMethod',
  'payTo',
  'amount',
] as const

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
  const values = (entry: PaymentRequirements) => ({
    ...entry,
    'extra.assetTransferMethod': methodOf(entry),
  })
  const [own, theirs] = [values(accepted), values(other)]
  const differences = MEMBERS.filter((name) =>
    name === 'extra.assetTransferMethod'
      ? own[name] !== theirs[name]
      : !sameOffer({ ...other, [name]: accepted[name] }, other),
  ).map((name) => `${name} is ${shown(own[name])}, and ${shown(theirs[name])} in ${source}`)
  return `In what the payment accepts, ${differences.join('; ')}.`
}

export function shown(text: string): string {
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text
}
