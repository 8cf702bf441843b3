/**
 * The endpoints of webhooks, and the deliveries to them.
 *
 * A delivery is written in the same change as the record that it reports, once for each endpoint of the
 * record's project that wants the event: it exists if and only if the change does.
 */
import { CHECKOUT_EVENTS } from './checkouts.js'
import { sha256 } from '../shared/crypto/sha256.js'
import type { Hex } from '../shared/protocol/payment.js'
import type { Reason } from '../shared/protocol/reasons.js'
import { REMOTE_SUBMISSION } from './record-transaction.js'
import type { LedgerRecord } from './record.js'
import { world } from '../shared/world.js'

/** Events that an endpoint of a project may subscribe to. */
export const WEBHOOK_EVENTS = [
  /** The merchant was paid. */
  'payment.settled',
  /** The transaction was mined, and did not pay the merchant. */
  'payment.failed',
  /** The request with the payment has ended before its outcome was known; sent once a payment. */
  'payment.pending',
  /** A final record has changed: paid after all, or by another transaction after a reorganisation. */
  'payment.corrected',
  /** The buyer was paid back. */
  'refund.settled',
  /** The transaction of a refund was mined, and did not pay the buyer. */
  'refund.failed',
  /** The request for a refund has ended before its outcome was known; sent once a refund. */
  'refund.pending',
  /** A final record of a refund has changed, as `payment.corrected`. */
  'refund.corrected',
  ...CHECKOUT_EVENTS,
] as const satisfies readonly ProjectEvent[]

/**
 * An event of payments, refunds and payment links, of which a webhook is told.
 *
 * @example
 * ```ts
 * import type { ProjectEvent } from 'express-x402-gateway'
 *
 * const events: ProjectEvent[] = ['payment.settled', 'payment.corrected']
 * ```
 */
export type ProjectEvent =
  | `${'payment' | 'refund'}.${'settled' | 'failed' | 'pending' | 'corrected'}`
  | `checkout.${'paid' | 'expired'}`

/** Another address is, or will be, paid. Every endpoint of its project is told, whatever events it wants. */
export const PAY_TO_CHANGED = 'merchant.pay_to_changed'

/** Events that the operator's own endpoints may subscribe to. */
export const OPERATOR_EVENTS = [
  /** A relayer pays for few more settlements. */
  'relayer.low',
  /** A node does not answer, is behind its chain, or on another one. */
  'network.failing',
  /** A payment's transaction has been waiting for long. */
  'payments.pending',
  /** A payment is paid, and its buyer has got nothing for it. */
  'payments.undelivered',
  /** Nothing could be delivered to a webhook for a day. */
  'webhook.failing',
  /** Many payments fail for reasons that are not the buyers'. */
  'errors.high',
  PAY_TO_CHANGED,
] as const

export type OperatorEvent = (typeof OPERATOR_EVENTS)[number]

/** The name of an event. */
export type WebhookEvent = ProjectEvent | OperatorEvent

/** Stands for the operator where endpoints name their project: no project has this id. */
export const OPERATOR = ''

/** The type of a delivery that a merchant asks for to try an endpoint. */
export const TEST_EVENT = 'webhook.test'

/** Endpoints that a project may have: each one adds a row to every event. */
export const MAX_ENDPOINTS = 10

/** A URL of a project to which events are posted. */
export interface WebhookEndpoint {
  readonly id: string
  readonly project: string
  readonly url: string
  readonly events: readonly WebhookEvent[]
  /** `whsec_…`, which deliveries are signed with. It is stored as it is, because it has to sign. */
  readonly secret: string
  /** The previous secret, which also signs until a time in milliseconds since the epoch. */
  readonly previous?: { readonly secret: string; readonly until: number } | undefined
  /** Milliseconds since the epoch. */
  readonly createdAt: number
  readonly updatedAt: number
}

/** How ids of endpoints begin that the configuration declares. */
export const DECLARED = 'we_config_'

/** An endpoint that the configuration declares, and that is changed there only. */
export type DeclaredEndpoint = Pick<WebhookEndpoint, 'project' | 'url' | 'events' | 'secret'>

/** The id of a declared endpoint: the same in every process. */
export function declaredIdOf({ project, url }: Pick<WebhookEndpoint, 'project' | 'url'>): string {
  return DECLARED + sha256(JSON.stringify([project, url]), 'hex').slice(0, 32)
}

