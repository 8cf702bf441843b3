/** When to try again after a temporary failure (s). */
export const RETRY_AFTER_SECONDS = 5

/** The API, or routes behind `x402Protect`. */
export type Face = 'api' | 'route'

const same = (status: number) => ({ api: status, route: status })

/** An outside failure. At a route, the buyer sees 503. */
const outside = (api: number) => ({ api, route: 503 })

/** HTTP status of each problem, by face. */
export const STATUS = {
  invalid_request: same(400),
  invalid_json: same(400),
  unauthorized: same(401),
  cross_origin: same(403),
  forbidden: same(403),
  not_found: same(404),
  merchant_not_configured: { api: 404, route: 503 },
  method_not_allowed: same(405),
  idempotency_conflict: same(409),
  project_exists: same(409),
  project_configured: same(409),
  merchant_paused: { api: 409, route: 503 },
  settlement_not_refundable: same(409),
  refund_exceeds_payment: same(409),
  refund_refused: same(409),
  too_many_webhooks: same(409),
  too_many_tokens: same(409),
  too_many_checkouts: same(409),
  checkout_paid: same(409),
  answer_not_kept: same(410),
  checkout_expired: same(410),
  checkout_canceled: same(410),
  precondition_failed: same(412),
  payload_too_large: same(413),
  unsupported_media_type: same(415),
  rate_limited: same(429),
  internal_error: same(500),
  answer_too_large: same(500),
  refunds_not_available: same(501),
  transaction_failed: same(502),
  settlement_pending: same(503),
  checkout_in_progress: same(503),
  idempotency_in_progress: same(503),
  server_busy: same(503),
  shutting_down: same(503),
  unsupported_currency: outside(400),
  amount_out_of_range: outside(400),
  rate_unavailable: outside(502),
  chain_unreachable: outside(502),
  chain_refused: outside(502),
  chain_mismatch: outside(502),
  settlement_timeout: outside(502),
  facilitator_unreachable: outside(502),
  facilitator_refused: outside(502),
  facilitator_busy: outside(503),
  ledger_full: outside(503),
  ledger_unavailable: outside(503),
  relayer_without_funds: outside(503),
  gas_price_too_high: outside(503),
  hook_failed: outside(503),
} as const satisfies Readonly<Record<string, Readonly<Record<Face, number>>>>

/** The `code` of a problem, and the last part of its `type`. */
export type ProblemCode = keyof typeof STATUS
