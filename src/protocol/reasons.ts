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

  /** The payload, or its scheme's part, does not have the required shape. */
  'invalid_payload',
  /** `x402Version` is not 2. */
  'invalid_x402_version',
  /** The scheme is not `exact`. */
  'unsupported_scheme',
  /** The network is unknown here, or the merchant does not take payments on it. */
  'invalid_network',
  /** The requirements are not those that the payment accepts or that are offered, or cannot be settled. */
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
  /** The transaction was mined and failed. */
  'invalid_transaction_state',
  /** A remote facilitator refused the payment for a reason that cannot be passed on. */
  'unexpected_verify_error',
  /** A remote facilitator refused to settle for a reason that cannot be passed on. */
  'unexpected_settle_error',

  // `@x402/evm`.

  /** The authorization was settled or cancelled before. */
  'invalid_exact_evm_nonce_already_used',
  /** The token refuses the transfer for another cause. */
  'invalid_exact_evm_transaction_simulation_failed',
  /** The asset is not an ERC-3009 token on this network. */
  'invalid_exact_evm_eip3009_not_supported',
  /** The transaction went through, but did not move the money as authorized. */
  'invalid_exact_evm_transfer_event_mismatch',
  /** The payer's account must be deployed first (ERC-6492), by a factory that is not allowed. */
  'eip6492_factory_not_allowed',
  /** Another request is settling the same authorization now. */
  'duplicate_settlement',
  /** The transaction was sent; whether it is mined is not known yet. */
  'settlement_pending',

  // Ours.

  /** The merchant does not take this token. */
  'unsupported_asset',
  /** `payTo` is not the merchant's address. */
  'pay_to_mismatch',
  /** The payment names another resource than the requested one. */
  'resource_mismatch',
  /** The quote in `accepted.extra` was made for another resource, amount or token. */
  'quote_mismatch',
  /** The quote has expired; the response has a fresh one. */
  'quote_expired',
  /** Another payment has the same id (extension `payment-identifier`). */
  'payment_identifier_conflict',
  /** The payer's account is a contract, or delegates to one (EIP-7702), which this gateway does not accept. */
  'contract_payer_not_accepted',
  /** Transfers of this payer, or of accounts with the same code, failed on chain at our cost. */
  'payer_temporarily_refused',
  /** Settling it would need more gas than the gateway pays for. */
  'settlement_too_expensive',
  /** The token's operator has blocked the payer. */
  'payer_blacklisted',
  /** The token's operator has blocked the payee. */
  'pay_to_blacklisted',
  /** The token's operator has paused it. */
  'token_paused',
] as const

/** Why a payment is refused; {@link reasons} explains each. */
export type Reason = (typeof reasons)[number]

const known: ReadonlySet<string> = new Set(reasons)

/** Type guard for {@link Reason}. */
export function isReason(text: string): text is Reason {
  return known.has(text)
}

/** Whether a transaction was sent or rejected by the node, without paying the merchant. */
export const isFailedTransaction = (reason: Reason): boolean =>
  reason === 'invalid_transaction_state' || reason === 'invalid_exact_evm_transfer_event_mismatch'
