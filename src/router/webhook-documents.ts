/** How the API writes webhooks and their deliveries. */
import type { WebhookDelivery, WebhookEndpoint } from '../ledger/webhooks.js'

/** An endpoint, without its secrets. */
export function endpointDocument(endpoint: WebhookEndpoint, now: number) {
  const { id, url, events, previous, createdAt, updatedAt } = endpoint
  return {
    id,
    url,
    events,
    ...(previous !== undefined &&
      previous.until > now && { previousSecretUntil: isoTime(previous.until) }),
    createdAt: isoTime(createdAt),
    updatedAt: isoTime(updatedAt),
  }
}

/** A delivery. `payment` is the id of its settlement; `last…` describe the last attempt. */
export function deliveryDocument(delivery: WebhookDelivery) {
  const { id, type, payment, version, state, attempts, nextAttemptAt, createdAt } = delivery
  const { deliveredAt, lastStatus, lastError, lastResponse } = delivery
  return {
    id,
    type,
    state,
    attempts,
    ...(payment !== undefined && { payment }),
    ...(version !== undefined && { version }),
    createdAt: isoTime(createdAt),
    ...(state === 'pending' && { nextAttemptAt: isoTime(nextAttemptAt) }),
    ...(deliveredAt !== undefined && { deliveredAt: isoTime(deliveredAt) }),
    ...(lastStatus !== undefined && { lastStatus }),
    ...(lastError !== undefined && { lastError }),
    ...(lastResponse !== undefined && { lastResponse }),
  }
}

/** Where a page of deliveries begins: after this one, which the page before has shown. */
export type DeliveryPosition = Pick<WebhookDelivery, 'createdAt' | 'id'>

const CURSOR = /^(\d{1,16})\.(msg_[0-9a-f]{32})$/

/** Names a position in a list. */
export function deliveryCursor({ createdAt, id }: DeliveryPosition): string {
  return Buffer.from(`${createdAt}.${id}`, 'latin1').toString('base64url')
}

/** @returns `undefined` for a text that is no {@link deliveryCursor}. */
export function parseDeliveryCursor(text: string): DeliveryPosition | undefined {
  const match = CURSOR.exec(Buffer.from(text, 'base64url').toString('latin1'))
  return match === null ? undefined : { createdAt: Number(match[1]), id: match[2] ?? '' }
}

const isoTime = (ms: number): string => new Date(ms).toISOString()
