import { randomUUID } from 'node:crypto'
import type { z } from 'zod'
import { ConfigError, FacilitatorError } from '../../shared/errors.js'
import { fingerprintOf, idempotencyKey } from '../../ledger/once/fingerprint.js'
import { sameNetwork } from '../../shared/protocol/networks.js'
import { isHexAddress } from '../../shared/protocol/primitives.js'
import { isFailedTransaction, type Reason } from '../../shared/protocol/reasons.js'
import {
  UPTO,
  type PaymentPayload,
  type PaymentRequirements,
  type SettleResponse,
  type SupportedResponse,
  type VerifyResponse,
} from '../../shared/protocol/payment.js'
import { fetchJson, type JsonResponse } from '../../shared/http/fetch-json.js'
import { isHttpUrl } from '../../shared/http/http-url.js'
import type { Facilitator } from './facilitator.js'
import { checkHeaders, headersFor, type FacilitatorHeaders } from './request-headers.js'
import {
  hashOrNone,
  ownWords,
  resultOf,
  settleSchema,
  supportedSchema,
  verifySchema,
} from './remote-results.js'

/** More than the 25 s that our own gateways take at most for a settlement. */
const DEFAULT_TIMEOUT_MS = 35_000

/**
 * Options of {@link httpFacilitator}.
 *
 * @example
 * ```ts
 * import type { HttpFacilitatorOptions } from 'express-x402-gateway'
 *
 * const options: HttpFacilitatorOptions = {
 *   url: 'https://pay.example.com/api/v2/payment',
 *   token: process.env['X402_PROJECT_TOKEN'] ?? '',
 * }
 * ```
 */
export interface HttpFacilitatorOptions {
  /** Base URL of the facilitator: `POST <url>/verify` and so on. Ours: `<gateway>/api/v2/payment`. */
  readonly url: string
  /** Identify token of your project there, sent as `X-Project-Identify-Token`. @defaultValue no token */
  readonly token?: string
  /**
   * Sent with every request, for facilitators that authenticate in another way; a function makes them
   * anew for each request. @defaultValue no headers
   */
  readonly headers?: Readonly<Record<string, string>> | FacilitatorHeaders
  /** Milliseconds until a whole response must have arrived. @defaultValue 35000 */
  readonly timeoutMs?: number
}

/** A longer response is not read. */
const MAX_ANSWER_BYTES = 256 * 1024

/**
 * Uses a facilitator elsewhere, over HTTP (x402 v2 §7): another gateway of ours or anybody's.
 *
 * It settles the schemes that its `GET /supported` lists: `exact`, and `upto` for routes with a maximum
 * (`x402Protect({ upTo })`), of which it is told what to take.
 *
 * Settlements carry an `Idempotency-Key`: when a response was lost, asking again gives the same
 * result, if the facilitator supports such keys. The methods throw {@link FacilitatorError}
 * (`facilitator_unreachable`, `facilitator_refused`) when no result came; what the facilitator has
 * done is then unknown.
 *
 * @param options - Where it is, and how to authenticate.
 * @returns The option `facilitator` of `createGateway`.
 * @throws {@link ConfigError} (`config_invalid`) when `url` is not an absolute http(s) URL, or `headers`
 * are none.
 *
 * @example
 * ```ts
 * import { createGateway, httpFacilitator } from 'express-x402-gateway'
 *
 * const gateway = createGateway({
 *   facilitator: httpFacilitator({
 *     url: 'https://pay.example.com/api/v2/payment',
 *     token: process.env['X402_PROJECT_TOKEN'] ?? '',
 *   }),
 *   networks: { base: {} },
 *   projects: [
 *     { id: 'shop', merchant: { payTo: '0x209693Bc6afc0C5328bA36FaF03C514EF312287C' } },
 *   ],
 * })
 * ```
 *
 * @example
 * ```ts
 * import { httpFacilitator } from 'express-x402-gateway'
 *
 * declare function signToken(method: string, url: string): Promise<string>
 *
 * const facilitator = httpFacilitator({
 *   url: 'https://facilitator.example/x402',
 *   headers: async ({ method, url }) => ({ authorization: `Bearer ${await signToken(method, url)}` }),
 * })
 * ```
 */
