import { findKnownAsset, type Asset } from '../../money/assets.js'
import { compare, formatDecimal, trimDecimal, type Decimal } from '../../money/decimal.js'
import { findNetwork } from '../../protocol/networks.js'
import {
  EXACT,
  parsePaymentRequirements,
  type PaymentRequirements,
} from '../../protocol/payment.js'
import { visible } from '../../protocol/visible-text.js'

/** What a buyer is willing to do. */
export interface Limits {
  /** Most that is paid, in the currency. */
  readonly maxAmount: { readonly amount: Decimal; readonly currency: string }
  /** Whether real money may be spent. */
  readonly mayPayMainnet: boolean
  /** Whether the key is known to everybody. */
  readonly isPublicKey: boolean
}

/** An offer that can be paid. */
export interface PayableOffer {
  /** As it was offered: sent back unchanged. */
  readonly requirements: PaymentRequirements
  readonly asset: Asset
  readonly amount: Decimal
}

/** The first offer within the limits, or why there is none. */
export type Choice =
  | { readonly kind: 'chosen'; readonly offer: PayableOffer }
  | { readonly kind: 'none'; readonly reasons: readonly string[] }

/** Chooses the first offer that is within the limits. */
export function chooseOffer(accepts: readonly unknown[], limits: Limits): Choice {
  const reasons: string[] = []
  for (const entry of accepts) {
    const judged = judge(entry, limits)
    if (typeof judged === 'object') return { kind: 'chosen', offer: judged }
    reasons.push(judged)
  }
  return { kind: 'none', reasons }
}

/** The offer, or why it is not taken. */
function judge(entry: unknown, limits: Limits): PayableOffer | string {
  const parsed = parsePaymentRequirements(entry)
  if (!parsed.ok)
    return `an offer is malformed (${parsed.errors[0]?.path}: ${parsed.errors[0]?.message})`
  const requirements = parsed.value
  const network = findNetwork(requirements.network)
  const asset = network && findKnownAsset(network, requirements.asset)
  const what = describeOffer(requirements, asset)
  if (requirements.scheme !== EXACT)
    return `${what}: the scheme '${visible(requirements.scheme)}' is not known here`
  if (network === undefined) return `${what}: the network is not known here`
  if (!network.testnet && limits.isPublicKey)
    return `${what}: ${network.name} is real money, and the keys of the devnet are known to everybody`
  if (!network.testnet && !limits.mayPayMainnet)
    return `${what}: ${network.name} is real money; --yes allows it`
  if (asset === undefined) return `${what}: the token is not known here, and neither is its worth`
  const { name, version } = (requirements.extra ?? {}) as Record<string, unknown>
  if (name !== asset.eip712.name || version !== asset.eip712.version)
    return `${what}: the offer names another EIP-712 domain than ${asset.symbol} has`
  return judgeAmount({ requirements, asset, amount: amountOf(requirements, asset) }, limits)
}

function judgeAmount(offer: PayableOffer, { maxAmount }: Limits): PayableOffer | string {
  const { requirements, asset, amount } = offer
  const what = describeOffer(requirements, asset)
  if (asset.currency !== maxAmount.currency)
    return `${what}: --max-amount is in ${maxAmount.currency}`
  if (compare(amount, maxAmount.amount) > 0) return `${what}: that is more than --max-amount`
  return offer
}

/** An offer, for people; of a token that is not known here, in its smallest units. */
function describeOffer(requirements: PaymentRequirements, asset: Asset | undefined): string {
  const { amount, asset: token, network } = requirements
  if (asset === undefined)
    return `${visible(amount)} smallest units of ${visible(token)} on ${visible(network)}`
  return `${describeAmount({ amount: amountOf(requirements, asset), asset })} on ${asset.network.name}`
}

const amountOf = ({ amount }: PaymentRequirements, { decimals }: Asset): Decimal => ({
  units: BigInt(amount),
  scale: decimals,
})

/** An amount in tokens, for people. */
export function describeAmount({ amount, asset }: Pick<PayableOffer, 'amount' | 'asset'>): string {
  return `${formatDecimal(trimDecimal(amount))} ${asset.symbol}`
}
