import type { SchemeFormat } from '../scheme.js'
import { readAuthorization } from './erc3009/payload.js'

/** The scheme `exact` on EVM: offers carry the token's EIP-712 domain, payloads an authorization. */
export const exactFormat: SchemeFormat = {
  offers: ({ eip712 }, { isMaximum }) => (isMaximum ? [] : [eip712]),
  decode: readAuthorization,
  async isSignedByPayer(payment) {
    const { isSignedByPayer } = await import('./verify/signed-by-payer.js')
    return isSignedByPayer(payment)
  },
}
