import {
  decodeHeader,
  PAYMENT_REQUIRED,
  PAYMENT_RESPONSE,
} from '../../../shared/protocol/headers.js'
import { readBytes } from '../../../shared/http/fetch-json.js'
import type { ProblemCode } from '../../../shared/http/problem-status.js'
import { isObject } from '../../../shared/protocol/document.js'
import { visible } from '../../../shared/protocol/visible-text.js'

/** How long to wait for the whole answer (ms): a settlement may take 25 s. */
const TIMEOUT_MS = 60_000

const MAX_BYTES = 64 * 1024 * 1024

/**
 * Problems that mean that the gateway has sent no transaction for the payment.
 *
 * Not `ledger_unavailable`: the ledger may also fail after the transfer. Nor the problems of a remote
 * facilitator, whose answer may have been lost.
 */
const BEFORE_SENDING: readonly ProblemCode[] = [
  'chain_unreachable',
  'gas_price_too_high',
  'hook_failed',
  'merchant_not_configured',
  'rate_unavailable',
  'relayer_without_funds',
  'server_busy',
  'settlement_timeout',
  'shutting_down',
]

export interface PaidRequest {
  readonly url: string
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  readonly data: string | undefined
}

export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly body: Buffer
}

/**
 * Sends a request. Redirects are not followed: another server must not see the payment.
 *
 * @throws Error with a message for people.
 */
export async function send(
  { url, method, headers, data }: PaidRequest,
  { signal, payment }: { readonly signal: AbortSignal; readonly payment?: Record<string, string> },
): Promise<Answer> {
  const limit = AbortSignal.timeout(TIMEOUT_MS)
  try {
    const response = await fetch(url, {
      method,
      headers: { ...headers, ...payment },
      redirect: 'manual',
      signal: AbortSignal.any([signal, limit]),
      ...(data !== undefined && { body: data }),
    })
    const body = await readBytes(response, MAX_BYTES)
    if (body === undefined) throw new Error(`the answer is longer than ${MAX_BYTES} bytes`)
    return { status: response.status, headers: response.headers, body }
  } catch (error) {
    if (signal.aborted) throw new Error('Interrupted.', { cause: error })
    const reason = limit.aborted ? `no answer within ${TIMEOUT_MS / 1000} s` : reasonOf(error)
    throw new NoAnswer(`${new URL(url).host} does not answer: ${reason}.`, { cause: error })
  }
}

/** No complete answer came. The request may have been processed. */
export class NoAnswer extends Error {}

function reasonOf(error: unknown): string {
  const { cause = error } = error as Error
  const { code, message } = cause as NodeJS.ErrnoException
  return code ?? message
}

/** Reads the document of a 402 from its header or body. @throws Error if there is none. */
export function readRequired({ headers, body }: Answer): Readonly<Record<string, unknown>> {
  const header = headers.get(PAYMENT_REQUIRED)
  const document = header === null ? parse(body) : readHeader(PAYMENT_REQUIRED, header)
  if (isObject(document) && Array.isArray(document['accepts'])) return document
  throw new Error('The server asks for a payment but makes no x402 offer.')
}

export function readSettlement({
  headers,
}: Pick<Answer, 'headers'>): Readonly<Record<string, unknown>> | undefined {
  const header = headers.get(PAYMENT_RESPONSE)
  const document = header === null ? undefined : readHeader(PAYMENT_RESPONSE, header)
  return isObject(document) ? document : undefined
}

function readHeader(name: string, text: string): unknown {
  const decoded = decodeHeader(text)
  if (decoded.ok) return decoded.value
  throw new Error(`The server’s header ${name} cannot be read: ${visible(decoded.problem)}.`)
}

function parse(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8')) as unknown
  } catch {
    return undefined
  }
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

/** Reads problem details (RFC 9457). */
function readProblem({ headers, body }: Answer) {
  if (!/^application\/problem\+json\b/i.test(headers.get('content-type') ?? '')) return undefined
  const document = parse(body)
  if (!isObject(document)) return undefined
  const { type, code, detail } = document
  return typeof code === 'string' ? { type, code, detail } : undefined
}
