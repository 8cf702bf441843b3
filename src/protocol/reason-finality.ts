/** Sorts refusals: final, temporary, or undecided. */
import type { Reason } from './reasons.js'

/**
 * Undecided: ask the ledger again. Includes settled payments, which become free again if the client that
 * settled them disconnected before its answer.
 */
const UNDECIDED: readonly Reason[] = [
  'settlement_pending',
  'duplicate_settlement',
  'invalid_exact_evm_nonce_already_used',
]

/**
 * The same request can never succeed: it is invalid, or its time is over. All other reasons may pass (low
 * balance, paused token, failed transaction), so the request can be tried again.
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
 * The same request may succeed later, and certainly no transaction was sent. Not a failed simulation: an
 * earlier transaction may have caused it.
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

/** Whether a later request may find the payment settled or free. */
export const isUndecided = (reason: Reason): boolean => UNDECIDED.includes(reason)

/** Whether the same request can never succeed. */
export const isFinal = (reason: Reason): boolean => FINAL.includes(reason)

/** Whether a facilitator that refuses for this reason has sent no transaction. */
export const isUnsent = (reason: Reason): boolean =>
  FINAL.includes(reason) || UNSENT.includes(reason)
