/** Which refusals are final, which may pass, and which leave the payment undecided. */
import type { Reason } from './reasons.js'

/**
 * The payment is undecided: the ledger is asked again. Includes a payment that was settled, since it
 * becomes free again if the client that settled it disconnected before its answer.
 */
const UNDECIDED: readonly Reason[] = [
  'settlement_pending',
  'duplicate_settlement',
  'invalid_exact_evm_nonce_already_used',
]

/**
 * The same request can never succeed: it is invalid in itself, or its time is over. Every other reason
 * may pass (too little balance, a paused token, a transaction that failed), so that the request is tried again.
 */
const FINAL: readonly Reason[] = [
  'invalid_payload',
  'invalid_x402_version',
  'unsupported_scheme',
  'invalid_network',
  'invalid_payment_requirements',
  'invalid_exact_evm_payload_recipient_mismatch',
  'invalid_exact_evm_payload_authorization_value_mismatch',
  'invalid_exact_evm_payload_authorization_valid_before',
  'invalid_exact_evm_transfer_event_mismatch',
  'eip6492_factory_not_allowed',
  'unsupported_asset',
  'pay_to_mismatch',
  'resource_mismatch',
  'quote_mismatch',
  'quote_expired',
]

/**
 * The same request may succeed later, and nothing was sent for it: each is found out before a transaction
 * is made. A failed simulation is not among them, because a transaction that is out already makes it fail.
 */
const UNSENT: readonly Reason[] = [
  'invalid_exact_evm_payload_authorization_valid_after',
  'invalid_exact_evm_payload_signature',
  'invalid_exact_evm_eip3009_not_supported',
  'insufficient_funds',
  'payment_identifier_conflict',
  'contract_payer_not_accepted',
  'payer_temporarily_refused',
  'settlement_too_expensive',
  'payer_blacklisted',
  'pay_to_blacklisted',
  'token_paused',
]

/** Tells whether a later request may find the payment settled, or free. */
export const isUndecided = (reason: Reason): boolean => UNDECIDED.includes(reason)

/** Tells whether the same request can never succeed. */
export const isFinal = (reason: Reason): boolean => FINAL.includes(reason)

/** Tells whether a facilitator that refuses a payment for this reason has sent nothing for it. */
export const isUnsent = (reason: Reason): boolean =>
  FINAL.includes(reason) || UNSENT.includes(reason)
