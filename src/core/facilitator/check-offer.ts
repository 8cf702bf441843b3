import type { Payment } from '../../shared/protocol/decoded-payment.js'
import { X402_VERSION, type PaymentRequirements } from '../../shared/protocol/payment.js'
import type { Refusal } from '../schemes/scheme.js'
import { describeDifference, sameOffer } from '../../shared/protocol/same-offer.js'

const NOTHING_TO_PAY =
  'The amount is 0: there is nothing to settle. Serve what is free without a payment.'

/**
 * Checks version and scheme, and that payer and merchant mean the same entry of `accepts`.
 *
 * @param isSpoken - Whether a scheme can be settled.
 */
export function checkOffer(
  { payload, format, requirements, accepted, network }: Payment,
  isSpoken: (scheme: string) => boolean,
): Refusal | undefined {
  if (payload.x402Version !== X402_VERSION) return { refused: 'invalid_x402_version' }
  if (!isSpoken(requirements.scheme)) return { refused: 'unsupported_scheme' }
  if (!accepted.ok) return { refused: 'invalid_payload' }
  if (!isSpoken(accepted.value.scheme)) return { refused: 'unsupported_scheme' }
  if (network === undefined) return { refused: 'invalid_network' }
  // It would cost gas and pay nobody.
  if (requirements.amount === '0')
    return { refused: 'invalid_payment_requirements', message: NOTHING_TO_PAY }
  if (sameOffer(accepted.value, requirements)) return undefined
  if (format?.isMetered === true && exceeds(accepted.value, requirements))
    return { refused: 'invalid_upto_evm_payload_settlement_exceeds_amount' }
  return {
    refused: 'invalid_payment_requirements',
    message: describeDifference(accepted.value, requirements, 'the requirements'),
  }
}

/** Whether a merchant asks for more than the maximum of the very offer that the payer has accepted. */
function exceeds(accepted: PaymentRequirements, requirements: PaymentRequirements): boolean {
  const { amount } = requirements
  const isMore = BigInt(amount) > BigInt(accepted.amount)
  return isMore && sameOffer({ ...accepted, amount }, requirements)
}
