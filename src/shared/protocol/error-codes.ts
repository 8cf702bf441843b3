/** The codes of all errors and their documentation. */

/** A mistake in an option: the `code` of a `ConfigIssue`. */
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
 * refused a request, or its answer is unusable. `chain_mismatch`: the node is on another chain.
 * `settlement_timeout`: nothing was sent, because time ran out.
 */
export type ChainErrorCode =
  'chain_unreachable' | 'chain_refused' | 'chain_mismatch' | 'settlement_timeout'

/**
 * Why there is no token amount. `rate_unavailable`: no source has a usable rate now.
 * `unsupported_currency`: the merchant takes no token for that currency, or no source knows the rate.
 * `amount_out_of_range`: the amount is outside the merchant's limits.
 */
export type RateErrorCode = 'rate_unavailable' | 'unsupported_currency' | 'amount_out_of_range'

/** Why a ledger could not be used. `ledger_full`: it takes no new payments at the moment. */
export type LedgerErrorCode = 'ledger_unavailable' | 'ledger_full'

/**
 * Why no relayer can send. `relayer_without_funds`: none has enough gas money.
 * `gas_price_too_high`: gas costs more than `maxFeePerGasGwei`.
 */
export type RelayerErrorCode = 'relayer_without_funds' | 'gas_price_too_high'

/**
 * Why a remote facilitator could not be used. `facilitator_unreachable`: no answer came.
 * `facilitator_refused`: the answer is not a result, or belongs to another payment. `facilitator_busy`: its
 * rate limit is reached; nothing was sent.
 */
export type FacilitatorErrorCode =
  'facilitator_unreachable' | 'facilitator_refused' | 'facilitator_busy'

/**
 * Why a handler's charge was not added. `charge_invalid`: it is no amount, or in another currency or token than the
 * payment. `charge_exceeds_maximum`: all charges together would be more than the payer has signed for.
 * `charge_too_late`: the response has ended.
 */
export type ChargeErrorCode = 'charge_invalid' | 'charge_exceeds_maximum' | 'charge_too_late'

/** Every `code` of an error of this package, for an exhaustive `switch`. */
export type GatewayErrorCode =
  | 'config_invalid'
  | ChainErrorCode
  | RateErrorCode
  | LedgerErrorCode
  | RelayerErrorCode
  | FacilitatorErrorCode
  | ChargeErrorCode
  | 'hook_failed'

/** Has a heading for every code. */
export const DOCUMENTATION = 'https://unpkg.com/express-x402-gateway/example-app/docs/errors.md'

/**
 * URL of the documentation of a code. unpkg serves the page as plain text, which has no anchors: browsers
 * find the heading by its text.
 */
export function documentationOf(code: GatewayErrorCode | ConfigErrorCode): string {
  return `${DOCUMENTATION}#${code}:~:text=%23%23%23%20${code}`
}
