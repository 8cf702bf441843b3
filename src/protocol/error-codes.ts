/** The codes of all errors, and where each is documented. */

/** What is wrong with an option: the `code` of a `ConfigIssue`. */
export type ConfigErrorCode =
  | 'missing_option'
  | 'missing_variable'
  | 'unknown_option'
  | 'conflicting_options'
  | 'invalid_type'
  | 'invalid_value'
  | 'out_of_range'
  | 'invalid_url'
  | 'invalid_address'
  | 'invalid_key'
  | 'invalid_token'
  | 'invalid_price'
  | 'invalid_rate'
  | 'invalid_file'
  | 'unknown_network'
  | 'unknown_asset'
  | 'unknown_currency'
  | 'unknown_project'
  | 'unknown_event'
  | 'unpaid_request'
  | 'waived_too_late'
  | 'duplicate_network'
  | 'duplicate_asset'
  | 'duplicate_key'
  | 'duplicate_project'
  | 'duplicate_token'
  | 'missing_package'
  | 'unusable_ledger'
  | 'unusable_address'

/**
 * Why a network could not be used. `chain_unreachable`: no answer came. `chain_refused`: the node
 * refused a request, or its answer cannot be used. `chain_mismatch`: the node is on another chain.
 * `settlement_timeout`: nothing could be sent in time, and nothing was.
 */
export type ChainErrorCode =
  'chain_unreachable' | 'chain_refused' | 'chain_mismatch' | 'settlement_timeout'

/**
 * Why there is no token amount. `rate_unavailable`: no source has a usable rate now.
 * `unsupported_currency`: the merchant takes no token for that currency, or no source knows the rate it
 * needs. `amount_out_of_range`: the amount is outside the merchant's limits.
 */
export type RateErrorCode = 'rate_unavailable' | 'unsupported_currency' | 'amount_out_of_range'

/** Why a ledger could not be used. `ledger_full`: it takes no new payments for now. */
export type LedgerErrorCode = 'ledger_unavailable' | 'ledger_full'

/**
 * Why no relayer can send. `relayer_without_funds`: none has enough gas money.
 * `gas_price_too_high`: gas costs more than `maxFeePerGasGwei`.
 */
export type RelayerErrorCode = 'relayer_without_funds' | 'gas_price_too_high'

/**
 * Why a remote facilitator could not be used. `facilitator_unreachable`: no answer came.
 * `facilitator_refused`: the answer is no result, or is about another payment. `facilitator_busy`: it was
 * asked too often, or would be; nothing was sent.
 */
export type FacilitatorErrorCode =
  'facilitator_unreachable' | 'facilitator_refused' | 'facilitator_busy'

/** Every `code` of an error of this package, for an exhaustive `switch`. */
export type GatewayErrorCode =
  | 'config_invalid'
  | ChainErrorCode
  | RateErrorCode
  | LedgerErrorCode
  | RelayerErrorCode
  | FacilitatorErrorCode

/** The page that has a heading for every code. */
const DOCUMENTATION = 'https://unpkg.com/express-x402-gateway/example-app/docs/errors.md'

/** Where a code is documented: what it means, and what to do. */
export function documentationOf(code: GatewayErrorCode | ConfigErrorCode): string {
  return `${DOCUMENTATION}#${code}`
}
