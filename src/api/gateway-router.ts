import express, { type ErrorRequestHandler, type Router } from 'express'
import { isOutsideFailure, retryAfterOf } from '../shared/errors.js'
import { RETRY_AFTER_SECONDS, STATUS } from '../shared/http/problem-status.js'
import { failureWords } from '../shared/http/failure-words.js'
import { publicRootOf } from '../shared/http/public-url.js'
import { ensureRequestId } from '../shared/http/request-id.js'
import { RequestProblem, respondProblem, SHUTTING_DOWN } from '../shared/http/respond-problem.js'
import { identifyProject, requireProject } from './serve/authenticate.js'
import { checkoutEndpoints } from './checkouts/checkout-endpoints.js'
import type { RouterContext } from './context.js'
import { discoveryEndpoints } from './catalogue/discovery-endpoints.js'
import { docsEndpoints, mountDocs } from './docs/docs-api.js'
import { DocumentPublisher } from './docs/document-publisher.js'
import { setRootUrl } from './serve/docs-url.js'
import { requestFields } from './serve/log-fields.js'
import { MERCHANT } from './serve/owner.js'
import { paymentEndpoints } from './payments/payment-endpoints.js'
import { paymentLinkEndpoints } from './checkouts/payment-link-endpoints.js'
import { pluginEndpoints } from './checkouts/plugins/plugin-endpoints.js'
import { limitRequests } from './serve/rate-limit.js'
import { refundEndpoints, refundListEndpoints } from './refunds/refund-endpoints.js'
import { bindEndpoints, serveEndpoints, type Mounted } from './serve/serve-endpoints.js'
import { settlementSummary } from './settlements/settlement-summary.js'
import { settlementEndpoints } from './settlements/settlement-endpoints.js'
import { downloadEndpoint } from './settlements/download/download-endpoint.js'
import { allowAnyOrigin, ucpEndpoints } from './checkouts/ucp-endpoints.js'
import { viewEndpoints } from './settlements/views/view-endpoints.js'
import { webhookEndpoints } from './webhooks/webhook-endpoints.js'
import { MERCHANT_WEBHOOKS } from './webhooks/webhook-owner.js'

/** The endpoints of the API. What `context.mounted` has comes on top. @internal */
export const apiEndpoints = [
  ...paymentEndpoints,
  ...checkoutEndpoints,
  ...paymentLinkEndpoints(MERCHANT),
  ...pluginEndpoints,
  ...discoveryEndpoints,
  ...settlementEndpoints(MERCHANT),
  settlementSummary(MERCHANT),
  ...refundEndpoints(MERCHANT),
  ...refundListEndpoints(MERCHANT),
  ...webhookEndpoints(MERCHANT_WEBHOOKS),
  ...viewEndpoints(MERCHANT),
  downloadEndpoint(MERCHANT),
  ...ucpEndpoints,
]

/** The gateway owns everything below these paths; all other paths are left to the app. */
const PREFIXES = ['/api/v2/payment', '/api/v2/merchant', '/api/v2/ucp', '/ucp']

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

/** Makes the router with the whole API of the payment gateway. @internal */
export function createGatewayRouter(
  context: RouterContext & Mounted,
  { docs = true }: GatewayRouterOptions = {},
): Router {
  const { directory, logger, rateLimit, identifyMerchant, hasProbes = () => false } = context
  const requireToken = requireProject(directory)
  const api = bindEndpoints(context, apiEndpoints, {
    project: requireToken,
    merchant: requireToken,
  })
  const elsewhere = context.mounted ?? []
  const publisher = new DocumentPublisher({
    endpoints: [api, docsEndpoints, ...elsewhere.map(({ endpoints }) => endpoints)].flat(),
    hasProbes,
    hasSessions: identifyMerchant !== undefined,
  })
  const mounted = [...(docs ? mountDocs({ ...context, publisher }) : []), ...elsewhere]
  const prefixes = [...PREFIXES, ...mounted.map(({ prefix }) => prefix)]
  const gateway = express.Router()
  gateway.use('/ucp', allowAnyOrigin)
  gateway.use(identifyProject(directory, logger))
  if (identifyMerchant) gateway.use('/api/v2/merchant', identifyMerchant)
  for (const { prefix, identify } of mounted)
    for (const handler of identify) gateway.use(prefix, handler)
  if (rateLimit !== false) gateway.use(limitRequests(rateLimit, logger))
  gateway.use(serveEndpoints([...api, ...mounted.flatMap(({ endpoints }) => endpoints)]))
  gateway.use(respondError(context))

  const router = express.Router()
  router.use(function x402Gateway(req, res, next) {
    const ours = prefixes.some((prefix) => req.path === prefix || req.path.startsWith(`${prefix}/`))
    if (!ours) return next()
    ensureRequestId(req, res)
    const { baseUrl } = req
    setRootUrl(res, () => publicRootOf(req, context.publicUrl) + baseUrl)
    if (context.requests.add(res)) return gateway(req, res, next)
    res.set('Retry-After', String(RETRY_AFTER_SECONDS))
    respondProblem(res, 'api', SHUTTING_DOWN)
  })
  return router
}

/** Responds to every failure with problem details; what clients must not see is only logged. */
function respondError(context: RouterContext): ErrorRequestHandler {
  const { logger } = context
  // oxlint-disable-next-line eslint/max-params -- Express recognises error handlers by their arity
  return function respondGatewayError(error: unknown, req, res, next) {
    if (res.headersSent) return next(error)
    if (error instanceof RequestProblem) return respondProblem(res, 'api', error)
    if (isOutsideFailure(error)) {
      const { code, message } = error
      logger.error(`A gateway request failed: ${message}`, {
        code,
        ...requestFields(context, req, res),
        error,
      })
      const retryAfterSeconds = retryAfterOf(error) ?? RETRY_AFTER_SECONDS
      if (STATUS[code].api >= 500) res.set('Retry-After', String(retryAfterSeconds))
      return respondProblem(res, 'api', { code, detail: failureWords(error, 'api') })
    }
    logger.error('A gateway request met a bug.', { ...requestFields(context, req, res), error })
    respondProblem(res, 'api', {
      code: 'internal_error',
      detail: 'The gateway failed; this is not the request’s fault.',
    })
  }
}
