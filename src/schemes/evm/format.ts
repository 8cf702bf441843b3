import type { SchemeFormat } from '../scheme.js'
import { readAuthorization } from './erc3009/payload.js'
import { isPermit2Payload, readPermit } from './permit2/payload.js'

/**
 * The scheme `exact` on EVM: offers carry the token's EIP-712 domain, payloads an authorization (ERC-3009) or a
 * permit (Permit2).
 */
export const exactFormat: SchemeFormat = {
  offers: ({ eip712 }, { isMaximum }) => (isMaximum ? [] : [eip712]),
  decode: (payload, extensions) =>
    isPermit2Payload(payload) ? readPermit(payload, extensions) : readAuthorization(payload),
  async isSignedByPayer(payment) {
    const { isSignedByPayer } = await import('./verify/signed-by-payer.js')
    return isSignedByPayer(payment)
  },
}
