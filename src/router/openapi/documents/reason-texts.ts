import type { Reason } from '../../../protocol/reasons.js'

/** Why a payment is refused, for people. */
export const REASON_TEXTS: Readonly<Record<Reason, string>> = {
  invalid_payload: 'The payload does not have the required shape.',
  invalid_x402_version: '`x402Version` is not 2.',
  unsupported_scheme: 'The scheme is not `exact`.',
  invalid_network: 'The network is unknown, or the merchant takes no payments on it.',
  invalid_payment_requirements: 'The requirements name something that can never be settled.',
  invalid_exact_evm_payload_recipient_mismatch: 'The authorization pays somebody else.',
  invalid_exact_evm_payload_authorization_value_mismatch:
    'The authorization moves another amount than required.',
  invalid_exact_evm_payload_authorization_valid_after: 'The authorization is not valid yet.',
  invalid_exact_evm_payload_authorization_valid_before:
    'The authorization has lapsed, or will before it can be mined.',
  invalid_exact_evm_payload_signature: 'The signature is not the payer’s over this authorization.',
  insufficient_funds: 'The payer has too little of the token.',
  invalid_transaction_state: 'The transaction was mined and failed.',
  unexpected_verify_error: 'A remote facilitator refused the payment, and did not say why.',
  unexpected_settle_error: 'A remote facilitator refused to settle, and did not say why.',
  invalid_exact_evm_nonce_already_used: 'The authorization was settled or cancelled before.',
  invalid_exact_evm_transaction_simulation_failed: 'The token refuses the transfer.',
  invalid_exact_evm_eip3009_not_supported: 'The asset is no ERC-3009 token on this network.',
  invalid_exact_evm_transfer_event_mismatch:
    'The transaction went through, and did not move the money as authorized.',
  eip6492_factory_not_allowed:
    'The payer’s account would have to be deployed first, by a factory that is not allowed.',
  duplicate_settlement: 'Another request is settling the same authorization now.',
  settlement_pending: 'The transaction was sent; whether it is mined is not known yet.',
  unsupported_asset: 'The merchant does not take this token.',
  accepted_mismatch: '`accepted` and `paymentRequirements` are not the same offer.',
  pay_to_mismatch: '`payTo` is not the merchant’s address.',
  resource_mismatch: 'The payment names another resource.',
  quote_mismatch: 'The quote was made for another resource, amount or token.',
  quote_expired: 'The quote has expired.',
  payment_identifier_conflict: 'Another payment has the same `payment-identifier`.',
  contract_payer_not_accepted: 'The payer’s account is a contract, and this gateway takes none.',
  payer_temporarily_refused: 'Transfers of this payer have failed on chain just now.',
  settlement_too_expensive: 'Settling takes more gas than the gateway pays for.',
  payer_blacklisted: 'The token’s operator has blocked the payer.',
  pay_to_blacklisted: 'The token’s operator has blocked the payee.',
  token_paused: 'The token’s operator has paused it.',
}
