import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import { ConfigError, FacilitatorError } from '../errors.js'
import { fingerprintOf, idempotencyKey } from '../ledger/idempotency.js'
import { parseExactEvmPayload } from '../protocol/payment.js'
import type {
  PaymentPayload,
  PaymentRequirements,
  SettleResponse,
  SupportedResponse,
  VerifyResponse,
} from '../protocol/payment.js'
import type { Reason } from '../protocol/reasons.js'
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

/** Reasons of other facilitators are passed on as they are. */
const reason = z
  .string()
  .min(1)
  .transform((text) => text as Reason)

/** Members that are optional in x402 v2; some facilitators write `null` for what is not there. */
const optional = z.string().nullish()

const verifySchema = z.union([
  z.object({ isValid: z.literal(true), payer: optional }),
  z.object({ isValid: z.literal(false), invalidReason: reason, payer: optional }),
])

const settleSchema = z.union([
  z.object({
    success: z.literal(true),
    transaction: z.string().min(1),
    network: optional,
    payer: optional,
  }),
  z.object({
    success: z.literal(false),
    errorReason: reason,
    transaction: optional,
    settledBy: optional.transform((text) => text ?? undefined),
    network: optional,
    payer: optional,
  }),
])

const supportedSchema = z.object({
  kinds: z.array(z.object({ x402Version: z.literal(2), scheme: z.string(), network: z.string() })),
  extensions: z.array(z.string()).default([]),
  signers: z.record(z.string(), z.array(z.string())).default({}),
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
      .then(async (response) => ({ status: response.status, text: await response.text() }))
      .catch((error: unknown) => {
        throw unreachable(path, error)
      })
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
      const payer = answer.payer ?? payerOf(payload)
      return { ...answer, payer }
    },
    async settle(payload, requirements): Promise<SettleResponse> {
      const body = submission(payload, requirements)
      const key = idempotencyKey(asker, fingerprintOf(body))
      const answer = await request('settle', settleSchema, { body, key })
      const { transaction, network, payer } = answer
      return {
        ...answer,
        transaction: transaction ?? '',
        network: network ?? requirements.network,
        payer: payer ?? payerOf(payload),
      }
    },
    supported: () => request<SupportedResponse>('supported', supportedSchema),
  }
}

/** Who pays by the payment's own account, where the facilitator leaves it out. */
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
