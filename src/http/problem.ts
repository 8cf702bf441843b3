/** Problem details (RFC 9457), the form of every error body. */
import { STATUS_CODES } from 'node:http'
import type { DocumentError } from '../protocol/document.js'

/** Media type of a problem. */
export const PROBLEM_JSON = 'application/problem+json'

/** Every kind of problem; the last part of its `type`. */
export type ProblemCode =
  | 'invalid_request'
  | 'invalid_json'
  | 'unauthorized'
  | 'not_found'
  | 'merchant_not_configured'
  | 'method_not_allowed'
  | 'payload_too_large'
  | 'unsupported_media_type'
  | 'rate_limited'
  | 'internal_error'
  | 'unsupported_currency'
  | 'rate_unavailable'
  | 'amount_out_of_range'
  | 'chain_unreachable'
  | 'chain_refused'
  | 'settlement_timeout'
  | 'chain_mismatch'
  | 'transaction_failed'
  | 'settlement_pending'
  | 'relayer_without_funds'
  | 'relayer_without_lease'
  | 'gas_price_too_high'
  | 'ledger_unavailable'
  | 'ledger_full'
  | 'idempotency_conflict'
  | 'idempotency_in_progress'
  | 'answer_not_kept'
  | 'answer_too_large'
  | 'server_busy'
  | 'facilitator_unreachable'
  | 'facilitator_refused'

/** An error body. */
export interface ProblemDetails {
  readonly type: `urn:x402-gateway:problem:${ProblemCode}`
  /** The status phrase. */
  readonly title: string
  readonly status: number
  /** What was wrong, and how to mend it. */
  readonly detail: string
  readonly code: ProblemCode
  /** What is wrong with which member of the request. */
  readonly errors?: readonly DocumentError[]
  readonly [extension: string]: unknown
}

/** What a problem is made of, beside its extension members. */
export interface Problem {
  readonly status: number
  readonly code: ProblemCode
  readonly detail: string
}

/** Writes a problem. */
export function problemDetails(
  { status, code, detail }: Problem,
  extensions: { readonly [member: string]: unknown } = {},
): ProblemDetails {
  return {
    type: `urn:x402-gateway:problem:${code}`,
    title: STATUS_CODES[status] ?? 'Error',
    status,
    detail,
    code,
    ...extensions,
  }
}
