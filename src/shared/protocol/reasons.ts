/**
 * All reasons for refusing a payment: the `error` of a 402, `invalidReason`, `errorReason` and the
 * `reason` of events. Each has a row in `ucp/gateway.md` § Error Mapping, as a test checks.
 *
 * Spelled as in the x402 v2 specification §9, else as in `@x402/evm`, else in our own spelling.
 *
 * @example
 * ```ts
 * import { reasons, type Reason } from 'express-x402-gateway'
 *
 * const counts = new Map<Reason, number>(reasons.map((reason) => [reason, 0]))
 * ```
 */
export const reasons = [
  // x402 v2 §9.
  'invalid_payload',
  'invalid_x402_version',
  'unsupported_scheme',
  'invalid_network',
  'invalid_payment_requirements',
  'invalid_exact_evm_payload_recipient_mismatch',
  'invalid_exact_evm_payload_authorization_value_mismatch',
  'invalid_exact_evm_payload_authorization_valid_after',
  'invalid_exact_evm_payload_authorization_valid_before',
  'invalid_exact_evm_payload_signature',
  'insufficient_funds',
  'invalid_transaction_state',
  'unexpected_verify_error',
  'unexpected_settle_error',

  // `@x402/evm`.
  'invalid_exact_evm_nonce_already_used',
  'invalid_exact_evm_transaction_simulation_failed',
  'invalid_exact_evm_eip3009_not_supported',
  'invalid_exact_evm_transfer_event_mismatch',
  'eip6492_factory_not_allowed',
  'smart_wallet_deployment_failed',
  'duplicate_settlement',
  'settlement_pending',
  'extension_echo_mismatch',
  'upto_facilitator_mismatch',
  'invalid_upto_evm_payload_settlement_exceeds_amount',
  'invalid_permit2_spender',
  'invalid_permit2_recipient_mismatch',
  'permit2_amount_mismatch',
  'permit2_token_mismatch',
  'permit2_deadline_expired',
  'permit2_not_yet_valid',
  'invalid_permit2_signature',
  'permit2_allowance_required',
  'permit2_insufficient_balance',
  'permit2_invalid_nonce',
  'permit2_2612_amount_mismatch',
  'permit2_simulation_failed',
  'permit2_proxy_not_deployed',
  'asset_not_deployed_contract',
  'invalid_eip2612_extension_format',
  'eip2612_from_mismatch',
  'eip2612_asset_mismatch',
  'eip2612_spender_not_permit2',
  'eip2612_deadline_expired',

  // Ours.
  'unsupported_asset',
  'pay_to_mismatch',
  'resource_mismatch',
  'quote_mismatch',
  'quote_expired',
  'price_changed',
  'payment_identifier_conflict',
  'contract_payer_not_accepted',
  'payer_temporarily_refused',
  'self_send_not_allowed',
  'settlement_too_expensive',
  'payer_blacklisted',
  'pay_to_blacklisted',
  'token_paused',
  'merchant_paused',
  'payment_declined',
] as const

/** Why a payment is refused. `errorMessage` or `invalidMessage` beside it says it in words. */
export type Reason = (typeof reasons)[number]

const known: ReadonlySet<string> = new Set(reasons)

/** Type guard for {@link Reason}. */
export function isReason(text: string): text is Reason {
  return known.has(text)
}

/** Whether a transaction was sent or rejected by the node, without paying the merchant. */
export const isFailedTransaction = (reason: Reason): boolean =>
  reason === 'invalid_transaction_state' || reason === 'invalid_exact_evm_transfer_event_mismatch'

/** Whether the authorization was used or cancelled before. */
export const isNonceUsed = (reason: Reason): boolean =>
  reason === 'invalid_exact_evm_nonce_already_used' || reason === 'permit2_invalid_nonce'
