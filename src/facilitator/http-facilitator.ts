import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import { ConfigError, FacilitatorError } from '../errors.js'
import { fingerprintOf, idempotencyKey } from '../idempotency/store.js'
import { sameNetwork } from '../protocol/networks.js'
import { parseExactEvmPayload, X402_VERSION } from '../protocol/payment.js'
import type {
  PaymentPayload,
  PaymentRequirements,
  SettleResponse,
  SupportedResponse,
  VerifyResponse,
} from '../protocol/payment.js'
import type { Reason } from '../protocol/reasons.js'
import { readBounded } from '../http/read-bounded.js'
import type { Facilitator } from './facilitator.js'

/** Milliseconds for which a remote facilitator is waited for: beyond its own 25 s for a settlement. */
const DEFAULT_TIMEOUT_MS = 35_000

/** Options of {@link httpFacilitator}. */
export interface HttpFacilitatorOptions {
  /** Base URL of the facilitator: `POST <url>/verify` and so on. Ours: `<gateway>/api/v2/payment`. */
  readonly url: string
  /** Sent as `X-Project-Identify-Token`. */
  readonly token?: string
  /** Sent with every request, for facilitators that authenticate otherwise. */
  readonly headers?: Readonly<Record<string, string>>
  /** @defaultValue 35000 */
  readonly timeoutMs?: number
}

/** Bytes of an answer beyond which it is not read. */
const MAX_ANSWER_BYTES = 256 * 1024

/** Longest of what it names: a reason, a network, a scheme. */
const MAX_NAME = 128

/** What goes on into headers and logs of ours: words of printable ASCII. */
const NAME = /^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/

const name = z.string().max(MAX_NAME).regex(NAME)

/** Reasons of other facilitators are passed on as they are, where they are fit to be. */
const reasonOr = (unfit: string) =>
  z
    .string()
    .min(1)
    .transform((text) => (name.safeParse(text).success ? text : unfit) as Reason)

const transaction = z.string().regex(/^0x[0-9a-fA-F]{64}$/)

/**
 * Members that are optional in x402 v2; some facilitators write `null` for what is not there. They
 * are read where they count.
 */
const optional = z.string().nullish()

const verifySchema = z.union([
  z.object({ isValid: z.literal(true), payer: optional }),
  z.object({
    isValid: z.literal(false),
    invalidReason: reasonOr('unexpected_verify_error'),
    payer: optional,
  }),
])

const settleSchema = z.union([
  z.object({ success: z.literal(true), transaction, network: optional, payer: optional }),
  z.object({
    success: z.literal(false),
    errorReason: reasonOr('unexpected_settle_error'),
    transaction: z.unknown().optional(),
    settledBy: z.unknown().optional(),
    network: optional,
    payer: optional,
  }),
])

const supportedSchema = z.object({
  // Some also speak other versions of x402; we do not.
  kinds: z
    .array(z.object({ x402Version: z.int(), scheme: name, network: name }))
    .transform((kinds) =>
      kinds.flatMap(({ x402Version, ...kind }) =>
        x402Version === X402_VERSION ? [{ x402Version: X402_VERSION, ...kind }] : [],
      ),
    ),
  extensions: z.array(name).default([]),
  signers: z.record(name, z.array(name)).default({}),
})

/**
 * A facilitator elsewhere, over HTTP (x402 v2 §7): another gateway of ours or anybody's.
 *
 * Settlements carry an `Idempotency-Key`: where the answer to one was lost, asking again gives the
 * same answer, if the facilitator knows such keys.
 *
 * @throws {@link ConfigError} for a `url` that is none. Its methods throw {@link FacilitatorError}
 * when the facilitator cannot be asked; what it may have done is then not known.
 */
