import express, { type ErrorRequestHandler, type Router } from 'express'
import { isOutsideFailure, retryAfterOf } from '../errors.js'
import type { Logger } from '../logger.js'
import { RETRY_AFTER_SECONDS, STATUS } from '../http/problem-status.js'
import { failureWords } from '../http/failure-words.js'
import { publicRootOf } from '../http/public-url.js'
import { ensureRequestId } from '../http/request-id.js'
import { RequestProblem, respondProblem, SHUTTING_DOWN } from '../http/respond-problem.js'
import { identifyProject, requireProject } from './authenticate.js'
import type { RouterContext } from './context.js'
import { createDocs } from './docs/docs-api.js'
import { checkEndpoint, type Endpoints } from './endpoints.js'
import { setRootUrl, warnOfHandlerName } from './docs-url.js'
import { requestFields } from './log-fields.js'
import { merchantRoutes } from './merchant-routes.js'
import { paymentRoutes } from './payment-routes.js'
import { limitRequests } from './rate-limit.js'
import { refundEndpoints, refundRoutes } from './refund-routes.js'
import { settlementRoutes } from './settlement-routes.js'
import { allowAnyOrigin, ucpRoutes } from './ucp-routes.js'
import { merchantStreams, streamEndpoints } from './streams/stream-routes.js'
import { webhookEndpoints, webhookRoutes } from './webhook-routes.js'
import { merchantViews, viewEndpoints } from './views/view-routes.js'

const ENDPOINTS: Endpoints = {
  '/api/v2/payment/requirements': ['POST'],
  '/api/v2/payment/verify': ['POST'],
  '/api/v2/payment/settle': ['POST'],
  '/api/v2/payment/supported': ['GET'],
  '/api/v2/merchant/payment-profile': ['GET'],
  '/api/v2/merchant/checkout-prepare': ['POST'],
  '/api/v2/merchant/settlements': ['GET'],
  '/api/v2/merchant/settlements/{id}': ['GET'],
  ...refundEndpoints('/api/v2/merchant/settlements/{id}'),
  ...webhookEndpoints('/api/v2/merchant'),
  ...viewEndpoints('/api/v2/merchant'),
  ...streamEndpoints('/api/v2/merchant'),
  '/ucp/schema.json': ['GET'],
  '/ucp/instrument_schema.json': ['GET'],
  '/ucp/gateway.md': ['GET'],
  '/ucp/{version}/schema.json': ['GET'],
  '/ucp/{version}/instrument_schema.json': ['GET'],
  '/ucp/{version}/gateway.md': ['GET'],
}

/** The gateway owns everything below these paths; all other paths are left to the app. */
const PREFIXES = ['/api/v2/payment', '/api/v2/merchant', '/ucp']

/**
 * Options of `gatewayRouter`.
 *
 * @example
 * ```ts
 * import express from 'express'
 * import { gatewayRouter, type GatewayRouterOptions } from 'express-x402-gateway'
 *
 * const options: GatewayRouterOptions = { docs: process.env['NODE_ENV'] !== 'production' }
 * express().use('/pay', gatewayRouter(options))
 * ```
 */
export interface GatewayRouterOptions {
  /**
   * Whether the OpenAPI document, `/api/v2/openapi.json`, and its page, `/api/v2/docs`, are served. They
   * say nothing that the endpoints do not. @defaultValue true
   */
  readonly docs?: boolean
}

/**
 * Makes the router with the whole API of the payment gateway.
 *
 * @internal
 */
export function createGatewayRouter(
  context: RouterContext,
  { docs = true }: GatewayRouterOptions = {},
): Router {
  const mounted = [...(docs ? createDocs(context) : []), ...(context.mounted ?? [])]
  const prefixes = [...PREFIXES, ...mounted.map(({ prefix }) => prefix)]
  const gateway = express.Router()
  gateway.use('/ucp', allowAnyOrigin)
  gateway.use(identifyProject(context.directory, context.logger))
  if (context.identifyMerchant) gateway.use('/api/v2/merchant', context.identifyMerchant)
  for (const { prefix, identify } of mounted) gateway.use(prefix, identify)
  if (context.rateLimit !== false) gateway.use(limitRequests(context.rateLimit, context.logger))
  const endpoints = Object.assign({}, ENDPOINTS, ...mounted.map((api) => api.endpoints))
  gateway.use(checkEndpoint(endpoints))
  for (const { prefix, routes } of mounted) gateway.use(prefix, routes)
  gateway.use('/api/v2', requireProject(context.directory))
  // First, since these are the most frequent requests.
  gateway.use('/api/v2/payment', paymentRoutes(context))
  gateway.use(['/ucp', '/api/v2/merchant/payment-profile'], warnOfHandlerName(context))
  gateway.use('/ucp', ucpRoutes(context))
  gateway.use('/api/v2/merchant/settlements', settlementRoutes(context))
  gateway.use('/api/v2/merchant/settlements/:id/refunds', refundRoutes(context))
  gateway.use('/api/v2/merchant/webhooks', webhookRoutes(context))
  gateway.use('/api/v2/merchant', merchantViews(context))
  gateway.use('/api/v2/merchant', merchantStreams(context))
  gateway.use('/api/v2/merchant', merchantRoutes(context))
  gateway.use(respondError(context.logger))

  const router = express.Router()
  router.use(function x402Gateway(req, res, next) {
    const ours = prefixes.some((prefix) => req.path === prefix || req.path.startsWith(`${prefix}/`))
    if (!ours) return next()
    ensureRequestId(req, res)
    const { baseUrl } = req
    setRootUrl(res, () => publicRootOf(req, context.publicUrl) + baseUrl, context.docsUrl)
    if (context.requests.add(res)) return gateway(req, res, next)
    res.set('Retry-After', String(RETRY_AFTER_SECONDS))
    respondProblem(res, 'api', SHUTTING_DOWN)
  })
  return router
}

/** Responds to every failure with problem details; what clients must not see is only logged. */
function respondError(logger: Logger): ErrorRequestHandler {
  // oxlint-disable-next-line eslint/max-params -- Express recognises error handlers by their arity
  return function respondGatewayError(error: unknown, req, res, next) {
    if (res.headersSent) return next(error)
    if (error instanceof RequestProblem) return respondProblem(res, 'api', error)
    if (isOutsideFailure(error)) {
      const { code, message } = error
      logger.error(`A gateway request failed: ${message}`, {
        code,
        ...requestFields(req, res),
        error,
      })
      const retryAfterSeconds = retryAfterOf(error) ?? RETRY_AFTER_SECONDS
      if (STATUS[code].api >= 500) res.set('Retry-After', String(retryAfterSeconds))
      return respondProblem(res, 'api', { code, detail: failureWords(error, 'api') })
    }
    logger.error('A gateway request met a bug.', { ...requestFields(req, res), error })
    respondProblem(res, 'api', {
      code: 'internal_error',
      detail: 'The gateway failed; this is not the request’s fault.',
    })
  }
}
