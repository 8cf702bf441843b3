import { findKnownAsset, type Asset, type KnownAsset } from '../../../shared/money/assets.js'
import { compare, formatDecimal, trimDecimal, type Decimal } from '../../../shared/money/decimal.js'
import { findNetwork } from '../../../shared/protocol/networks.js'
import {
  EXACT,
  parsePaymentRequirements,
  UPTO,
  type PaymentRequirements,
} from '../../../shared/protocol/payment.js'
import { isPermit2 } from '../../../shared/protocol/same-offer.js'
import { ADDRESS } from '../../../shared/protocol/primitives.js'
import { visible } from '../../../shared/protocol/visible-text.js'

export interface Limits {
  readonly maxAmount: { readonly amount: Decimal; readonly currency: string }
  readonly mayPayMainnet: boolean
  readonly isPublicKey: boolean
}

export interface PayableOffer {
  /** Sent back unchanged. */
  readonly requirements: PaymentRequirements
  readonly asset: KnownAsset
  readonly amount: Decimal
}

export type Choice =
  | { readonly kind: 'chosen'; readonly offer: PayableOffer }
  | { readonly kind: 'none'; readonly reasons: readonly string[] }

export function chooseOffer(accepts: readonly unknown[], limits: Limits): Choice {
  const reasons: string[] = []
  for (const entry of accepts) {
    const judged = judge(entry, limits)
    if (typeof judged === 'object') return { kind: 'chosen', offer: judged }
    reasons.push(judged)
  }
  return { kind: 'none', reasons }
}

/** @returns The offer, or why it is not acceptable. */
function judge(entry: unknown, limits: Limits): PayableOffer | string {
  const parsed = parsePaymentRequirements(entry)
  if (!parsed.ok)
    return `an offer is malformed (${parsed.errors[0]?.path}: ${parsed.errors[0]?.message})`
  const requirements = parsed.value
  const network = findNetwork(requirements.network)
  const asset = network && findKnownAsset(network, requirements.asset)
  const what = describeOffer(requirements, asset)
  if (requirements.scheme !== EXACT && requirements.scheme !== UPTO)
    return `${what}: unknown scheme '${visible(requirements.scheme)}'`
  if (network === undefined) return `${what}: unknown network`
  if (!network.testnet && limits.isPublicKey)
    return `${what}: ${network.name} is real money, and the devnet's keys are public`
  if (!network.testnet && !limits.mayPayMainnet)
    return `${what}: ${network.name} is real money; --yes allows it`
  if (asset === undefined) return `${what}: unknown token, so its value is unknown`
  const offer = { requirements, asset, amount: amountOf(requirements, asset) }
  const { name, version, facilitatorAddress } = (requirements.extra ?? {}) as Record<
    string,
    unknown
  >
  const isMaximum = requirements.scheme === UPTO
  if (isPermit2(requirements)) {
    if (isMaximum && !ADDRESS.test(String(facilitatorAddress)))
      return `${what}: the offer names nobody who settles it (facilitatorAddress)`
    return judgeAmount(offer, limits)
  }
  if (isMaximum) return `${what}: a maximum is paid by Permit2 alone`
  if (name !== asset.eip712.name || version !== asset.eip712.version)
    return `${what}: the offer's EIP-712 domain is not that of ${asset.symbol}`
  return judgeAmount(offer, limits)
}

function judgeAmount(offer: PayableOffer, { maxAmount }: Limits): PayableOffer | string {
  const { requirements, asset, amount } = offer
  const what = describeOffer(requirements, asset)
  if (asset.currency !== maxAmount.currency)
    return `${what}: --max-amount is in ${maxAmount.currency}`
  if (compare(amount, maxAmount.amount) > 0) return `${what}: that is more than --max-amount`
  return offer
}

export function describeOffer(requirements: PaymentRequirements, asset: Asset | undefined): string {
  const { amount, asset: token, network } = requirements
  if (asset === undefined)
    return `${visible(amount)} atomic units of ${visible(token)} on ${visible(network)}`
  return `${describeAmount(amountOf(requirements, asset), asset)} on ${asset.network.name}`
}

export const amountOf = ({ amount }: PaymentRequirements, { decimals }: Asset): Decimal => ({
  units: BigInt(amount),
  scale: decimals,
})

export const describeAmount = (amount: Decimal, { symbol }: Asset): string =>
  `${formatDecimal(trimDecimal(amount))} ${symbol}`
