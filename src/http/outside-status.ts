/** The HTTP status of each failure of the outside world: a chain, a rate, the ledger, a relayer. */
import type { OutsideFailure } from '../errors.js'

/** Seconds after which a request that failed for such a reason is worth another try. */
export const RETRY_AFTER_SECONDS = 5

/** The status of an error code at each face: at the API, and at a route behind `x402Protect`. */
export const STATUS: Readonly<
  Record<OutsideFailure['code'], { readonly api: 400 | 502 | 503; readonly route: 503 }>
> = {
  unsupported_currency: { api: 400, route: 503 },
  amount_out_of_range: { api: 400, route: 503 },
  rate_unavailable: { api: 502, route: 503 },
  chain_unreachable: { api: 502, route: 503 },
  chain_refused: { api: 502, route: 503 },
  chain_mismatch: { api: 502, route: 503 },
  settlement_timeout: { api: 502, route: 503 },
  facilitator_unreachable: { api: 502, route: 503 },
  facilitator_refused: { api: 502, route: 503 },
  ledger_full: { api: 503, route: 503 },
  ledger_unavailable: { api: 503, route: 503 },
  relayer_without_funds: { api: 503, route: 503 },
  relayer_without_lease: { api: 503, route: 503 },
  gas_price_too_high: { api: 503, route: 503 },
}
