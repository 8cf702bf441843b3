/** Problem details (RFC 9457): the format of every error body. */
import { STATUS_CODES } from 'node:http'
import type { DocumentError } from '../protocol/document.js'

/** Media type of problem details. */
export const PROBLEM_JSON = 'application/problem+json'

/** Every kind of problem: its `code`, and the last part of its `type`. */
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
  /** What was wrong, and how to fix it. */
  readonly detail: string
  readonly code: ProblemCode
  /** The members of the request that are invalid, and why. */
  readonly errors?: readonly DocumentError[]
  readonly [extension: string]: unknown
}

/** A problem, without its extension members. */
export interface Problem {
  readonly status: number
  readonly code: ProblemCode
  readonly detail: string
}

/** Members that a problem may have beside the standard ones (RFC 9457 §3.2). */
export interface ProblemExtensions {
  readonly [member: string]: unknown
}

/** Makes the body of an error response. */
export function problemDetails(
  { status, code, detail }: Problem,
  extensions: ProblemExtensions = {},
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
