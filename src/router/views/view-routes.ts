import express, { type Request, type RequestHandler, type Response, type Router } from 'express'
import { respondJson } from '../../http/respond-json.js'
import { merchantOf } from '../authenticate.js'
import type { RouterContext } from '../context.js'
import type { EndpointMethod } from '../endpoints.js'
import { settlementOf } from '../settlement-document.js'
import { funnelOf, latencyOf } from './activity-view.js'
import { revenueOf, revenueView } from './revenue-view.js'
import { readSpan, shownSpan, SPAN_PARAMETERS, type ViewScope } from './view-query.js'

/** Settlements of an overview. */
const RECENT = 10

/** How to find whose payments a request may see. `parameters` are those of the query that `scopeOf` reads. */
export interface ViewAccess<Context extends RouterContext> {
  readonly parameters: readonly string[]
  readonly scopeOf: (context: Context, req: Request, res: Response) => ViewScope
}

/** The views, below where they are mounted. */
const VIEW_PATHS = ['/overview', '/revenue', '/funnel', '/latency'] as const

/** The endpoints of the views, below a prefix. */
export function viewEndpoints(prefix: string): Readonly<Record<string, readonly EndpointMethod[]>> {
  return Object.fromEntries(VIEW_PATHS.map((path) => [prefix + path, ['GET'] as const]))
}

/** The views of a project's own token: its own payments only. */
export function merchantViews(context: RouterContext): Router {
  return viewRoutes(context, {
    parameters: [],
    scopeOf: (_context, _req, res) => merchantOf(res),
  })
}

/** The views of the payments that `scopeOf` allows. */
export function viewRoutes<Context extends RouterContext>(
  context: Context,
  { parameters, scopeOf }: ViewAccess<Context>,
): Router {
  const known = [...SPAN_PARAMETERS, ...parameters]
  const respond = (produce: View): RequestHandler =>
    respondJson(context, (given, req, res) => produce(given, scopeOf(given, req, res), req))
  const ofSpan = (view: SpanView): View =>
    async function viewOfSpan(given, scope, req) {
      const span = readSpan(req, given.now(), known)
      return { ...shownSpan(span), ...(await view(given, scope, span)) }
    }
  const router = express.Router()
  router.get('/overview', respond(ofSpan(overviewOf)))
  router.get('/funnel', respond(ofSpan(funnelOf)))
  router.get('/latency', respond(ofSpan(async (...of) => ({ phases: await latencyOf(...of) }))))
  router.get(
    '/revenue',
    respond((given, scope, req) => revenueView(given, scope, { req, parameters })),
  )
  return router
}

type View = (context: RouterContext, scope: ViewScope, req: Request) => Promise<object>
type SpanView = (
  context: RouterContext,
  scope: ViewScope,
  span: ReturnType<typeof readSpan>,
) => Promise<object>

/** What happened, at a glance: sums by token, numbers, percentiles, and the newest settlements. */
const overviewOf: SpanView = async (context, scope, span) => {
  const { ledger, networkNames } = context
  const [revenue, { total }, phases, newest] = await Promise.all([
    revenueOf(context, scope, { ...span, by: 'asset' }),
    funnelOf(context, scope, span),
    latencyOf(context, scope, span),
    ledger.payments.list({ project: scope.project, limit: RECENT }),
  ])
  return {
    revenue,
    funnel: total,
    phases,
    settlements: newest.map((record) => settlementOf(record, scope, networkNames)),
  }
}
