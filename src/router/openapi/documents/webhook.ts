/** Webhooks and their deliveries, as the API shows them. */
import { z } from 'zod'
import { DELIVERY_STATES, OPERATOR_EVENTS, WEBHOOK_EVENTS } from '../../../ledger/webhooks.js'
import type { deliveryDocument, endpointDocument } from '../../webhook-documents.js'
import { component } from '../components.js'
import { nextCursor, time } from './fields.js'

const members = {
  id: z.string().meta({ description: 'Id of the webhook.', examples: [`we_${'0'.repeat(32)}`] }),
  url: z.string().meta({
    description: 'Where events are sent.',
    examples: ['https://shop.example/x402-events'],
  }),
  events: z.array(z.enum([...WEBHOOK_EVENTS, ...OPERATOR_EVENTS])).meta({
    description: 'What is told.',
    examples: [['payment.settled', 'refund.settled']],
  }),
  previousSecretUntil: time(
    'Until when deliveries are signed with the replaced secret, too.',
  ).optional(),
  createdAt: time('When it was created.'),
  updatedAt: time('When it was last changed.'),
} satisfies Record<keyof ReturnType<typeof endpointDocument>, z.ZodType>

/** A webhook. */
export const webhook = component(
  'Webhook',
  z.object(members).meta({ description: 'A URL that is told of events.' }),
)

/** A webhook, with what its deliveries are signed with. */
export const webhookWithSecret = component(
  'WebhookWithSecret',
  z
    .object({
      ...members,
      secret: z.string().meta({
        description:
          'Signs deliveries, as Standard Webhooks does. It is shown in this response only.',
        examples: ['whsec_…'],
      }),
    })
    .meta({ description: 'A webhook, with its new secret.' }),
)

/** All webhooks of a project. */
export const webhookList = component(
  'WebhookList',
  z
    .object({ webhooks: z.array(webhook).meta({ description: 'Oldest first; ten at most.' }) })
    .meta({ description: 'The webhooks of a project.' }),
)

/** A delivery. */
export const delivery = component(
  'WebhookDelivery',
  z
    .object({
      id: z.string().meta({ description: 'The `webhook-id`, the same at every attempt.' }),
      type: z.string().meta({ description: 'The event.', examples: ['payment.settled'] }),
      state: z.enum(DELIVERY_STATES).meta({
        description: '`pending` ones are tried again; `failed` ones only when they are resent.',
      }),
      attempts: z.int().meta({ description: 'Attempts so far.', examples: [1] }),
      payment: z.string().optional().meta({ description: 'Id of the settlement it tells of.' }),
      version: z.int().optional().meta({
        description: 'Number of this event among those of the settlement.',
      }),
      createdAt: time('When the event happened.'),
      nextAttemptAt: time('When it is tried next; of pending ones.').optional(),
      deliveredAt: time('When the receiver took it.').optional(),
      lastStatus: z.int().optional().meta({ description: 'HTTP status of the last attempt.' }),
      lastError: z.string().optional().meta({ description: 'What was wrong at the last attempt.' }),
      lastResponse: z.string().optional().meta({
        description: 'How the receiver’s last response begins.',
      }),
    } satisfies Record<keyof ReturnType<typeof deliveryDocument>, z.ZodType>)
    .meta({ description: 'One event for one webhook.' }),
)

/** A page of deliveries. */
export const deliveryList = component(
  'WebhookDeliveryList',
  z
    .object({ deliveries: z.array(delivery).meta({ description: 'Newest first.' }), nextCursor })
    .meta({ description: 'A page of deliveries.' }),
)
