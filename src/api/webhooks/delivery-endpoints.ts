/** `…/webhooks/{id}/deliveries`: what was sent to a webhook. */
import { z } from 'zod'
import { notFound } from '../../shared/http/respond-problem.js'
import { DELIVERY_STATES, OPERATOR, TEST_EVENT } from '../../ledger/webhooks.js'
import { noteAct } from '../serve/acting.js'
import type { RouterContext } from '../context.js'
import { defineEndpoint, type Endpoint } from '../serve/define-endpoint.js'
import { lazyDocuments } from '../serve/lazy-documents.js'
import { owned } from '../serve/owner.js'
import { limitParameter, nameOfPlace, pageOf, placeParameter } from '../serve/pages.js'
import { endpointOf } from './find-webhook.js'
import { deliveryDocument } from './webhook-documents.js'
import { WEBHOOKS, type WebhookOwner } from './webhook-owner.js'

const documents = lazyDocuments(() => import('../documents/webhook.js'))

const DELIVERY_ID = /^msg_[0-9a-f]{32}$/

const deliveryQuery = z.object({
  cursor: placeParameter('msg_[0-9a-f]{32}'),
  limit: limitParameter('Deliveries'),
  state: z.enum(DELIVERY_STATES).optional().meta({ description: 'Only those in this state.' }),
})

/** @param params - Those of the webhook's path. */
export function deliveryEndpoints<Context extends RouterContext>(
  owner: WebhookOwner<Context>,
  params: Readonly<Record<string, string>>,
): readonly Endpoint<Context>[] {
  const webhook = `${owner.prefix}/webhooks/{id}`
  const path = `${webhook}/deliveries`
  return [
    defineEndpoint({
      ...owned(owner, 'testWebhook', WEBHOOKS),
      method: 'POST',
      path: `${webhook}/test`,
      params,
      limit: 'sendings',
      summary: 'Send a test event',
      description: 'Sends `webhook.test`, as other events are sent.',
      responses: { 202: { description: 'It will be sent.', document: documents('delivery') } },
      async handle(context: Context, call) {
        const endpoint = await endpointOf(context, call)
        const { id, project } = endpoint
        await noteAct(context, call.res, { action: 'webhook.tested', after: { webhook: id } })
        const data = { test: true, webhook: id, ...(project !== OPERATOR && { project }) }
        const { deliveries } = context.ledger.webhooks
        const added = await deliveries.add({ endpoint, data, type: TEST_EVENT })
        context.wakeWebhooks?.(id)
        return deliveryDocument(context, added)
      },
    }),
    defineEndpoint({
      ...owned(owner, 'listDeliveries', WEBHOOKS),
      method: 'GET',
      path,
      params,
      summary: 'List the deliveries of a webhook',
      description: 'What was sent, and what will be, newest first, in pages.',
      query: deliveryQuery,
      responses: { 200: { description: 'A page.', document: documents('deliveryList') } },
      async handle(context: Context, call) {
        const { cursor: after, limit, state } = call.query
        const { id: endpoint, project } = await endpointOf(context, call)
        const query = { project, endpoint, state, after, limit: limit + 1 }
        const found = await context.ledger.webhooks.deliveries.list(query)
        const { page, next } = pageOf(found, limit, nameOfPlace)
        return { deliveries: page.map((one) => deliveryDocument(context, one)), ...next }
      },
    }),
    defineEndpoint({
      ...owned(owner, 'resendDelivery', WEBHOOKS),
      method: 'POST',
      path: `${path}/{deliveryId}/resend`,
      params: { ...params, deliveryId: 'Id of the delivery: `msg_` and 32 hexadecimal digits.' },
      limit: 'sendings',
      summary: 'Send a delivery again',
      description: 'Sends it once more, whether it was taken or not.',
      responses: { 202: { description: 'It will be sent.', document: documents('delivery') } },
      async handle(context: Context, call) {
        const endpoint = await endpointOf(context, call)
        const id = call.param('deliveryId')
        const { deliveries } = context.ledger.webhooks
        const resent = DELIVERY_ID.test(id) ? await deliveries.resend(endpoint, id) : undefined
        if (resent === undefined) return notFound('This webhook has no delivery of that id.')
        const after = { webhook: endpoint.id, delivery: id }
        await noteAct(context, call.res, { action: 'delivery.resent', after })
        context.wakeWebhooks?.(endpoint.id)
        return deliveryDocument(context, resent)
      },
    }),
  ]
}
