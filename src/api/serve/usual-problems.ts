/** Problems that come together. */

/** Endpoints that turn a price into token amounts. */
export const WITH_RATE = [
  'unsupported_currency',
  'amount_out_of_range',
  'rate_unavailable',
  'merchant_paused',
] as const

/** Endpoints that ask a network's node, or another facilitator. */
export const WITH_CHAIN = [
  'chain_unreachable',
  'chain_refused',
  'chain_mismatch',
  'facilitator_unreachable',
  'facilitator_refused',
  'facilitator_busy',
] as const

/** Endpoints that send a transaction. */
export const WITH_TRANSACTION = [
  ...WITH_CHAIN,
  'settlement_timeout',
  'relayer_without_funds',
  'gas_price_too_high',
  'ledger_full',
] as const
