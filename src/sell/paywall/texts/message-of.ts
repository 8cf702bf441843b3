import type { ProblemCode } from '../../../shared/http/problem-status.js'
import type { Reason } from '../../../shared/protocol/reasons.js'
import type { PaywallTextKey } from './paywall-texts.js'

/** Problems of the API only. */
type ApiProblem =
  | 'invalid_request'
  | 'invalid_json'
  | 'unauthorized'
  | 'cross_origin'
  | 'forbidden'
  | 'method_not_allowed'
  | 'project_exists'
  | 'project_configured'
  | 'settlement_not_refundable'
  | 'refund_exceeds_payment'
  | 'refund_refused'
  | 'too_many_webhooks'
  | 'too_many_tokens'
  | 'too_many_checkouts'
  | 'precondition_failed'
  | 'payload_too_large'
  | 'unsupported_media_type'
  | 'internal_error'
  | 'refunds_not_available'
  | 'transaction_failed'

/** All codes of refusals and problems on a paid route. */
export type RouteCode = Reason | Exclude<ProblemCode, ApiProblem>

/** The message to the buyer for each code. */
export const messageOf: Readonly<Record<RouteCode, PaywallTextKey>> = {
  invalid_payload: 'wrongSetup',
  invalid_x402_version: 'wrongSetup',
  unsupported_scheme: 'wrongSetup',
  invalid_network: 'offerChanged',
  invalid_payment_requirements: 'wrongSetup',
  invalid_exact_evm_payload_recipient_mismatch: 'offerChanged',
  invalid_exact_evm_payload_authorization_value_mismatch: 'offerChanged',
  invalid_exact_evm_payload_authorization_valid_after: 'clockWrong',
  invalid_exact_evm_payload_authorization_valid_before: 'lapsed',
  invalid_exact_evm_payload_signature: 'badSignature',
  insufficient_funds: 'insufficientFunds',
  invalid_transaction_state: 'transferFailed',
  unexpected_verify_error: 'wrongSetup',
  unexpected_settle_error: 'alreadyUsed',
  invalid_exact_evm_nonce_already_used: 'alreadyUsed',
  invalid_exact_evm_transaction_simulation_failed: 'transferFailed',
  invalid_exact_evm_eip3009_not_supported: 'wrongSetup',
  invalid_exact_evm_transfer_event_mismatch: 'alreadyUsed',
  eip6492_factory_not_allowed: 'contractAccount',
  smart_wallet_deployment_failed: 'contractAccount',
  duplicate_settlement: 'stillRunning',
  settlement_pending: 'pending',
  extension_echo_mismatch: 'wrongSetup',
  invalid_permit2_spender: 'wrongSetup',
  invalid_permit2_recipient_mismatch: 'offerChanged',
  permit2_amount_mismatch: 'offerChanged',
  permit2_token_mismatch: 'offerChanged',
  permit2_deadline_expired: 'lapsed',
  permit2_not_yet_valid: 'clockWrong',
  invalid_permit2_signature: 'badSignature',
  permit2_allowance_required: 'approvalNeeded',
  permit2_insufficient_balance: 'insufficientFunds',
  permit2_invalid_nonce: 'alreadyUsed',
  permit2_2612_amount_mismatch: 'wrongSetup',
  permit2_simulation_failed: 'transferFailed',
  permit2_proxy_not_deployed: 'wrongSetup',
  asset_not_deployed_contract: 'wrongSetup',
  invalid_eip2612_extension_format: 'wrongSetup',
  eip2612_from_mismatch: 'wrongSetup',
  eip2612_asset_mismatch: 'wrongSetup',
  eip2612_spender_not_permit2: 'wrongSetup',
  eip2612_deadline_expired: 'lapsed',
  unsupported_asset: 'offerChanged',
  pay_to_mismatch: 'offerChanged',
  resource_mismatch: 'wrongSetup',
  quote_mismatch: 'offerChanged',
  quote_expired: 'offerChanged',
  price_changed: 'alreadyUsed',
  upto_facilitator_mismatch: 'offerChanged',
  invalid_upto_evm_payload_settlement_exceeds_amount: 'wrongSetup',
  payment_identifier_conflict: 'alreadyUsed',
  contract_payer_not_accepted: 'contractAccount',
  payer_temporarily_refused: 'tryLater',
  self_send_not_allowed: 'wrongSetup',
  settlement_too_expensive: 'tooExpensive',
  payer_blacklisted: 'payerBlocked',
  pay_to_blacklisted: 'sellerBlocked',
  token_paused: 'tokenPaused',
  merchant_paused: 'paused',
  payment_declined: 'notAccepted',

  merchant_not_configured: 'unavailable',
  idempotency_conflict: 'alreadyUsed',
  idempotency_in_progress: 'stillRunning',
  answer_not_kept: 'answerGone',
  answer_too_large: 'answerTooLarge',
  checkout_paid: 'checkoutPaid',
  checkout_expired: 'checkoutExpired',
  checkout_canceled: 'checkoutCanceled',
  not_found: 'linkUnknown',
  checkout_in_progress: 'checkoutInProgress',
  rate_limited: 'tryLater',
  server_busy: 'unavailable',
  shutting_down: 'unavailable',
  unsupported_currency: 'unavailable',
  amount_out_of_range: 'unavailable',
  rate_unavailable: 'unavailable',
  chain_unreachable: 'unavailable',
  chain_refused: 'unavailable',
  chain_mismatch: 'unavailable',
  settlement_timeout: 'unavailable',
  facilitator_unreachable: 'unavailable',
  facilitator_refused: 'unavailable',
  facilitator_busy: 'unavailable',
  ledger_full: 'unavailable',
  ledger_unavailable: 'unavailable',
  relayer_without_funds: 'unavailable',
  gas_price_too_high: 'tooExpensive',
  hook_failed: 'unavailable',
}
