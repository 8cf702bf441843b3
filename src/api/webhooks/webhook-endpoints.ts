/** `…/webhooks`: who is told of payments. */
import { z } from 'zod'
import { RequestProblem } from '../../shared/http/respond-problem.js'
import { MAX_ENDPOINTS, type WebhookEvent } from '../../ledger/webhooks.js'
import { findReceiver } from '../../operate/webhooks/receiver-url.js'
import { createWebhookSecret } from '../../operate/webhooks/secret.js'
import { endpointsFor, keyScopeOf, nameOf } from '../serve/acting.js'
import { ownProject } from '../serve/authenticate.js'
import type { RouterContext } from '../context.js'
import { defineEndpoint, type Endpoint } from '../serve/define-endpoint.js'
import { invalidBody } from '../serve/json-body.js'
import { lazyDocuments } from '../serve/lazy-documents.js'
import { owned } from '../serve/owner.js'
import { onceForKey, readHeaderKey } from '../serve/repeatable-request.js'
import { deliveryEndpoints } from './delivery-endpoints.js'
import { changeableIdOf, endpointOf, noWebhook } from './find-webhook.js'
import { endpointDocument } from './webhook-documents.js'
import { WEBHOOKS, type WebhookOwner } from './webhook-owner.js'
import { world } from '../../shared/world.js'

const documents = lazyDocuments(() => import('../documents/webhook.js'))

/** How long a secret that was replaced still signs (ms): a day. */
const ROTATION_MS = 24 * 3_600_000

function membersOf(known: readonly WebhookEvent[]) {
  const url = z
    .string({
      error: ({ input }) => (input === undefined ? 'is missing: where events are sent' : undefined),
    })
    .meta({
      description: 'Where events are sent: an HTTPS URL of a public address.',
      examples: ['https://shop.example/x402-events'],
    })
  const events = z
    .array(z.enum(known))
    .min(1, 'must name at least one event')
    // Without duplicates, in a fixed order.
    .transform((given) => known.filter((event) => given.includes(event)))
  const about = { description: 'Subscribed events. Default: all.' }
  return { url, events, about }
}

