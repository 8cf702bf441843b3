import { randomBytes } from 'node:crypto'
import express, { type Request, type RequestHandler, type Response, type Router } from 'express'
import type { AuditAction } from '../ledger/projects.js'
import {
  MAX_ENDPOINTS,
  OPERATOR,
  TEST_EVENT,
  WEBHOOK_EVENTS,
  type WebhookEndpoint,
  type WebhookEvent,
} from '../ledger/webhooks.js'
import { RequestProblem } from '../http/respond-problem.js'
import { respondJson } from '../http/respond-json.js'
import { parseStrictDocument } from '../protocol/strict-document.js'
import { DELIVERIES_QUERY, WEBHOOK_MEMBERS } from '../protocol/strict-document.js'
import { findReceiver } from '../webhooks/receiver-url.js'
import { createWebhookSecret } from '../webhooks/signature.js'
import { authorOf, endpointsFor, keyScopeOf, nameOf } from './acting.js'
import { projectOf } from './authenticate.js'
import type { Endpoint, RouterContext } from './context.js'
import type { Endpoints } from './endpoints.js'
import { invalidBody, jsonBody, readBody } from './json-body.js'
import { limitSendings } from './rate-limit.js'
import { readQuery, takesNoQuery } from './read-query.js'
import { onceForKey, readHeaderKey, type KeyedRequest } from './repeatable-request.js'
import { deliveryCursor, deliveryDocument, endpointDocument } from './webhook-documents.js'
import { bodySchemas, deliveriesSchema, DELIVERY_ID, ENDPOINT_ID } from './webhook-requests.js'

/** Milliseconds for which a secret that was replaced still signs: a day. */
const ROTATION_MS = 24 * 3_600_000

/** Deliveries on a page. */
const DEFAULT_LIMIT = 20

/** The endpoints of {@link webhookRoutes}. */
export function webhookEndpoints(owner: string): Endpoints {
  return {
    [`${owner}/webhooks`]: ['GET', 'POST'],
    [`${owner}/webhooks/{id}`]: ['GET', 'PATCH', 'DELETE'],
    [`${owner}/webhooks/{id}/rotate-secret`]: ['POST'],
    [`${owner}/webhooks/{id}/test`]: ['POST'],
    [`${owner}/webhooks/{id}/deliveries`]: ['GET'],
    [`${owner}/webhooks/{id}/deliveries/{deliveryId}/resend`]: ['POST'],
  }
}

/**
 * `…/webhooks`: who is told of a project's payments, and what was delivered.
 *
 * @param events - What may be subscribed to.
 */
export function webhookRoutes(
  context: RouterContext,
  events: readonly WebhookEvent[] = WEBHOOK_EVENTS,
): Router {
  const router = express.Router()
  const schemas = bodySchemas(events)
  const json = (endpoint: Endpoint): RequestHandler => respondJson(context, endpoint)
  const limit = limitSendings(
    (res) => authorOf(res)?.actor ?? `project:${projectIdOf(res)}`,
    context.logger,
  )
  router.get('/', takesNoQuery, json(listEndpoints))
  router.post('/', takesNoQuery, jsonBody, json(createEndpoint(schemas)))
  router.get('/:id', takesNoQuery, json(showEndpoint))
  router.patch('/:id', takesNoQuery, jsonBody, json(changeEndpoint(schemas)))
  router.delete('/:id', takesNoQuery, deleteEndpoint(context))
  router.post('/:id/rotate-secret', takesNoQuery, json(rotateSecret))
  router.post('/:id/test', takesNoQuery, limit, json(sendTest))
  router.get('/:id/deliveries', json(listDeliveries))
  router.post('/:id/deliveries/:deliveryId/resend', takesNoQuery, limit, json(resendDelivery))
  return router
}

type BodySchemas = ReturnType<typeof bodySchemas>

const listEndpoints: Endpoint = async ({ ledger, now }, _req, res) => {
  const endpoints = await ledger.webhooks.endpoints.list(projectIdOf(res))
  return { webhooks: endpoints.map((one) => endpointDocument(one, now())) }
}

