/** Problem details (RFC 9457), the format of every error body. */
import type { Response } from 'express'
import { STATUS_CODES } from 'node:http'
import { responseRequestId } from './request-id.js'
import { STATUS, type Face, type ProblemCode } from './problem-status.js'

/** A problem. Its code decides the status. */
export interface Problem {
  readonly code: ProblemCode
  /** The problem and its remedy. */
  readonly detail: string
  /** When to try again (s). @defaultValue {@link RETRY_AFTER_SECONDS} */
  readonly retryAfterSeconds?: number | undefined
  /** Members in addition to the standard ones (RFC 9457 §3.2). */
  readonly extensions?: Readonly<Record<string, unknown>> | undefined
}

/** Answer to new and unfinished requests while the gateway closes. */
export const SHUTTING_DOWN = {
  code: 'shutting_down',
  detail: 'The server is shutting down. Send the same request again in a few seconds.',
} as const satisfies Problem

/** A problem with a request, thrown for the router's error handler. */
export class RequestProblem extends Error implements Problem {
  constructor(
    readonly code: ProblemCode,
    readonly detail: string,
    readonly extensions?: Problem['extensions'],
  ) {
    super(detail)
  }
}

/** @throws {@link RequestProblem} 404 */
export function notFound(detail: string): never {
  throw new RequestProblem('not_found', detail)
}

export function problemDetails({ code, detail, extensions }: Problem, status: number) {
  return {
    type: `urn:x402-gateway:problem:${code}`,
    title: STATUS_CODES[status] ?? 'Error',
    status,
    detail,
    code,
    ...extensions,
  }
}

/** Responds with problem details. Writes every error body of the package. */
export function respondProblem(res: Response, face: Face, problem: Problem): void {
  const status = STATUS[problem.code][face]
  res.status(status)
  res.set({ 'Content-Type': 'application/problem+json', 'Cache-Control': 'no-store' })
  const requestId = face === 'api' ? responseRequestId(res) : undefined
  res.end(JSON.stringify({ ...problemDetails(problem, status), ...(requestId && { requestId }) }))
}
