import express, { type Router } from 'express'
import { merchantOf } from '../authenticate.js'
import type { RouterContext } from '../context.js'
import type { EndpointMethod } from '../endpoints.js'
import { settlementOf } from '../settlement-document.js'
import { eventStream } from './event-stream.js'
import { settlementsCsv } from './settlements-csv.js'
import type { StreamAccess } from './stream-access.js'

/** The endpoints of the streams, below a prefix. */
export function streamEndpoints(
  prefix: string,
): Readonly<Record<string, readonly EndpointMethod[]>> {
  return { [`${prefix}/settlements.csv`]: ['GET'], [`${prefix}/events`]: ['GET'] }
}

/** The streams of a project's own payments. */
export function merchantStreams(context: RouterContext): Router {
  return streamRoutes(context, {
    owner: 'projects',
    parameters: [],
    scopeOf: (_context, _req, res) => merchantOf(res),
    documentOf({ directory, networkNames }, record) {
      const { accepts = [] } = directory.findMerchant(record.project ?? '') ?? {}
      return settlementOf(record, { accepts }, networkNames)
    },
  })
}

/** `settlements.csv` and `events`, of the payments that `access` allows. */
export function streamRoutes<Context extends RouterContext>(
  context: Context,
  access: StreamAccess<Context>,
): Router {
  const router = express.Router()
  router.get('/settlements.csv', settlementsCsv(context, access))
  router.get('/events', eventStream(context, access))
  return router
}
