import { takesErc3009, takesPermit2 } from '../../../shared/money/assets.js'
import type { SchemeFormat } from '../scheme.js'
import { readAuthorization } from './erc3009/payload.js'
import { permit2Extra, type FindPermitDomain } from './permit2/offer-extra.js'
import { isPermit2Payload, readPermit } from './permit2/payload.js'

/**
 * The scheme `exact` on EVM. A token's own signatures (ERC-3009) are offered before Permit2: they need no approval.
 */
export const exactFormatWith = (findPermitDomain: FindPermitDomain): SchemeFormat => ({
  offers: (asset, { isMaximum }) =>
    isMaximum
      ? []
      : [
          ...(takesErc3009(asset) ? [{ ...asset.eip712 }] : []),
          ...(takesPermit2(asset) ? [permit2Extra(findPermitDomain(asset))] : []),
        ],
  decode: (payload, extensions) =>
    isPermit2Payload(payload) ? readPermit(payload, extensions) : readAuthorization(payload),
  isSignedByPayer: async (payment) =>
    (await import('./verify/signed-by-payer.js')).isSignedByPayer(payment),
})
