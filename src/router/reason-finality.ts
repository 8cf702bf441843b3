/** Which refusals are final, which may pass, and which leave the payment undecided. */
import type { Reason } from '../protocol/reasons.js'

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

/** Tells whether a later request may find the payment settled, or free. */
export const isUndecided = (reason: Reason): boolean => UNDECIDED.includes(reason)

/** Tells whether the same request can never succeed. */
export const isFinal = (reason: Reason): boolean => FINAL.includes(reason)
