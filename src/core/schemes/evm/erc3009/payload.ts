import type { PaymentFacts } from '../../../../shared/protocol/decoded-payment.js'
import type { Parsed } from '../../../../shared/protocol/document.js'
import { parseErc3009Payload } from '../../../../shared/protocol/erc3009.js'
import { lowerHex } from '../../../../shared/protocol/hex.js'

/**
 * Reads `payload` of a payment by ERC-3009, or says what is wrong with its shape. The facts are all that was signed:
 * only the signature is left for the scheme.
 */
export function readAuthorization(payload: unknown): Parsed<PaymentFacts> {
  const parsed = parseErc3009Payload(payload)
  if (!parsed.ok) return parsed
  const { authorization, signature } = parsed.value
  const facts: PaymentFacts = {
    payer: lowerHex(authorization.from),
    payTo: lowerHex(authorization.to),
    amount: BigInt(authorization.value),
    validAfter: BigInt(authorization.validAfter),
    validBefore: BigInt(authorization.validBefore),
    nonce: lowerHex(authorization.nonce),
    signed: lowerHex(signature),
  }
  return { ok: true, value: facts }
}
