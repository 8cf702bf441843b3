import { isObject } from '../../../shared/protocol/document.js'
import type { ProblemCode } from '../../../shared/http/problem-status.js'
import { parse, readSettlement, type Answer } from './http.js'
import { visible } from '../../../shared/protocol/visible-text.js'

/**
 * Problems that mean that the gateway has sent no transaction for the payment.
 *
 * Not `ledger_unavailable`: the ledger may also fail after the transfer. Nor the problems of a remote
 * facilitator, whose answer may have been lost.
 */
const BEFORE_SENDING: readonly ProblemCode[] = [
  'chain_unreachable',
  'gas_price_too_high',
  'merchant_not_configured',
  'rate_unavailable',
  'relayer_without_funds',
  'server_busy',
  'settlement_timeout',
  'shutting_down',
]

/** Problem details (RFC 9457). */
interface Problem {
  readonly type: unknown
  readonly code: string
  readonly detail: unknown
}

/** Describes an answer's problem, to follow its status; empty if it has none. */
export function describeProblem(answer: Answer): string {
  const problem = readProblem(answer)
  if (problem === undefined) return ''
  const { code, detail } = problem
  return ` ${visible(code)}${typeof detail === 'string' ? `: ${visible(detail)}` : ''}`
}

/** Whether an answer means that this request settled nothing. */
export function isBeforeSending(answer: Answer): boolean {
  const problem = readProblem(answer)
  if (problem === undefined || readSettlement(answer) !== undefined) return false
  // Other servers may use the same code for something else.
  const code = BEFORE_SENDING.find((known) => problem.type === `urn:x402-gateway:problem:${known}`)
  return code !== undefined && code === problem.code
}

function readProblem({ headers, body }: Answer): Problem | undefined {
  if (!/^application\/problem\+json\b/i.test(headers.get('content-type') ?? '')) return undefined
  const document = parse(body)
  if (!isObject(document)) return undefined
  const { type, code, detail } = document
  return typeof code === 'string' ? { type, code, detail } : undefined
}
