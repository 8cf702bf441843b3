import type { SchemeFormat } from '../scheme.js'

/** The scheme `exact` on EVM: offers carry the token's EIP-712 domain, payloads an authorization. */
export const exactFormat: SchemeFormat = {
  extra: ({ eip712 }) => eip712,
  errors: ({ signed }) => (signed.ok ? [] : signed.errors),
  async isSignedByPayer(payment) {
    const { isSignedByPayer } = await import('./verify/signed-by-payer.js')
    return isSignedByPayer(payment)
  },
}