export function httpFacilitator(options: HttpFacilitatorOptions): Facilitator {
  const { url, token, headers = {}, timeoutMs = DEFAULT_TIMEOUT_MS } = options
  if (!isHttpUrl(url))
    throw new ConfigError('facilitator.url', 'must be an absolute http(s) URL', 'invalid_url')
  checkHeaders(headers)
  const remote = { url: url.replace(/\/+$/, ''), token, headers, timeoutMs }
  /** Part of the idempotency keys of callers that do not say who asks. */
  const anybody = randomUUID()

  return {
    async verify(payload, requirements): Promise<VerifyResponse> {
      const answer = await ask(remote, {
        path: 'verify',
        schema: verifySchema,
        body: submission(payload, requirements),
      })
      const payer = payerOf(payload)
      if (answer.isValid) {
        requireOwn('verify', answer, { payer })
        return { isValid: true, payer }
      }
      const { isValid, invalidReason, invalidMessage } = answer
      return { isValid, invalidReason, ...(invalidMessage && { invalidMessage }), payer }
    },
    async settle(payload, requirements, terms): Promise<SettleResponse> {
      const body = submission(payload, requirements)
      const key = terms?.purchase?.asker ?? idempotencyKey(anybody, fingerprintOf(body))
      const schema = settleSchema(requirements)
      const answer = await ask(remote, { path: 'settle', schema, body, key })
      const payer = payerOf(payload)
      const { network } = requirements
      if (answer.success) {
        requireOwn('settle', answer, { payer, network })
        const { transaction } = answer
        const amount = requirements.scheme === UPTO ? answer.amount : undefined
        return { success: true, transaction, network, payer, ...(amount && { amount }) }
      }
      const { success, errorReason, errorMessage } = answer
      const settledBy = hashOrNone(answer.settledBy)
      return {
        success,
        errorReason,
        ...(errorMessage && { errorMessage }),
        transaction: hashOrNone(answer.transaction) ?? '',
        ...(settledBy && { settledBy }),
        network,
        payer,
      }
    },
    supported: () => ask<SupportedResponse>(remote, { path: 'supported', schema: supportedSchema }),
  }
}

