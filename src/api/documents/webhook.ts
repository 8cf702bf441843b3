/** Webhooks and their deliveries, as the API shows them. */
import { z } from 'zod'
import { DELIVERY_STATES, OPERATOR_EVENTS, WEBHOOK_EVENTS } from '../../ledger/webhooks.js'
import { document } from './component.js'
import { integer, list, nextCursor, text, time } from './fields.js'

const members = {
  id: text('Id of the webhook.', `we_${'0'.repeat(32)}`),
  url: text('Where events are sent.', 'https://shop.example/x402-events'),
  events: z.array(z.enum([...WEBHOOK_EVENTS, ...OPERATOR_EVENTS])).meta({
    description: 'Subscribed events.',
    examples: [['payment.settled', 'refund.settled']],
  }),
  previousSecretUntil: time(
    'Until when deliveries are signed with the replaced secret, too.',
  ).optional(),
  createdAt: time('When it was created.'),
  updatedAt: time('When it was last changed.'),
}

export const webhook = document('Webhook', 'A URL that receives events.', members)

export const webhookWithSecret = document('WebhookWithSecret', 'A webhook, with its new secret.', {
  ...members,
  secret: text(
    'Signs deliveries, as Standard Webhooks does. It is shown in this response only.',
    'whsec_…',
  ),
})

export const webhookList = document('WebhookList', 'The webhooks of a project.', {
  webhooks: list('Oldest first; ten at most.', webhook),
})

export const delivery = document('WebhookDelivery', 'One event for one webhook.', {
  id: text('The `webhook-id`, the same at every attempt.'),
  type: text('The event.', 'payment.settled'),
  state: z.enum(DELIVERY_STATES).meta({
    description: '`pending` ones are tried again; `failed` ones only when they are resent.',
  }),
  attempts: integer('Attempts so far.', 1),
  payment: text('Id of the settlement it tells of.').optional(),
  version: integer('Number of this event among those of the settlement.').optional(),
  body: text('What is posted, as JSON; absent in the response to resend.').optional(),
  createdAt: time('When the event happened.'),
  nextAttemptAt: time('When it is tried next; of pending ones.').optional(),
  deliveredAt: time('When the receiver took it.').optional(),
  lastStatus: integer('HTTP status of the last attempt.').optional(),
  lastError: text('What was wrong at the last attempt.').optional(),
  lastResponse: text('How the receiver’s last response begins.').optional(),
})

export const deliveryList = document('WebhookDeliveryList', 'A page of deliveries.', {
  deliveries: list('Newest first.', delivery),
  nextCursor,
})
