import { takesErc3009, takesPermit2 } from '../../../shared/money/assets.js'
import type { Asset, DomainName } from '../../../shared/money/assets.js'
import type { Network } from '../../../shared/protocol/networks.js'
import type { Address } from '../../../shared/protocol/payment.js'
import type { OfferExtra, SchemeFormat } from '../scheme.js'
import { readAuthorization } from './erc3009/payload.js'
import { isPermit2Payload, readPermit } from './permit2/payload.js'

/** Finds the domain in which a token takes approvals by signature (EIP-2612). */
export type FindPermitDomain = (asset: Asset) => DomainName | undefined

const isSignedByPayer: SchemeFormat['isSignedByPayer'] = async (payment) => {
  const { isSignedByPayer: check } = await import('./verify/signed-by-payer.js')
  return check(payment)
}

/**
 * The scheme `exact` on EVM. A token's own signatures (ERC-3009) are offered before Permit2: they need no approval.
 */
export const exactFormatWith = (findPermitDomain: FindPermitDomain): SchemeFormat => ({
  offers: (asset, { isMaximum }) => (isMaximum ? [] : offersOf(asset, findPermitDomain)),
  decode: (payload, extensions) =>
    isPermit2Payload(payload) ? readPermit(payload, extensions) : readAuthorization(payload),
  isSignedByPayer,
})

/** {@link exactFormatWith} where no contract can be asked. */
export const exactFormat = exactFormatWith(() => undefined)

/** Where the formats of metered payments are asked for. */
export interface MeteredOptions {
  /** The address that offers name; none where nobody here settles. */
  readonly facilitatorOf: (network: Network) => Address | undefined
  readonly findPermitDomain: FindPermitDomain
}

/** The scheme `upto` on EVM: Permit2, which moves any token. An offer names who makes the call. */
export const uptoFormat = ({ facilitatorOf, findPermitDomain }: MeteredOptions): SchemeFormat => ({
  isMetered: true,
  bindsBody: true,
  offers(asset, { isMaximum }) {
    const facilitatorAddress = isMaximum ? facilitatorOf(asset.network) : undefined
    if (facilitatorAddress === undefined) return []
    return [{ ...asset.eip712, ...permit2Extra(findPermitDomain(asset)), facilitatorAddress }]
  },
  decode: readPermit,
  isSignedByPayer,
})

function offersOf(asset: Asset, findPermitDomain: FindPermitDomain): readonly OfferExtra[] {
  return [
    ...(takesErc3009(asset) ? [{ ...asset.eip712 }] : []),
    ...(takesPermit2(asset) ? [permit2Extra(findPermitDomain(asset))] : []),
  ]
}

/** With a domain, clients may sign their approval to Permit2 as well: it is settled with the payment. */
function permit2Extra(domain: DomainName | undefined): OfferExtra {
  return { ...domain, assetTransferMethod: 'permit2' }
}
