/** Problem details (RFC 9457): the format of every error body. */
import { STATUS_CODES } from 'node:http'
import type { DocumentError } from '../protocol/document.js'
import type { ProblemCode } from './problem-status.js'

/** Media type of problem details. */
export const PROBLEM_JSON = 'application/problem+json'

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

/** Members of a problem in addition to the standard ones (RFC 9457 §3.2). */
export interface ProblemExtensions {
  readonly [member: string]: unknown
}

/** Makes the body of an error response. */
export function problemDetails(
  { status, code, detail }: Pick<ProblemDetails, 'status' | 'code' | 'detail'>,
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
