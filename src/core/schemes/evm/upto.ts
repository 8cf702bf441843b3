import type { Network } from '../../../shared/protocol/networks.js'
import type { Address } from '../../../shared/protocol/payment.js'
import type { SchemeFormat } from '../scheme.js'
import { permit2Extra, type FindPermitDomain } from './permit2/offer-extra.js'
import { readPermit } from './permit2/payload.js'

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
  isSignedByPayer: async (payment) =>
    (await import('./verify/signed-by-payer.js')).isSignedByPayer(payment),
})
