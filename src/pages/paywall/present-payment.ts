/** Presents a payment by `fetch`, and judges the outcome. */
import { decodeJson } from './base64.js'
import type { PageDocument } from '../../sell/paywall/page-data.js'

/** Outcome of presenting a payment. */
export type Presented =
  /** The purchase arrives, or is a redirect that only a navigation follows. */
  | {
      readonly kind: 'bought'
      readonly response: Response
      readonly transaction: string | undefined
      /** Whether the seller says that the payment was settled: if nothing is charged, without a transaction. */
      readonly isSettled: boolean
      /** What was charged, in units of the token, if the seller says so. */
      readonly charged: string | undefined
    }
  /** The payment may still be settled: present it again and sign no other. */
  | {
      readonly kind: 'open'
      readonly code: string
      readonly transaction: string | undefined
      /** When to present it again automatically (ms); `undefined` if the buyer decides. */
      readonly againAfterMs: number | undefined
    }
  /** The payment is spent. `document` is the current offer. */
  | {
      readonly kind: 'refused'
      readonly code: string
      readonly transaction: string | undefined
      /** Whether the seller was paid by it. */
      readonly isPaid: boolean
      readonly document: PageDocument | undefined
    }
  /** The seller's own error. Without a transaction, nothing was charged. */
  | {
      readonly kind: 'seller_failed'
      readonly response: Response
      readonly transaction: string | undefined
    }
  /** No response came. */
  | { readonly kind: 'lost' }

/** A navigation's `Accept`, so that the seller sends the same response as to one. */
const ACCEPT = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'

/** After these codes, the same payment may still be settled, and the page asks again by itself. */
const RUNNING: readonly string[] = [
  'settlement_pending',
  'checkout_in_progress',
  'duplicate_settlement',
  'idempotency_in_progress',
]

/** A payment link cannot be paid any more: its page says so. */
export const LINK_ENDED: readonly string[] = [
  'checkout_paid',
  'checkout_expired',
  'checkout_canceled',
]

/** Problems that end a payment. After others, the same payment may be presented again. */
const FINAL_PROBLEMS: readonly string[] = [
  'idempotency_conflict',
  'answer_not_kept',
  'answer_too_large',
  'merchant_paused',
  ...LINK_ENDED,
]

/** Below 500, and a proxy's: timeout and too many requests. */
const UNKNOWN_STATUSES: readonly number[] = [408, 429]

const PROBLEM_TYPE = 'urn:x402-gateway:problem:'
const DEFAULT_RETRY_SECONDS = 5
/** A proxy may name any time. */
const MAX_RETRY_SECONDS = 60

interface Settlement {
  readonly success?: boolean
  readonly transaction?: string
  readonly amount?: string
  readonly settledBy?: string
}

/** @param header - Value of the payment header. */
export async function presentPayment(header: string): Promise<Presented> {
  let response: Response
  try {
    response = await fetch(location.origin + location.pathname + location.search, {
      headers: { Accept: ACCEPT, 'PAYMENT-SIGNATURE': header },
      cache: 'no-store',
      redirect: 'manual',
    })
  } catch {
    return { kind: 'lost' }
  }
  const settlement = decodeJson(response.headers.get('PAYMENT-RESPONSE')) as Settlement | undefined
  const transaction = settlement?.transaction || settlement?.settledBy
  const isPaid = settlement?.success === true || Boolean(settlement?.settledBy)
  if (response.ok || response.type === 'opaqueredirect')
    return {
      kind: 'bought',
      response,
      transaction,
      isSettled: settlement?.success === true,
      charged: settlement?.amount,
    }
  const offered = decodeJson(response.headers.get('PAYMENT-REQUIRED')) as PageDocument | undefined
  if (offered !== undefined) return refusal(offered, transaction, isPaid)
  const code = await problemCode(response)
  if (code === undefined) return failure(response, settlement?.success ? transaction : undefined)
  if (FINAL_PROBLEMS.includes(code))
    return { kind: 'refused', code, transaction, isPaid, document: undefined }
  const again = RUNNING.includes(code) ? retryAfterMs(response) : undefined
  return { kind: 'open', code, transaction, againAfterMs: again }
}

function refusal(
  document: PageDocument,
  transaction: string | undefined,
  isPaid: boolean,
): Presented {
  const code = document.error ?? ''
  if (RUNNING.includes(code))
    return { kind: 'open', code, transaction, againAfterMs: DEFAULT_RETRY_SECONDS * 1000 }
  return { kind: 'refused', code, transaction, isPaid, document }
}

/** An error of the seller, or one of a proxy, which leaves the outcome open. */
function failure(response: Response, transaction: string | undefined): Presented {
  const { status, headers } = response
  const isKnown = transaction !== undefined || headers.get('PAYMENT-CHARGED') === 'none'
  if (isKnown || (status < 500 && !UNKNOWN_STATUSES.includes(status)))
    return { kind: 'seller_failed', response, transaction }
  return { kind: 'open', code: 'server_busy', transaction, againAfterMs: undefined }
}

/** Reads the code of the gateway's problem details; `undefined` for the seller's own error. */
async function problemCode(response: Response): Promise<string | undefined> {
  if (!(response.headers.get('Content-Type') ?? '').startsWith('application/problem+json'))
    return undefined
  try {
    const { type } = (await response.clone().json()) as { readonly type?: unknown }
    if (typeof type !== 'string' || !type.startsWith(PROBLEM_TYPE)) return undefined
    return type.slice(PROBLEM_TYPE.length)
  } catch {
    return undefined
  }
}

function retryAfterMs(response: Response): number {
  const seconds = Number(response.headers.get('Retry-After'))
  return Math.min(seconds > 0 ? seconds : DEFAULT_RETRY_SECONDS, MAX_RETRY_SECONDS) * 1000
}
