import { isReadable, type Payment } from '../../../../shared/protocol/decoded-payment.js'
import { methodOf } from '../transfer-methods.js'
import { assetAsOffered } from '../network/asset-as-offered.js'
import { parseEcdsaSignature, recoverSigner } from './signature.js'

/** Recovers the signer, by the EIP-712 domain in the merchant's offer. */
export async function isSignedByPayer(payment: Payment): Promise<boolean> {
  if (!isReadable(payment)) return false
  const { facts } = payment
  const method = methodOf(facts)
  const asset = assetAsOffered(payment)
  const ecdsa = parseEcdsaSignature(method.signatureOf(facts))
  if (asset === undefined || ecdsa === undefined) return false
  return (await recoverSigner(method.digest(facts, asset), ecdsa)) === facts.payer
}
