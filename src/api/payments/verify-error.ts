import type { VerifyResponse } from '../../shared/protocol/payment.js'

/** A {@link VerifyResponse} whose refusal is also told as `error`, which Medusa and the Prism SDK read. */
export type TellingVerifyResponse =
  | Extract<VerifyResponse, { isValid: true }>
  | (Extract<VerifyResponse, { isValid: false }> & { readonly error: string })

/** Tells a refusal in words as well, in the member that plugins show to people. */
export function withError(verified: VerifyResponse): TellingVerifyResponse {
  if (verified.isValid) return verified
  return { ...verified, error: verified.invalidMessage ?? verified.invalidReason }
}