export interface EndpointChange {
  readonly url?: string | undefined
  readonly events?: readonly WebhookEvent[] | undefined
}

/** A new secret, and for how long the previous one also signs. */
export interface SecretRotation {
  readonly secret: string
  readonly previousForMs: number
}

/** The members of an endpoint that the audit log keeps: never a secret. */
export function auditedEndpoint({ id, url, events }: WebhookEndpoint): object {
  return { id, url, events }
}

/** Names a delivery: 128 random bits. */
export function newDeliveryId(): string {
  return `msg_${world.randomBytes(16).toString('hex')}`
}

/** `pending` deliveries are tried again, `failed` ones only by hand. */
export const DELIVERY_STATES = ['pending', 'delivered', 'failed'] as const

export type DeliveryState = (typeof DELIVERY_STATES)[number]

/** One event for one endpoint. */
export interface WebhookDelivery {
  /** The `webhook-id`: the same for every attempt. */
  readonly id: string
  readonly endpoint: string
  readonly project: string
  readonly type: string
  /** Id of the payment that it reports, and the number of this event among those of the payment. */
  readonly payment?: string | undefined
  readonly version?: number | undefined
  readonly state: DeliveryState
  /** Since it was created, or sent again by hand. */
  readonly attempts: number
  /** Milliseconds since the epoch, as all times. */
  readonly nextAttemptAt: number
  readonly createdAt: number
  readonly deliveredAt?: number | undefined
  /** The last attempt: its HTTP status, its error, and the beginning of the response. */
  readonly lastStatus?: number | undefined
  readonly lastError?: string | undefined
  readonly lastResponse?: string | undefined
  /** The payment as it was after the change; `undefined` if its record is gone. */
  readonly record?: LedgerRecord | undefined
  /** The data of an event that is not about a payment. */
  readonly data?: object | undefined
}

/** Which deliveries of an endpoint are listed, newest first. */
export interface DeliveryQuery {
  readonly project: string
  readonly endpoint: string
  readonly state?: DeliveryState | undefined
  /** The last delivery of the previous page. */
  readonly after?: { readonly createdAt: number; readonly id: string } | undefined
  readonly limit: number
}

/** A delivery that this process is to attempt, and nobody else meanwhile. */
export interface ClaimedDelivery extends WebhookDelivery {
  /** Names the claim. It lapses when its process is dead, and {@link CLAIM_MS} after it was made. */
  readonly claim: string
  /** How long it has been tried (ms). */
  readonly ageMs: number
}

/** How long a claim of a delivery lasts (ms): longer than an attempt. */
export const CLAIM_MS = 30_000

/** A webhook to which nothing could be delivered for long. */
export interface FailingWebhook {
  /** Id of the endpoint. */
  readonly endpoint: string
  readonly project: string
  /** When the oldest event was written that it was not given (ms since the epoch). */
  readonly since: number
}

export type AttemptOutcome =
  | { readonly kind: 'delivered'; readonly status: number }
  | (AttemptFailure & { readonly kind: 'retry'; readonly afterMs: number })
  | (AttemptFailure & { readonly kind: 'failed' })
  /** There is no result, because the process ends. Another process attempts it at once. */
  | { readonly kind: 'returned' }

export interface AttemptFailure {
  readonly error: string
  readonly status?: number | undefined
  readonly response?: string | undefined
  /** How long its receiver wants to be left alone (ms): `Retry-After`, or three days where it is gone. */
  readonly restMs?: number | undefined
}

/** How long a finished delivery is kept (ms): 30 days. */
export const KEPT_MS = 30 * 24 * 3_600_000

/** A record as it was after a change that an event reports. */
export function recordAsOf(
  record: LedgerRecord,
  change: {
    readonly state: string | null
    readonly transaction: string | null
    readonly reason: string | null
    readonly updatedAt: number
  },
): LedgerRecord {
  const { state, reason, updatedAt } = change
  const sent = (change.transaction ?? undefined) as Hex | undefined
  const transaction = sent ?? REMOTE_SUBMISSION.transaction
  const { submission: _latest, ...kept } = { submission: undefined, ...record }
  const then = { ...kept, updatedAt }
  switch (state) {
    case 'settled':
      return { ...then, state, transaction: sent }
    case 'failed':
      return { ...then, state, transaction, reason: reason as Reason }
    case 'submitted':
      return { ...then, state, submission: { ...REMOTE_SUBMISSION, transaction } }
    default:
      return { ...then, state: 'reserved' }
  }
}