const createEndpoint =
  ({ creation }: BodySchemas): Endpoint =>
  async (context, req, res) => {
    const body = readBody(req, (given) => parseStrictDocument(creation, given, WEBHOOK_MEMBERS))
    const request = readHeaderKey(req, { ...keyScopeOf(res, 'webhooks'), res, body })
    const url = await checkedUrl(body.url, context.webhooks)
    const document = await onceForKey(context, request, async (claim) => {
      const created = await endpointsFor(context, res, request).create({
        id: newEndpointId(request),
        project: projectIdOf(res),
        url,
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
    res.status(201)
    return document
  }

/** A request that is repeated after its process has died creates the same endpoint. */
function newEndpointId(request: KeyedRequest | undefined): string {
  return `we_${request ? nameOf(request).slice(0, 32) : randomBytes(16).toString('hex')}`
}

function tooMany(): RequestProblem {
  return new RequestProblem(
    'too_many_webhooks',
    `There are ${MAX_ENDPOINTS} webhooks already: delete one, or change it with PATCH.`,
  )
}

const showEndpoint: Endpoint = async (context, req, res) =>
  endpointDocument(await endpointOf(context, req, res), context.now())

const changeEndpoint =
  ({ change: schema }: BodySchemas): Endpoint =>
  async (context, req, res) => {
    const body = readBody(req, (given) => parseStrictDocument(schema, given, WEBHOOK_MEMBERS))
    const url = body.url === undefined ? undefined : await checkedUrl(body.url, context.webhooks)
    const change = { url, events: body.events }
    const endpoints = endpointsFor(context, res)
    const changed = await endpoints.change(projectIdOf(res), endpointIdOf(req), change)
    return endpointDocument(changed ?? notFound(), context.now())
  }

const deleteEndpoint =
  (context: RouterContext): RequestHandler =>
  (req, res, next) => {
    Promise.resolve()
      .then(() => endpointsFor(context, res).delete(projectIdOf(res), endpointIdOf(req)))
      .then((isDeleted) => (isDeleted ? void res.status(204).end() : notFound()))
      .catch(next)
  }

const rotateSecret: Endpoint = async (context, req, res) => {
  const rotation = { secret: createWebhookSecret(), previousForMs: ROTATION_MS }
  const endpoints = endpointsFor(context, res)
  const rotated = await endpoints.rotate(projectIdOf(res), endpointIdOf(req), rotation)
  const endpoint = rotated ?? notFound()
  return { ...endpointDocument(endpoint, context.now()), secret: endpoint.secret }
}

const sendTest: Endpoint = async (context, req, res) => {
  const endpoint = await endpointOf(context, req, res)
  await noteSending(context, res, { action: 'webhook.tested', after: { webhook: endpoint.id } })
  const { id: webhook, project } = endpoint
  const data = { test: true, webhook, ...(project !== OPERATOR && { project }) }
  const delivery = await context.ledger.webhooks.deliveries.add({
    endpoint,
    data,
    type: TEST_EVENT,
  })
  context.wakeWebhooks?.()
  res.status(202)
  return deliveryDocument(delivery)
}

const listDeliveries: Endpoint = async (context, req, res) => {
  const query = readQuery(req, deliveriesSchema, DELIVERIES_QUERY)
  const { cursor: after, limit = DEFAULT_LIMIT, state } = query
  const { id: endpoint, project } = await endpointOf(context, req, res)
  // One more than requested shows whether there is another page.
  const found = await context.ledger.webhooks.deliveries.list({
    project,
    endpoint,
    state,
    after,
    limit: limit + 1,
  })
  const page = found.slice(0, limit)
  const last = page.at(-1)
  return {
    deliveries: page.map(deliveryDocument),
    ...(found.length > page.length && last && { nextCursor: deliveryCursor(last) }),
  }
}

const resendDelivery: Endpoint = async (context, req, res) => {
  const endpoint = await endpointOf(context, req, res)
  const id = String(req.params['deliveryId'])
  const delivery = DELIVERY_ID.test(id)
    ? await context.ledger.webhooks.deliveries.resend(endpoint, id)
    : undefined
  if (delivery === undefined)
    throw new RequestProblem('not_found', 'This webhook has no delivery of that id.')
  const after = { webhook: endpoint.id, delivery: id }
  await noteSending(context, res, { action: 'delivery.resent', after })
  context.wakeWebhooks?.()
  res.status(202)
  return deliveryDocument(delivery)
}

/** Writes to the audit log that an admin has a delivery sent. */
async function noteSending(
  { ledger }: RouterContext,
  res: Response,
  act: { readonly action: AuditAction; readonly after: object },
): Promise<void> {
  const author = authorOf(res)
  if (author !== undefined)
    await ledger.projects.noteAct({ ...act, project: projectIdOf(res) }, author)
}

/** @throws {@link RequestProblem} 400 for a URL that nothing is sent to. */
async function checkedUrl(given: string, rules: RouterContext['webhooks']): Promise<string> {
  const receiver = await findReceiver(given, rules)
  if (receiver.kind === 'allowed') return receiver.url.href
  throw invalidBody([{ path: 'url', message: receiver.message }])
}

/** The endpoint that a request is about. @throws {@link RequestProblem} 404, also for another project's. */
async function endpointOf(
  { ledger }: RouterContext,
  req: Request,
  res: Response,
): Promise<WebhookEndpoint> {
  const found = await ledger.webhooks.endpoints.find(projectIdOf(res), endpointIdOf(req))
  return found ?? notFound()
}

function endpointIdOf(req: Request): string {
  const id = String(req.params['id'])
  return ENDPOINT_ID.test(id) ? id : notFound()
}

/** The project of an authenticated request. */
function projectIdOf(res: Response): string {
  return projectOf(res)?.id ?? notFound()
}

function notFound(): never {
  throw new RequestProblem('not_found', 'There is no webhook of that id here.')
}
