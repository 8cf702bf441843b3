/** `…/webhooks` */
import type { WebhookEvent } from '../../../ledger/webhooks.js'
import { DELIVERIES_QUERY, WEBHOOK_MEMBERS } from '../../../protocol/strict-document.js'
import { bodySchemas, deliveriesSchema } from '../../webhook-requests.js'
import {
  delivery,
  deliveryList,
  webhook,
  webhookList,
  webhookWithSecret,
} from '../documents/webhook.js'
import type { Operations } from '../operation.js'
import { WITH_BODY, WITH_KEY } from '../problems.js'
import { bodySchema, queryParameters, type Abouts } from '../request-schema.js'
import { PAGE } from './merchant-operations.js'
import { commonOf, type Owner } from './owner.js'

/** Whose webhooks, and what they may be told. */
export interface WebhookOwner extends Owner {
  readonly events: readonly WebhookEvent[]
  /** Placeholders of the prefix. */
  readonly path?: Readonly<Record<string, string>>
}

const abouts: Abouts = {
  url: {
    description: 'Where events are sent: an HTTPS URL of a public address.',
    examples: ['https://shop.example/x402-events'],
  },
  events: { description: 'What is told. Default: everything.', required: false },
}

const deliveryParameters = queryParameters(
  deliveriesSchema,
  {
    ...PAGE,
    limit: {
      description: 'Deliveries on a page, 1 to 100. Default: 20.',
      schema: { type: 'integer', minimum: 1, maximum: 100, default: 20 },
    },
    state: { description: 'Only those in this state.' },
  },
  DELIVERIES_QUERY,
)

/** The webhooks of an owner. */
export function webhookOperations(owner: WebhookOwner): Operations {
  const webhooks = `${owner.prefix}/webhooks`
  const common = {
    tag: owner.access === 'admin' ? 'Admin: webhooks' : 'Webhooks',
    path: { ...owner.path },
    problems: [...owner.problems, 'not_found'],
  } as const
  return {
    [`GET ${webhooks}`]: {
      ...commonOf(owner, 'listWebhooks'),
      ...common,
      summary: 'List webhooks',
      description: 'All webhooks, oldest first, without their secrets.',
      responses: { 200: { description: 'The webhooks.', document: webhookList } },
    },
    [`POST ${webhooks}`]: {
      ...commonOf(owner, 'createWebhook'),
      ...common,
      ...creationOf(owner.events),
      problems: [...common.problems, ...WITH_BODY, ...WITH_KEY, 'too_many_webhooks'],
    },
    ...oneWebhook(owner, { ...common, path: { ...owner.path, id: WEBHOOK_ID } }),
    ...deliveries(owner, { ...common, path: { ...owner.path, id: WEBHOOK_ID } }),
  }
}

const WEBHOOK_ID = 'Id of the webhook: `we_` and 32 hexadecimal digits.'

function creationOf(events: readonly WebhookEvent[]) {
  return {
    summary: 'Create a webhook',
    description:
      'Events are signed as Standard Webhooks describes, and sent until the receiver takes them. The secret is in this response only.',
    headers: ['Idempotency-Key'],
    body: {
      schema: bodySchema(bodySchemas(events).creation, abouts, WEBHOOK_MEMBERS),
      example: { url: 'https://shop.example/x402-events', events: events.slice(0, 1) },
    },
    responses: {
      201: { description: 'Created, with its secret.', document: webhookWithSecret },
    },
  } as const
}

type Common = Pick<Operations[string], 'tag' | 'path' | 'problems'>

function oneWebhook(owner: WebhookOwner, common: Common): Operations {
  const one = `${owner.prefix}/webhooks/{id}`
  return {
    [`GET ${one}`]: {
      ...commonOf(owner, 'getWebhook'),
      ...common,
      summary: 'Get a webhook',
      description: 'One webhook, without its secret.',
      responses: { 200: { description: 'The webhook.', document: webhook } },
    },
    [`PATCH ${one}`]: {
      ...commonOf(owner, 'changeWebhook'),
      ...common,
      summary: 'Change a webhook',
      description: 'Changes the URL, the events, or both.',
      body: {
        schema: bodySchema(bodySchemas(owner.events).change, abouts, WEBHOOK_MEMBERS),
        example: { events: owner.events.slice(0, 1) },
      },
      responses: { 200: { description: 'The webhook, as it is now.', document: webhook } },
      problems: [...common.problems, ...WITH_BODY],
    },
    [`DELETE ${one}`]: {
      ...commonOf(owner, 'deleteWebhook'),
      ...common,
      summary: 'Delete a webhook',
      description: 'Deletes it, with its deliveries. What waits is not sent.',
      responses: { 204: { description: 'Deleted.' } },
    },
    [`POST ${one}/rotate-secret`]: {
      ...commonOf(owner, 'rotateWebhookSecret'),
      ...common,
      summary: 'Replace the secret of a webhook',
      description:
        'For 24 hours, deliveries are signed with both secrets. The new one is in this response only.',
      responses: { 200: { description: 'With its new secret.', document: webhookWithSecret } },
    },
    [`POST ${one}/test`]: {
      ...commonOf(owner, 'testWebhook'),
      ...common,
      summary: 'Send a test event',
      description: 'Sends `webhook.test`, as other events are sent.',
      responses: { 202: { description: 'It will be sent.', document: delivery } },
    },
  }
}

function deliveries(owner: WebhookOwner, common: Common): Operations {
  const list = `${owner.prefix}/webhooks/{id}/deliveries`
  return {
    [`GET ${list}`]: {
      ...commonOf(owner, 'listDeliveries'),
      ...common,
      summary: 'List the deliveries of a webhook',
      description: 'What was sent, and what will be, newest first, in pages.',
      query: deliveryParameters,
      responses: { 200: { description: 'A page.', document: deliveryList } },
    },
    [`POST ${list}/{deliveryId}/resend`]: {
      ...commonOf(owner, 'resendDelivery'),
      ...common,
      summary: 'Send a delivery again',
      description: 'Sends it once more, whether it was taken or not.',
      path: { ...common.path, deliveryId: 'Id of the delivery: `msg_` and 32 hexadecimal digits.' },
      responses: { 202: { description: 'It will be sent.', document: delivery } },
    },
  }
}
