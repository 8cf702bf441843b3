import type { Payment } from '../protocol/decoded-payment.js'
import { X402_VERSION } from '../protocol/payment.js'
import type { Reason } from '../protocol/reasons.js'
import { sameOffer } from '../protocol/same-offer.js'

/**
 * Checks version and scheme, and that payer and merchant mean the same entry of `accepts`.
 *
 * @param isSpoken - Whether a scheme can be settled.
 */
export function checkOffer(
  { payload, requirements, accepted, network }: Payment,
  isSpoken: (scheme: string) => boolean,
): Reason | undefined {
  if (payload.x402Version !== X402_VERSION) return 'invalid_x402_version'
  if (!isSpoken(requirements.scheme)) return 'unsupported_scheme'
  if (!accepted.ok) return 'invalid_payload'
  if (!isSpoken(accepted.value.scheme)) return 'unsupported_scheme'
  if (network === undefined) return 'invalid_network'
  return sameOffer(accepted.value, requirements) ? undefined : 'accepted_mismatch'
}
