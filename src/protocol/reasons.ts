/**
 * Every reason for which a payment is refused.
 *
 * Spelled as in the x402 v2 specification §9; where it has none, as in `@x402/evm`; where neither
 * has one, in a spelling of our own.
 */

/** x402 v2 §9. */
const specified = [
  /** The payload, or what the scheme puts into it, does not have the required shape. */
  'invalid_payload',
  /** `x402Version` is not 2. */
  'invalid_x402_version',
  /** The scheme is not `exact`. */
  'unsupported_scheme',
  /** The network is unknown here, or the merchant does not take payments on it. */
  'invalid_network',
  /** The requirements name something that can never be settled. */
  'invalid_payment_requirements',
  /** The authorization pays somebody else. */
  'invalid_exact_evm_payload_recipient_mismatch',
  /** The authorization moves another amount than required. */
  'invalid_exact_evm_payload_authorization_value_mismatch',
  /** The authorization is not valid yet. */
  'invalid_exact_evm_payload_authorization_valid_after',
  /** The authorization has lapsed, or will before it can be mined. */
  'invalid_exact_evm_payload_authorization_valid_before',
  /** The signature is not the payer's over this authorization. */
  'invalid_exact_evm_payload_signature',
  /** The payer does not have enough of the token. */
  'insufficient_funds',
  /** The transaction was mined and failed, or no node took it. */
  'invalid_transaction_state',
  /** A facilitator elsewhere refused the payment for a reason that cannot be passed on. */
  'unexpected_verify_error',
  /** The same of a settlement. */
  'unexpected_settle_error',
] as const

/** `@x402/evm`. */
const established = [
  /** The authorization was settled or cancelled before. */
  'invalid_exact_evm_nonce_already_used',
  /** The token refuses the transfer, for none of the causes that have a reason of their own. */
  'invalid_exact_evm_transaction_simulation_failed',
  /** The asset is no ERC-3009 token on this network. */
  'invalid_exact_evm_eip3009_not_supported',
  /** The transaction went through, but did not move the money as authorized. */
  'invalid_exact_evm_transfer_event_mismatch',
  /** The payer's account would have to be deployed first (ERC-6492), by a factory not listed. */
  'eip6492_factory_not_allowed',
  /** The same authorization is being settled by another request at this moment. */
  'duplicate_settlement',
  /** The transaction was sent; whether it is mined is not known yet. */
  'settlement_pending',
] as const

/** Ours. */
const own = [
  /** The merchant does not take this token. */
  'unsupported_asset',
  /** `accepted` and `paymentRequirements` are not the same offer. */
  'accepted_mismatch',
  /** `payTo` is not the address of the merchant who asks. */
  'pay_to_mismatch',
  /** The payment names another resource than the one it is presented for. */
  'resource_mismatch',
  /** The quote in `accepted.extra` was not made for this: another resource, amount or token. */
  'quote_mismatch',
  /** The quote no longer holds; the answer has a fresh one. */
  'quote_expired',
  /** Another payment has the same id (extension `payment-identifier`). */
  'payment_identifier_conflict',
  /** The payer's account is a contract, or delegates to one (EIP-7702); this gateway takes none. */
  'contract_payer_not_accepted',
  /** Transfers of this payer, or of accounts like his, have failed on chain at the gateway's cost. */
  'payer_temporarily_refused',
  /** Settling it would take more gas than the gateway pays for. */
  'settlement_too_expensive',
  /** The token's operator has blocked the payer. */
  'payer_blacklisted',
  /** The token's operator has blocked the payee. */
  'pay_to_blacklisted',
  /** The token's operator has paused it. */
  'token_paused',
] as const

/** Why a payment is refused; see the list above for the meaning of each. */
export type Reason =
  (typeof specified)[number] | (typeof established)[number] | (typeof own)[number]

/** All reasons. Each has a row in `ucp/gateway.md` § Error Mapping, as a test checks. */
export const reasons: readonly Reason[] = [...specified, ...established, ...own]