/** A facilitator elsewhere: options with their defaults. */
interface Remote {
  readonly url: string
  readonly token: string | undefined
  readonly headers: NonNullable<HttpFacilitatorOptions['headers']>
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

async function ask<T>(remote: Remote, { path, schema, body, key }: Question<T>): Promise<T> {
  const url = `${remote.url}/${path}`
  const request = { method: body ? 'POST' : 'GET', url } as const
  const endsAt = performance.now() + remote.timeoutMs
  const headers = await headersFor(request, remote.headers, remote.timeoutMs)
  const response = await fetchJson(url, {
    headers: {
      ...(body && { 'content-type': 'application/json' }),
      ...(key !== undefined && { 'idempotency-key': key }),
      ...(remote.token !== undefined && { 'x-project-identify-token': remote.token }),
      ...headers,
    },
    body,
    timeoutMs: Math.max(1, Math.ceil(endsAt - performance.now())),
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

/** An answer with a status and headers. */
type Answer = Extract<JsonResponse, { readonly kind: 'json' | 'no_json' }>

/** Answers to requests that were not looked at: nothing was sent. */
const UNREAD: readonly number[] = [401, 413, 429]

/**
 * Whether an answer with a result is one: some facilitators answer a refusal with 4xx, and some answer 5xx
 * with a refusal though the transaction was mined. Our own gateways answer 502 when it failed on chain.
 */
function isResult(status: number, document: unknown): boolean {
  if (status < 500) return !UNREAD.includes(status)
  const { code, success, errorReason, transaction } = Object(document) as Record<string, unknown>
  const isFailure = code === 'transaction_failed' && success === false
  return (
    isFailure && isFailedTransaction(errorReason as Reason) && hashOrNone(transaction) !== undefined
  )
}

/**
 * Checks that a confirmation is about the payment that was asked about.
 *
 * @throws {@link FacilitatorError} (`facilitator_refused`) when payer or network differ: the outcome
 * of our payment is then unknown.
 */
function requireOwn(
  path: string,
  answer: {
    readonly payer?: string | null | undefined
    readonly network?: string | null | undefined
  },
  asked: { readonly payer: string; readonly network?: string },
): void {
  const { payer, network } = answer
  const isOther = payer && asked.payer && payer.toLowerCase() !== asked.payer.toLowerCase()
  const isElsewhere =
    network && asked.network && network !== asked.network && !sameNetwork(network, asked.network)
  if (isOther || isElsewhere)
    throw new FacilitatorError(
      'facilitator_refused',
      `The facilitator answered ${path} for another ${isOther ? 'payer' : 'network'}.`,
    )
}

/** The payer that an authorization or a permit names; `""` where there is none. */
function payerOf({ payload }: PaymentPayload): string {
  const signed: unknown = payload['authorization'] ?? payload['permit2Authorization']
  const { from } = Object(signed) as { readonly from?: unknown }
  return typeof from === 'string' && isHexAddress(from) ? from : ''
}

function submission(paymentPayload: PaymentPayload, paymentRequirements: PaymentRequirements) {
  return { x402Version: paymentPayload.x402Version, paymentPayload, paymentRequirements }
}

function unreachable(path: string, reason: string): FacilitatorError {
  return new FacilitatorError(
    'facilitator_unreachable',
    `The facilitator did not answer ${path}: ${reason}.`,
  )
}

const CHECK_TOKEN = '; check its token'
const REDIRECTED = '; redirects are not followed: name the URL that it redirects to'

const HINTS: Readonly<Record<number, string>> = {
  401: CHECK_TOKEN,
  403: CHECK_TOKEN,
  404: '; check its URL',
}

function refusedAnswer(path: string, answer: Answer, secrets: readonly string[]): FacilitatorError {
  const { status, headers } = answer
  const claimsSuccess = answer.kind === 'json' && Object(answer.document).success === true
  const options = {
    cause: saidBy(answer, secrets),
    isUnsent: UNREAD.includes(status) && !claimsSuccess,
  }
  if (status === 429)
    return new FacilitatorError(
      'facilitator_busy',
      'The facilitator takes no more requests for now; nothing was sent. Present the same payment again later.',
      { ...options, retryAfterSeconds: secondsOf(headers.get('retry-after')) },
    )
  const hint = HINTS[status] ?? (status >= 300 && status < 400 ? REDIRECTED : '')
  return new FacilitatorError(
    'facilitator_refused',
    `The facilitator answered ${path} with HTTP ${status} and no result that counts${hint}.`,
    options,
  )
}

/** A shorter part of a header is no secret: texts would lose common words. */
const MIN_SECRET_LENGTH = 8

/** A facilitator's answer for the log: the target of a redirect, or its words without our secrets. */
function saidBy(answer: Answer, secrets: readonly string[]): string | undefined {
  const location = answer.headers.get('location')
  if (location !== null && URL.canParse(location)) {
    const { host, pathname } = new URL(location)
    return ownWords(`redirects to ${host}${pathname}`)
  }
  const text = answer.kind === 'json' ? JSON.stringify(answer.document) : answer.text
  const parts = secrets.flatMap((secret) => secret.split(/\s+/))
  const hidden = parts.filter(({ length }) => length >= MIN_SECRET_LENGTH)
  return ownWords(hidden.reduce((said, secret) => said.replaceAll(secret, '…'), text))
}

/** Longest time that a facilitator may ask for (s). */
const MAX_RETRY_SECONDS = 3600

/** The seconds of a `Retry-After`, where it has some. */
function secondsOf(header: string | null): number | undefined {
  return header !== null && /^\d{1,9}$/.test(header)
    ? Math.min(Math.max(1, Number(header)), MAX_RETRY_SECONDS)
    : undefined
}