export function webhookEndpoints<Context extends RouterContext>(
  owner: WebhookOwner<Context>,
): readonly Endpoint<Context>[] {
  const path = `${owner.prefix}/webhooks`
  const params = {
    ...owner.params,
    id: 'Id of the webhook: `we_` or `we_config_`, and 32 hexadecimal digits.',
  }
  const { url, events, about } = membersOf(owner.events)
  const list = { path, ...(owner.params && { params: owner.params }) }
  const single = { path: `${path}/{id}`, params }
  const changing = { ...single, limit: 'webhooks', problems: ['project_configured'] } as const
  return [
    defineEndpoint({
      ...owned(owner, 'listWebhooks', WEBHOOKS),
      method: 'GET',
      ...list,
      summary: 'List webhooks',
      description: 'All webhooks, oldest first, without their secrets.',
      responses: { 200: { description: 'The webhooks.', document: documents('webhookList') } },
      problems: ['not_found'],
      async handle({ ledger, now }: Context, { res }) {
        const found = await ledger.webhooks.endpoints.list(ownProject(res).id)
        return { webhooks: found.map((one) => endpointDocument(one, now())) }
      },
    }),
    defineEndpoint({
      ...owned(owner, 'createWebhook', WEBHOOKS),
      method: 'POST',
      limit: 'webhooks',
      ...list,
      summary: 'Create a webhook',
      description:
        'Events are signed as Standard Webhooks describes, and sent until the receiver takes them. The secret is in this response only.',
      headers: ['Idempotency-Key'],
      body: {
        schema: z.looseObject({ url, events: events.default([...owner.events]).meta(about) }),
        example: { url: 'https://shop.example/x402-events', events: owner.events.slice(0, 1) },
      },
      responses: {
        201: { description: 'Created, with its secret.', document: documents('webhookWithSecret') },
      },
      problems: ['not_found', 'too_many_webhooks'],
      async handle(context: Context, { req, res, readBody }) {
        const body = readBody()
        const request = readHeaderKey(req, { ...keyScopeOf(res, 'webhooks'), res, body })
        const checked = await checkedUrl(body.url, context.webhooks)
        return onceForKey(context, request, async (claim) => {
          // A request that is repeated after its process has died creates the same endpoint.
          const name = request ? nameOf(request) : world.randomBytes(16).toString('hex')
          const created = await endpointsFor(context, res, request).create({
            id: `we_${name.slice(0, 32)}`,
            project: ownProject(res).id,
            url: checked,
            events: body.events,
            secret: createWebhookSecret(),
          })
          if (created === undefined) {
            await claim.abandon()
            throw tooMany()
          }
          const shown = { ...endpointDocument(created, context.now()), secret: created.secret }
          await claim.finish(JSON.stringify(shown))
          return shown
        })
      },
    }),
    defineEndpoint({
      ...owned(owner, 'getWebhook', WEBHOOKS),
      method: 'GET',
      ...single,
      summary: 'Get a webhook',
      description: 'One webhook, without its secret.',
      responses: { 200: { description: 'The webhook.', document: documents('webhook') } },
      async handle(context: Context, call) {
        return endpointDocument(await endpointOf(context, call), context.now())
      },
    }),
    defineEndpoint({
      ...owned(owner, 'changeWebhook', WEBHOOKS),
      method: 'PATCH',
      ...changing,
      summary: 'Change a webhook',
      description: 'Changes the URL, the events, or both.',
      body: {
        schema: z
          .looseObject({ url: url.optional(), events: events.optional().meta(about) })
          .refine((change) => change.url !== undefined || change.events !== undefined, {
            error: 'must have url or events',
          }),
        example: { events: owner.events.slice(0, 1) },
      },
      responses: {
        200: { description: 'The webhook, as it is now.', document: documents('webhook') },
      },
      async handle(context: Context, call) {
        const { url: given, events: wanted } = call.readBody()
        const checked = given === undefined ? undefined : await checkedUrl(given, context.webhooks)
        const changed = await endpointsFor(context, call.res).change(
          ownProject(call.res).id,
          changeableIdOf(context, call),
          { url: checked, events: wanted },
        )
        context.wakeWebhooks?.(changed?.id)
        return endpointDocument(changed ?? noWebhook(), context.now())
      },
    }),
    defineEndpoint({
      ...owned(owner, 'deleteWebhook', WEBHOOKS),
      method: 'DELETE',
      ...changing,
      summary: 'Delete a webhook',
      description: 'Deletes it, with its deliveries. What waits is not sent.',
      responses: { 204: { description: 'Deleted.' } },
      async handle(context: Context, call) {
        const endpoints = endpointsFor(context, call.res)
        if (!(await endpoints.delete(ownProject(call.res).id, changeableIdOf(context, call))))
          noWebhook()
        return undefined
      },
    }),
    defineEndpoint({
      ...owned(owner, 'rotateWebhookSecret', WEBHOOKS),
      method: 'POST',
      ...changing,
      path: `${path}/{id}/rotate-secret`,
      summary: 'Replace the secret of a webhook',
      description:
        'For 24 hours, deliveries are signed with both secrets. The new one is in this response only.',
      responses: {
        200: { description: 'With its new secret.', document: documents('webhookWithSecret') },
      },
      async handle(context: Context, call) {
        const rotated = await endpointsFor(context, call.res).rotate(
          ownProject(call.res).id,
          changeableIdOf(context, call),
          { secret: createWebhookSecret(), previousForMs: ROTATION_MS },
        )
        const endpoint = rotated ?? noWebhook()
        return { ...endpointDocument(endpoint, context.now()), secret: endpoint.secret }
      },
    }),
    ...deliveryEndpoints(owner, params),
  ]
}

function tooMany(): RequestProblem {
  return new RequestProblem(
    'too_many_webhooks',
    `There are ${MAX_ENDPOINTS} webhooks already: delete one, or change it with PATCH.`,
  )
}

/** @throws {@link RequestProblem} 400 for a URL that nothing is sent to. */
async function checkedUrl(given: string, rules: RouterContext['webhooks']): Promise<string> {
  const receiver = await findReceiver(given, rules)
  if (receiver.kind === 'allowed') return receiver.url.href
  throw invalidBody([{ path: 'url', message: receiver.message }])
}
