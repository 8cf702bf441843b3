import type { Network } from '../../protocol/networks.js'
import type { Address } from '../../protocol/payment.js'
import type { SchemeFormat } from '../scheme.js'
import { readAuthorization } from './erc3009/payload.js'
import { isPermit2Payload, readPermit } from './permit2/payload.js'

const isSignedByPayer: SchemeFormat['isSignedByPayer'] = async (payment) => {
  const { isSignedByPayer: check } = await import('./verify/signed-by-payer.js')
  return check(payment)
}

/**
 * The scheme `exact` on EVM: offers carry the token's EIP-712 domain, payloads an authorization (ERC-3009) or a
 * permit (Permit2).
 */
export const exactFormat: SchemeFormat = {
  offers: ({ eip712 }, { isMaximum }) => (isMaximum ? [] : [eip712]),
  decode: (payload, extensions) =>
    isPermit2Payload(payload) ? readPermit(payload, extensions) : readAuthorization(payload),
  isSignedByPayer,
}

/**
 * The scheme `upto` on EVM: Permit2, for which an offer names who makes the call.
 *
 * @param facilitatorOf - The address that offers name; none where nobody here settles.
 */
export function uptoFormat(facilitatorOf: (network: Network) => Address | undefined): SchemeFormat {
  return {
    isMetered: true,
    offers({ eip712, network }, { isMaximum }) {
      const facilitatorAddress = isMaximum ? facilitatorOf(network) : undefined
      if (facilitatorAddress === undefined) return []
      return [{ ...eip712, assetTransferMethod: 'permit2', facilitatorAddress }]
    },
    decode: readPermit,
    isSignedByPayer,
  }
}
