import express, { type ErrorRequestHandler, type RequestHandler, type Router } from 'express'
import { isOutsideFailure } from '../errors.js'
import type { Logger } from '../logger.js'
import type { Project } from '../merchants/project.js'
import { RETRY_AFTER_SECONDS, STATUS } from '../http/problem-status.js'
import { publicRootOf } from '../http/public-url.js'
import type { RateLimitOptions } from '../http/rate-limiter.js'
import { RequestProblem, respondProblem } from '../http/respond-problem.js'
import { identifyProject, requireProject } from './authenticate.js'
import { setDocsUrl, warnOfHandlerName } from './docs-url.js'
import { merchantRoutes, type MerchantRoutesContext } from './merchant-routes.js'
import { paymentRoutes, type PaymentRoutesContext } from './payment-routes.js'
import { limitRequests } from './rate-limit.js'
import { settlementRoutes, type SettlementRoutesContext } from './settlement-routes.js'
import { allowAnyOrigin, ucpRoutes, type UcpRoutesContext } from './ucp-routes.js'

/** What the API needs from the gateway. */
export interface GatewayRouterContext
  extends PaymentRoutesContext, MerchantRoutesContext, SettlementRoutesContext, UcpRoutesContext {
  readonly projects: readonly Project[]
  readonly publicUrl: string | undefined
  readonly docsUrl: string | undefined
  readonly rateLimit: RateLimitOptions | false
  readonly logger: Logger
}

/** The method of each endpoint. GET includes HEAD. */
const ENDPOINTS: Readonly<Record<string, 'GET' | 'POST'>> = {
  '/api/v2/payment/requirements': 'POST',
  '/api/v2/payment/verify': 'POST',
  '/api/v2/payment/settle': 'POST',
  '/api/v2/payment/supported': 'GET',
  '/api/v2/merchant/payment-profile': 'GET',
  '/api/v2/merchant/checkout-prepare': 'POST',
  '/api/v2/merchant/settlements': 'GET',
  '/api/v2/merchant/settlements/{id}': 'GET',
  '/ucp/schema.json': 'GET',
  '/ucp/instrument_schema.json': 'GET',
  '/ucp/gateway.md': 'GET',
  '/ucp/{version}/schema.json': 'GET',
  '/ucp/{version}/instrument_schema.json': 'GET',
  '/ucp/{version}/gateway.md': 'GET',
}

/** Path of one settlement. */
const SETTLEMENT = /^(\/api\/v2\/merchant\/settlements)\/[^/]+$/

/** The version in the path of a document. */
const VERSION = /^\/ucp\/\d{4}-\d{2}-\d{2}\//

/** The gateway owns everything below these paths; all other paths are left to the app. */
const PREFIXES = ['/api/v2/payment', '/api/v2/merchant', '/ucp']

/** Makes the router with the whole API of the payment gateway. */
export function createGatewayRouter(context: GatewayRouterContext): Router {
  const gateway = express.Router()
  gateway.use('/ucp', allowAnyOrigin)
  gateway.use(identifyProject(context.projects, context.logger))
  if (context.rateLimit !== false) gateway.use(limitRequests(context.rateLimit, context.logger))
  gateway.use(checkEndpoint)
  gateway.use('/api/v2', requireProject)
  // First, since these are the most frequent requests.
  gateway.use('/api/v2/payment', paymentRoutes(context))
  gateway.use(['/ucp', '/api/v2/merchant/payment-profile'], warnOfHandlerName(context))
  gateway.use('/ucp', ucpRoutes(context))
  gateway.use('/api/v2/merchant/settlements', settlementRoutes(context))
  gateway.use('/api/v2/merchant', merchantRoutes(context))
  gateway.use(respondError(context.logger))

  const router = express.Router()
  router.use(function x402Gateway(req, res, next) {
    const ours = PREFIXES.some((prefix) => req.path === prefix || req.path.startsWith(`${prefix}/`))
    if (!ours) return next()
    const { baseUrl } = req
    setDocsUrl(res, () => context.docsUrl ?? publicRootOf(req, context.publicUrl) + baseUrl)
    gateway(req, res, next)
  })
  return router
}

/** Refuses paths without an endpoint, and methods that an endpoint does not have. */
const checkEndpoint: RequestHandler = (req, res, next) => {
  if (!isDecodable(req.path))
    return next(new RequestProblem('invalid_request', 'The path is not percent-encoded UTF-8.'))
  const endpoint = req.path
    .replace(/\/$/, '')
    .replace(SETTLEMENT, '$1/{id}')
    .replace(VERSION, '/ucp/{version}/')
  const method = ENDPOINTS[endpoint]
  if (method === undefined)
    return next(
      new RequestProblem(
        'not_found',
        `There is no ${req.path} here; there is ${Object.keys(ENDPOINTS).join(', ')}.`,
      ),
    )
  if (req.method === method || (req.method === 'HEAD' && method === 'GET')) return next()
  res.set('Allow', method === 'GET' ? 'GET, HEAD, OPTIONS' : 'POST, OPTIONS')
  if (req.method === 'OPTIONS') return void res.status(204).end()
  next(new RequestProblem('method_not_allowed', `${req.path} takes ${method}, not ${req.method}.`))
}

function isDecodable(path: string): boolean {
  try {
    decodeURIComponent(path)
    return true
  } catch {
    return false
  }
}

/** Responds to every failure with problem details; what clients must not see is only logged. */
function respondError(logger: Logger): ErrorRequestHandler {
  // oxlint-disable-next-line eslint/max-params -- Express recognises error handlers by their arity
  return function respondGatewayError(error: unknown, _req, res, next) {
    if (res.headersSent) return next(error)
    if (error instanceof RequestProblem) return respondProblem(res, 'api', error)
    if (isOutsideFailure(error)) {
      const { code, message: detail } = error
      logger.error('A gateway request failed.', { code, error })
      if (STATUS[code].api >= 500) res.set('Retry-After', String(RETRY_AFTER_SECONDS))
      return respondProblem(res, 'api', { code, detail })
    }
    logger.error('A gateway request met a bug.', { error })
    respondProblem(res, 'api', {
      code: 'internal_error',
      detail: 'The gateway failed; this is not the request’s fault.',
    })
  }
}