export function httpFacilitator(options: HttpFacilitatorOptions): Facilitator {
  const { url, token, headers = {}, timeoutMs = DEFAULT_TIMEOUT_MS } = options
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol))
    throw new ConfigError('facilitator.url', 'must be an absolute http(s) URL')
  const base = url.replace(/\/+$/, '')
  /**
   * Part of every key: an answer that was lost is repeated to whoever asked, and not to another
   * process that brings the same payment, and might honour it once more.
   */
  const asker = randomUUID()

  const request = async <T>(
    path: string,
    schema: z.ZodType<T>,
    { body, key }: { readonly body?: object; readonly key?: string } = {},
  ): Promise<T> => {
    const answer = await fetch(`${base}/${path}`, {
      method: body === undefined ? 'GET' : 'POST',
      headers: {
        ...(body && { 'content-type': 'application/json' }),
        ...(key !== undefined && { 'idempotency-key': key }),
        ...(token !== undefined && { 'x-project-identify-token': token }),
        ...headers,
      },
      ...(body && { body: JSON.stringify(body) }),
      // Elsewhere, the token would be somebody else's to read.
      redirect: 'manual',
      signal: AbortSignal.timeout(timeoutMs),
    })
      .then(async (response) => ({
        status: response.status,
        text: await readBounded(response, MAX_ANSWER_BYTES),
      }))
      .catch((error: unknown) => {
        throw unreachable(path, error)
      })
    if (answer.text === undefined)
      throw new FacilitatorError(
        'facilitator_refused',
        `The facilitator answered ${path} with more than ${MAX_ANSWER_BYTES} bytes.`,
      )
    const parsed = schema.safeParse(parseJson(answer.text))
    // An answer that says what happened counts, whatever its status.
    if (parsed.success) return parsed.data
    throw refusedAnswer(path, answer.status)
  }

  return {
    async verify(payload, requirements): Promise<VerifyResponse> {
      const answer = await request('verify', verifySchema, {
        body: submission(payload, requirements),
      })
      const payer = payerOf(payload)
      if (!answer.isValid) {
        const { isValid, invalidReason } = answer
        return { isValid, invalidReason, payer }
      }
      requireOwn('verify', answer, { payer })
      return { isValid: true, payer }
    },
    async settle(payload, requirements): Promise<SettleResponse> {
      const body = submission(payload, requirements)
      const key = idempotencyKey(asker, fingerprintOf(body))
      const answer = await request('settle', settleSchema, { body, key })
      const payer = payerOf(payload)
      const { network } = requirements
      if (!answer.success) {
        const { success, errorReason } = answer
        const settledBy = hashOrNone(answer.settledBy)
        const sent = hashOrNone(answer.transaction) ?? ''
        return {
          ...{ success, errorReason, transaction: sent, network, payer },
          ...(settledBy !== undefined && { settledBy }),
        }
      }
      requireOwn('settle', answer, { payer, network })
      return { success: true, transaction: answer.transaction, network, payer }
    },
    supported: () => request<SupportedResponse>('supported', supportedSchema),
  }
}

/**
 * Compares whom and what a facilitator speaks of with what it was asked about.
 *
 * @throws {@link FacilitatorError} where it confirms somebody else's payment: what became of this
 * one is not known.
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

function hashOrNone(value: unknown): string | undefined {
  const hash = transaction.safeParse(value)
  return hash.success ? hash.data : undefined
}

/** Who pays by the payment's own account. */
function payerOf(payload: PaymentPayload): string {
  const wire = parseExactEvmPayload(payload.payload)
  return wire.ok ? wire.value.authorization.from : ''
}

function submission(paymentPayload: PaymentPayload, paymentRequirements: PaymentRequirements) {
  return { x402Version: paymentPayload.x402Version, paymentPayload, paymentRequirements }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function unreachable(path: string, error: unknown): FacilitatorError {
  const cause = error instanceof Error ? error.name : 'unknown failure'
  return new FacilitatorError(
    'facilitator_unreachable',
    `The facilitator did not answer ${path}: ${cause}.`,
  )
}

function refusedAnswer(path: string, status: number): FacilitatorError {
  const hint = status === 401 || status === 403 ? '; check its token' : ''
  return new FacilitatorError(
    'facilitator_refused',
    `The facilitator answered ${path} with HTTP ${status} and no result${hint}.`,
  )
}
