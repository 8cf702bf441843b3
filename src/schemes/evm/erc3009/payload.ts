/** `payload` of a payment by ERC-3009. */
import type { PaymentFacts } from '../../../protocol/decoded-payment.js'
import type { Parsed } from '../../../protocol/document.js'
import { parseAuthorization, parseErc3009Payload } from '../../../protocol/erc3009.js'
import type { Authorization } from '../../../protocol/erc3009.js'
import { lowerHex } from '../../../protocol/hex.js'
import type { Hex } from '../../../protocol/payment.js'

/** What the payer has signed. */
export interface SignedAuthorization {
  readonly authorization: Authorization
  /** As sent, in lower case. */
  readonly signature: Hex
}

/** Reads it, or says what is wrong with its shape. */
export function readAuthorization(payload: unknown): Parsed<PaymentFacts> {
  const parsed = parseErc3009Payload(payload)
  if (!parsed.ok) return parsed
  const authorization = parseAuthorization(parsed.value.authorization)
  const { from: payer, to: payTo, value: amount, validAfter, validBefore, nonce } = authorization
  const signed: SignedAuthorization = {
    authorization,
    signature: lowerHex(parsed.value.signature),
  }
  return { ok: true, value: { payer, payTo, amount, validAfter, validBefore, nonce, signed } }
}
