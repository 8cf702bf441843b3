import { isAuthorized, type Payment } from '../../protocol/decoded-payment.js'
import type { SchemeFormat } from '../scheme.js'
import { authorizationDigest, domainSeparator } from './verify/digest.js'
import { parseEcdsaSignature, recoverSigner } from './verify/signature.js'

/** The scheme `exact` on EVM: offers carry the token's EIP-712 domain, payloads an authorization. */
export const exactFormat: SchemeFormat = {
  extra: ({ eip712 }) => eip712,
  errors: ({ signed }) => (signed.ok ? [] : signed.errors),
  isSignedByPayer,
}

/** Recovers the signer, by the EIP-712 domain in the merchant's offer. */
async function isSignedByPayer(payment: Payment): Promise<boolean> {
  if (!isAuthorized(payment)) return false
  const { name, version } = payment.requirements.extra ?? {}
  if (typeof name !== 'string' || typeof version !== 'string') return false
  const { authorization, signature } = payment.signed.value
  const { chainId, asset: verifyingContract } = payment.key
  const ecdsa = parseEcdsaSignature(signature)
  if (ecdsa === undefined) return false
  const separator = domainSeparator({ name, version, chainId, verifyingContract })
  const signer = await recoverSigner(authorizationDigest(authorization, separator), ecdsa)
  return signer === authorization.from
}
