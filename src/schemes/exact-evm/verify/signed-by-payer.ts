import { isAuthorized, type Payment } from '../../../protocol/decoded-payment.js'
import { assetAsOffered } from '../asset-as-offered.js'
import { authorizationDigest } from '../digest.js'
import { parseEcdsaSignature, recoverSigner } from './signature.js'

/** Recovers the signer, by the EIP-712 domain in the merchant's offer. */
export async function isSignedByPayer(payment: Payment): Promise<boolean> {
  if (!isAuthorized(payment)) return false
  const { authorization, signature } = payment.signed.value
  const asset = assetAsOffered(payment)
  const ecdsa = parseEcdsaSignature(signature)
  if (asset === undefined || ecdsa === undefined) return false
  const signer = await recoverSigner(authorizationDigest(authorization, asset.separator), ecdsa)
  return signer === authorization.from
}
