import { randomBytes } from 'node:crypto'
import express, { type Request, type RequestHandler, type Response, type Router } from 'express'
import { z } from 'zod'
import {
  DELIVERY_STATES,
  MAX_ENDPOINTS,
  TEST_EVENT,
  WEBHOOK_EVENTS,
  type WebhookEndpoint,
} from '../ledger/webhook-store.js'
import { RequestProblem } from '../http/respond-problem.js'
import { respondJson } from '../http/respond-json.js'
import { parseStrictDocument } from '../protocol/strict-document.js'
import { DELIVERIES_QUERY, WEBHOOK_MEMBERS } from '../protocol/strict-document.js'
import { findReceiver } from '../webhooks/receiver-url.js'
import { createWebhookSecret } from '../webhooks/signature.js'
import { projectOf } from './authenticate.js'
import type { Endpoint, RouterContext } from './context.js'
import { invalidBody, jsonBody, readBody } from './json-body.js'
import { readQuery, takesNoQuery } from './read-query.js'
import { onceForKey, readHeaderKey } from './repeatable-request.js'
import { deliveryCursor, deliveryDocument, parseDeliveryCursor } from './webhook-documents.js'
import { endpointDocument } from './webhook-documents.js'

/** Milliseconds for which a secret that was replaced still signs: a day. */
const ROTATION_MS = 24 * 3_600_000

/** Deliveries on a page. */
const DEFAULT_LIMIT = 20
const MAX_LIMIT = 100

/** The forms of ids. The ledger is asked only for such. */
const ENDPOINT_ID = /^we_[0-9a-f]{32}$/
const DELIVERY_ID = /^msg_[0-9a-f]{32}$/

const url = z.string({
  error: ({ input }) => (input === undefined ? 'is missing: where events are sent' : undefined),
})

const events = z
  .array(z.enum(WEBHOOK_EVENTS))
  .min(1, 'must name at least one event')
  // Each once, in one order.
  .transform((given) => WEBHOOK_EVENTS.filter((event) => given.includes(event)))

const creationSchema = z.looseObject({ url, events: events.optional() })
const changeSchema = z
  .looseObject({ url: url.optional(), events: events.optional() })
  .refine((change) => change.url !== undefined || change.events !== undefined, {
    error: 'must have url or events',
  })

const NOT_A_LIMIT = `must be an integer from 1 to ${MAX_LIMIT}`

const deliveriesSchema = z.object({
  cursor: z
    .string()
    .transform((text, context) => {
      const position = parseDeliveryCursor(text)
      if (position !== undefined) return position
      context.addIssue('must be the nextCursor of a page before')
      return z.NEVER
    })
    .optional(),
  limit: z
    .string(NOT_A_LIMIT)
    .regex(/^\d{1,3}$/, NOT_A_LIMIT)
    .transform(Number)
    .refine((limit) => limit >= 1 && limit <= MAX_LIMIT, NOT_A_LIMIT)
    .optional(),
  state: z.enum(DELIVERY_STATES).optional(),
})

/** `/api/v2/merchant/webhooks`: who is told of the project's payments, and what was delivered. */
export function webhookRoutes(context: RouterContext): Router {
  const router = express.Router()
  const json = (endpoint: Endpoint): RequestHandler => respondJson(context, endpoint)
  router.get('/', takesNoQuery, json(listEndpoints))
  router.post('/', takesNoQuery, jsonBody, json(createEndpoint))
  router.get('/:id', takesNoQuery, json(showEndpoint))
  router.patch('/:id', takesNoQuery, jsonBody, json(changeEndpoint))
  router.delete('/:id', takesNoQuery, deleteEndpoint(context))
  router.post('/:id/rotate-secret', takesNoQuery, json(rotateSecret))
  router.post('/:id/test', takesNoQuery, json(sendTest))
  router.get('/:id/deliveries', json(listDeliveries))
  router.post('/:id/deliveries/:deliveryId/resend', takesNoQuery, json(resendDelivery))
  return router
}

const listEndpoints: Endpoint = async ({ ledger, now }, _req, res) => {
  const endpoints = await ledger.webhooks.endpoints.list(projectIdOf(res))
  return { webhooks: endpoints.map((one) => endpointDocument(one, now())) }
}

const createEndpoint: Endpoint = async (context, req, res) => {
  const { ledger, webhooks, now } = context
  const project = projectIdOf(res)
  const body = readBody(req, (given) => parseStrictDocument(creationSchema, given, WEBHOOK_MEMBERS))
  const request = readHeaderKey(req, { res, project, endpoint: 'webhooks', body })
  const given = await checkedUrl(body.url, webhooks)
  const document = await onceForKey(context, request, async (claim) => {
    const created = await ledger.webhooks.endpoints.create({
      ...{ id: `we_${randomBytes(16).toString('hex')}`, project, url: given },
      ...{ events: body.events ?? WEBHOOK_EVENTS, secret: createWebhookSecret() },
    })
    if (created === undefined) {
      await claim.abandon()
      throw tooMany()
    }
    const shown = { ...endpointDocument(created, now()), secret: created.secret }
    await claim.finish(JSON.stringify(shown))
    return shown
  })
  res.status(201)
  return document
}

function tooMany(): RequestProblem {
  return new RequestProblem(
    'too_many_webhooks',
    `This project has ${MAX_ENDPOINTS} webhooks already: delete one, or change it with PATCH.`,
  )
}

const showEndpoint: Endpoint = async (context, req, res) =>
  endpointDocument(await endpointOf(context, req, res), context.now())

const changeEndpoint: Endpoint = async ({ ledger, webhooks, now }, req, res) => {
  const body = readBody(req, (given) => parseStrictDocument(changeSchema, given, WEBHOOK_MEMBERS))
  const given = body.url === undefined ? undefined : await checkedUrl(body.url, webhooks)
  const change = { url: given, events: body.events }
  const id = endpointIdOf(req)
  const changed = await ledger.webhooks.endpoints.change(projectIdOf(res), id, change)
  return endpointDocument(changed ?? notFound(), now())
}

const deleteEndpoint =
  ({ ledger }: RouterContext): RequestHandler =>
  (req, res, next) => {
    Promise.resolve()
      .then(() => ledger.webhooks.endpoints.delete(projectIdOf(res), endpointIdOf(req)))
      .then((isDeleted) => (isDeleted ? void res.status(204).end() : notFound()))
      .catch(next)
  }

const rotateSecret: Endpoint = async ({ ledger, now }, req, res) => {
  const rotation = { secret: createWebhookSecret(), previousForMs: ROTATION_MS }
  const id = endpointIdOf(req)
  const rotated = await ledger.webhooks.endpoints.rotate(projectIdOf(res), id, rotation)
  const endpoint = rotated ?? notFound()
  return { ...endpointDocument(endpoint, now()), secret: endpoint.secret }
}

const sendTest: Endpoint = async (context, req, res) => {
  const endpoint = await endpointOf(context, req, res)
  const data = { test: true, webhook: endpoint.id, project: endpoint.project }
  const delivery = await context.ledger.webhooks.deliveries.add({
    ...{ endpoint, data, type: TEST_EVENT },
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
    ...{ project, endpoint, state, after, limit: limit + 1 },
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
  context.wakeWebhooks?.()
  res.status(202)
  return deliveryDocument(delivery)
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
  throw new RequestProblem('not_found', 'This project has no webhook of that id.')
}
