import type { PaymentFacts } from '../../shared/protocol/decoded-payment.js'
import { UPTO, type PaymentRequirements } from '../../shared/protocol/payment.js'

/** How much longer than it is asked to a payment up to a maximum may be valid (s): clocks differ. */
const SPARE_SECONDS = 600

/** The longest that routes ask for (s). A caller of the API may ask for more. */
const MOST_TIMEOUT_SECONDS = 86_400

/**
 * Says how a payment is valid for too long. What nothing was charged for is kept in the ledger for as long as it is
 * valid, and costs its payer nothing.
 */
export function explainTooLong(
  { validBefore }: PaymentFacts,
  { scheme, maxTimeoutSeconds }: PaymentRequirements,
  now: bigint,
): string | undefined {
  const asked = Math.min(maxTimeoutSeconds, MOST_TIMEOUT_SECONDS)
  if (scheme !== UPTO || validBefore <= now + BigInt(asked + SPARE_SECONDS)) return undefined
  return `The permit is valid for too long. Sign one whose deadline is ${asked} seconds from now (maxTimeoutSeconds of the offer).`
}
