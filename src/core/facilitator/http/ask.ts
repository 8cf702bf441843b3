import type { z } from 'zod'
import { FacilitatorError } from '../../../shared/errors.js'
import { fetchJson } from '../../../shared/http/fetch-json.js'
import { isFailedTransaction, type Reason } from '../../../shared/protocol/reasons.js'
import { isUnread, refusedAnswer } from './refused-answer.js'
import { headersFor, type FacilitatorHeaders } from './request-headers.js'
import { hashOrNone, resultOf } from './results.js'
import { world } from '../../../shared/world.js'

/** A longer response is not read. */
const MAX_ANSWER_BYTES = 256 * 1024

/** A facilitator elsewhere: options with their defaults. */
export interface Remote {
  readonly url: string
  readonly token: string | undefined
  readonly headers: Readonly<Record<string, string>> | FacilitatorHeaders
  readonly timeoutMs: number
}

/** One request to a facilitator, and the schema of its results. */
interface Question<T> {
  readonly path: string
  readonly schema: z.ZodType<T>
  readonly body?: object
  /** Sent as `Idempotency-Key`. */
  readonly key?: string
}

/**
 * Asks a facilitator.
 *
 * @throws {@link FacilitatorError} where no result came.
 */
export async function ask<T>(remote: Remote, { path, schema, body, key }: Question<T>): Promise<T> {
  const url = `${remote.url}/${path}`
  const request = { method: body ? 'POST' : 'GET', url } as const
  const endsAt = world.elapsed() + remote.timeoutMs
  const headers = await headersFor(request, remote.headers, remote.timeoutMs)
  const response = await fetchJson(url, {
    headers: {
      ...(body && { 'content-type': 'application/json' }),
      ...(key !== undefined && { 'idempotency-key': key }),
      ...(remote.token !== undefined && { 'x-project-identify-token': remote.token }),
      ...headers,
    },
    body,
    timeoutMs: Math.max(1, Math.ceil(endsAt - world.elapsed())),
    maxBytes: MAX_ANSWER_BYTES,
  })
  if (response.kind === 'no_response') throw unreachable(path, response.reason)
  if (response.kind === 'too_long')
    throw new FacilitatorError(
      'facilitator_refused',
      `The facilitator answered ${path} with more than ${MAX_ANSWER_BYTES} bytes.`,
    )
  const document = response.kind === 'json' ? resultOf(response.document) : undefined
  const parsed = schema.safeParse(document)
  if (parsed.success && isResult(response.status, document)) return parsed.data
  const secrets = [remote.token ?? '', ...Object.values(headers)]
  throw refusedAnswer(path, response, secrets)
}

/**
 * Whether an answer with a result is one: some facilitators answer a refusal with 4xx, and some answer 5xx
 * with a refusal though the transaction was mined. Our own gateways answer 502 when it failed on chain.
 */
function isResult(status: number, document: unknown): boolean {
  if (status < 500) return !isUnread(status)
  const { code, success, errorReason, transaction } = Object(document) as Record<string, unknown>
  const isFailure = code === 'transaction_failed' && success === false
  return (
    isFailure && isFailedTransaction(errorReason as Reason) && hashOrNone(transaction) !== undefined
  )
}

/** Failures before there is a connection. */
const NOT_CONNECTED: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
  'UND_ERR_CONNECT_TIMEOUT',
])

function unreachable(path: string, reason: string): FacilitatorError {
  return new FacilitatorError(
    'facilitator_unreachable',
    `The facilitator did not answer ${path}: ${reason}.`,
    { isUnsent: NOT_CONNECTED.has(reason) },
  )
}
