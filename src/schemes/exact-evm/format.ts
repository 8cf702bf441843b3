import { isAuthorized, type Payment } from '../../protocol/decoded-payment.js'
import type { SchemeFormat } from '../scheme.js'
import { assetAsOffered } from './asset-as-offered.js'
import { authorizationDigest } from './digest.js'
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
  const { authorization, signature } = payment.signed.value
  const asset = assetAsOffered(payment)
  const ecdsa = parseEcdsaSignature(signature)
  if (asset === undefined || ecdsa === undefined) return false
  const signer = await recoverSigner(authorizationDigest(authorization, asset.separator), ecdsa)
  return signer === authorization.from
}
