import { takesErc3009, takesPermit2 } from '../../money/assets.js'
import type { Asset, DomainName } from '../../money/assets.js'
import type { OfferExtra, SchemeFormat } from '../scheme.js'
import { readAuthorization } from './erc3009/payload.js'
import { isPermit2Payload, readPermit } from './permit2/payload.js'

/** Finds the domain in which a token takes approvals by signature (EIP-2612). */
export type FindPermitDomain = (asset: Asset) => DomainName | undefined

/**
 * The scheme `exact` on EVM. A token's own signatures (ERC-3009) are offered before Permit2: they need no approval.
 */
export const exactFormatWith = (findPermitDomain: FindPermitDomain): SchemeFormat => ({
  offers: (asset, { isMaximum }) => (isMaximum ? [] : offersOf(asset, findPermitDomain)),
  decode: (payload, extensions) =>
    isPermit2Payload(payload) ? readPermit(payload, extensions) : readAuthorization(payload),
  async isSignedByPayer(payment) {
    const { isSignedByPayer } = await import('./verify/signed-by-payer.js')
    return isSignedByPayer(payment)
  },
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

/** {@link exactFormatWith} where no contract can be asked. */
export const exactFormat = exactFormatWith(() => undefined)
