import type { LedgerRecord } from '../../ledger/record.js'
import type {
  AttemptFailure,
  AttemptOutcome,
  ClaimedDelivery,
  WebhookDelivery,
  WebhookEndpoint,
} from '../../ledger/webhooks.js'
import { LIFETIME_MS, nextAttemptInMs } from './backoff.js'
import { post } from './post.js'
import { findReceiver, type ReceiverRules } from './receiver-url.js'
import { signedHeaders } from './signature.js'
import { world } from '../../shared/world.js'

/** Timeout of an attempt, with name resolution and the whole response (ms). */
const ATTEMPT_MS = 10_000

/** The status of a receiver that wants nothing any more. */
export const GONE = 410

export interface AttemptOptions {
  readonly webhooks: ReceiverRules
  /** Describes a payment as the list of settlements does. */
  readonly describe: (record: LedgerRecord) => object
  /** Milliseconds since the epoch. */
  readonly now: () => number
  /** At least 0 and less than 1. @defaultValue `Math.random` */
  readonly random?: () => number
}

/** The body of a delivery; `undefined` if the record of its payment is gone. */
export function bodyOf(
  { type, createdAt, version, record, data }: WebhookDelivery,
  describe: AttemptOptions['describe'],
): string | undefined {
  const described = data ?? (record && describe(record))
  if (described === undefined) return undefined
  const timestamp = new Date(createdAt).toISOString()
  return JSON.stringify({
    type,
    timestamp,
    data: { ...described, ...(version !== undefined && { version }) },
  })
}

/** Delivers a claimed message once. Never rejects. */
export async function attempt(
  { endpoint, claimed }: { readonly endpoint: WebhookEndpoint; readonly claimed: ClaimedDelivery },
  { webhooks, describe, now, random = world.random }: AttemptOptions,
  signal: AbortSignal,
): Promise<AttemptOutcome> {
  const body = bodyOf(claimed, describe)
  if (body === undefined)
    return {
      kind: 'failed',
      error: 'The payment is no longer in the ledger, so there is nothing to send.',
    }
  const failed = (failure: AttemptFailure): AttemptOutcome => {
    const { attempts, ageMs } = claimed
    const { restMs } = failure
    const afterMs = nextAttemptInMs({ attempts: attempts + 1, ageMs, restMs }, random)
    return afterMs === undefined || failure.status === GONE
      ? { kind: 'failed', ...failure }
      : { kind: 'retry', afterMs, ...failure }
  }
  const startedAt = world.elapsed()
  const receiver = await findReceiver(endpoint.url, webhooks)
  if (signal.aborted) return { kind: 'returned' }
  if (receiver.kind === 'refused') return failed({ error: `The URL ${receiver.message}.` })
  const sentAt = now()
  const { secret, previous } = endpoint
  const secrets = previous && previous.until > sentAt ? [secret, previous.secret] : [secret]
  const timeoutMs = Math.max(1000, ATTEMPT_MS - Math.ceil(world.elapsed() - startedAt))
  const headers = signedHeaders({ id: claimed.id, sentAt, body }, secrets)
  const result = await post(receiver, { headers, body, timeoutMs, signal })
  if (result.kind === 'no_response')
    return signal.aborted ? { kind: 'returned' } : failed({ error: result.reason })
  const { status, text: response } = result
  if (status >= 200 && status < 300) return { kind: 'delivered', status }
  const error =
    status >= 300 && status < 400
      ? `The receiver redirects (HTTP ${status}). Redirects are not followed: register the target URL.`
      : `The receiver responded with HTTP ${status}.`
  const restMs = status === GONE ? LIFETIME_MS : restOf(result.retryAfter, now())
  return failed({ error, status, response, restMs })
}

/** Reads `Retry-After` (RFC 9110 §10.2.3): seconds, or a date. @returns Milliseconds, at most a delivery's lifetime */
function restOf(text: string | undefined, now: number): number | undefined {
  const restMs = /^\d{1,9}$/.test(text ?? '') ? Number(text) * 1000 : Date.parse(text ?? '') - now
  return restMs > 0 ? Math.min(restMs, LIFETIME_MS) : undefined
}
