import { takesErc3009, takesPermit2 } from '../../money/assets.js'
import type { Asset, DomainName } from '../../money/assets.js'
import type { Network } from '../../protocol/networks.js'
import type { Address } from '../../protocol/payment.js'
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
export function exactFormatWith(findPermitDomain: FindPermitDomain): SchemeFormat {
  return {
    offers(asset, { isMaximum }) {
      if (isMaximum) return []
      return [
        ...(takesErc3009(asset) ? [{ ...asset.eip712 }] : []),
        ...(takesPermit2(asset) ? [permit2Extra(findPermitDomain(asset))] : []),
      ]
    },
    decode: (payload, extensions) =>
      isPermit2Payload(payload) ? readPermit(payload, extensions) : readAuthorization(payload),
    isSignedByPayer,
  }
}

/**
 * The scheme `upto` on EVM: Permit2, for any token. An offer names who makes the call.
 *
 * @param facilitatorOf - The address that offers name; none where nobody here settles.
 */
export function uptoFormat(
  findPermitDomain: FindPermitDomain,
  facilitatorOf: (network: Network) => Address | undefined,
): SchemeFormat {
  return {
    isMetered: true,
    offers(asset, { isMaximum }) {
      const facilitatorAddress = isMaximum ? facilitatorOf(asset.network) : undefined
      if (facilitatorAddress === undefined) return []
      return [{ ...permit2Extra(findPermitDomain(asset)), facilitatorAddress }]
    },
    decode: readPermit,
    isSignedByPayer,
  }
}

/** With a domain, clients may sign their approval to Permit2 as well: it is settled with the payment. */
function permit2Extra(domain: DomainName | undefined): OfferExtra {
  return { ...domain, assetTransferMethod: 'permit2' }
}

/** {@link exactFormatWith} where no contract can be asked. */
export const exactFormat = exactFormatWith(() => undefined)
