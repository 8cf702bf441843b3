/** How the API writes webhooks and their deliveries. */
import { isoTime } from '../../ledger/time-zone.js'
import type { WebhookDelivery, WebhookEndpoint } from '../../ledger/webhooks.js'
import { bodyOf } from '../../operate/webhooks/attempt.js'
import type { RouterContext } from '../context.js'
import { settlementDescriber } from '../settlements/settlement-document.js'

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
export function deliveryDocument(
  { directory, networkNames }: Pick<RouterContext, 'directory' | 'networkNames'>,
  delivery: WebhookDelivery,
) {
  const { id, type, payment, version, state, attempts, nextAttemptAt, createdAt } = delivery
  const { deliveredAt, lastStatus, lastError, lastResponse } = delivery
  const describe = settlementDescriber((project) => directory.findMerchant(project), networkNames)
  const body = bodyOf(delivery, describe)
  return {
    id,
    type,
    state,
    attempts,
    ...(payment !== undefined && { payment }),
    ...(version !== undefined && { version }),
    ...(body !== undefined && { body }),
    createdAt: isoTime(createdAt),
    ...(state === 'pending' && { nextAttemptAt: isoTime(nextAttemptAt) }),
    ...(deliveredAt !== undefined && { deliveredAt: isoTime(deliveredAt) }),
    ...(lastStatus !== undefined && { lastStatus }),
    ...(lastError !== undefined && { lastError }),
    ...(lastResponse !== undefined && { lastResponse }),
  }
}
