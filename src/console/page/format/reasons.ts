/** Readable reasons of refusals. Others are shown as they are spelled. */
import { words } from './text.js'

const REASONS: Readonly<Record<string, string>> = {
  insufficient_funds: 'The payer does not have enough of the token',
  invalid_exact_evm_nonce_already_used: 'The authorization was used or cancelled before',
  invalid_exact_evm_payload_signature: 'The signature is not the payer’s',
  invalid_exact_evm_payload_authorization_valid_before: 'The authorization has lapsed',
  invalid_exact_evm_payload_authorization_valid_after: 'The authorization is not valid yet',
  invalid_exact_evm_payload_authorization_value_mismatch: 'The signed amount is wrong',
  invalid_exact_evm_payload_recipient_mismatch: 'The authorization pays another address',
  invalid_exact_evm_transaction_simulation_failed: 'The token refuses the transfer',
  invalid_exact_evm_transfer_event_mismatch: 'The money did not move as authorized',
  invalid_exact_evm_eip3009_not_supported: 'The token takes no authorizations',
  invalid_transaction_state: 'The transaction was mined and failed',
  invalid_payload: 'The payment is malformed',
  invalid_network: 'The merchant takes no payments on that network',
  invalid_x402_version: 'Another version of x402',
  duplicate_settlement: 'The same payment is being settled already',
  settlement_pending: 'The transaction is not mined yet',
  invalid_payment_requirements: 'The payment is for another offer',
  resource_mismatch: 'The payment is for another resource',
  quote_mismatch: 'The quote is for something else',
  quote_expired: 'The quote has expired',
  unsupported_asset: 'The merchant does not take this token',
  payment_identifier_conflict: 'Another payment has the same identifier',
  payer_temporarily_refused: 'Recent transfers of this payer failed',
  payer_blacklisted: 'The token’s operator has blocked the payer',
  pay_to_blacklisted: 'The token’s operator has blocked the merchant',
  token_paused: 'The token’s operator has paused it',
  merchant_paused: 'The merchant is paused',
  contract_payer_not_accepted: 'The payer’s account is a contract',
  settlement_too_expensive: 'Settling takes too much gas',
}

export const reasonInWords = (reason: string): string => REASONS[reason] ?? words(reason)
