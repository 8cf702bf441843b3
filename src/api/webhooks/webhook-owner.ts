import { WEBHOOK_EVENTS, type WebhookEvent } from '../../ledger/webhooks.js'
import type { RouterContext } from '../context.js'
import { MERCHANT, type Owner } from '../serve/owner.js'

export const WEBHOOKS = { tag: 'Webhooks', scope: 'webhooks' } as const

export interface WebhookOwner<Context = RouterContext> extends Owner<Context> {
  readonly events: readonly WebhookEvent[]
}

export const MERCHANT_WEBHOOKS: WebhookOwner = { ...MERCHANT, events: WEBHOOK_EVENTS }
