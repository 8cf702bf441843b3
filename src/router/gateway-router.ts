import express, { type ErrorRequestHandler, type RequestHandler, type Router } from 'express'
import { isOutsideFailure, type OutsideFailure } from '../errors.js'
import type { Logger } from '../logger.js'
import type { Project } from '../merchants/project.js'
import type { Problem } from '../http/problem.js'
import { publicRootOf } from '../http/public-url.js'
import type { LimiterOptions } from '../http/rate-limiter.js'
import { identifyProject, requireProject } from './authenticate.js'
import { setDocsUrl, warnOfHandlerName } from './docs-url.js'
import { merchantRoutes, type MerchantRoutesContext } from './merchant-routes.js'
import { paymentRoutes, type PaymentRoutesContext } from './payment-routes.js'
import { RequestProblem, sendProblem } from '../http/problem-response.js'
import { limitRequests } from './rate-limit.js'
import { settlementRoutes, type SettlementRoutesContext } from './settlement-routes.js'
import { allowAnyOrigin, ucpRoutes, type UcpRoutesContext } from './ucp-routes.js'

/** What the gateway's API takes of its gateway. */
export interface GatewayRouterContext
  extends PaymentRoutesContext, MerchantRoutesContext, SettlementRoutesContext, UcpRoutesContext {
  readonly projects: readonly Project[]
  readonly publicUrl: string | undefined
  readonly docsUrl: string | undefined
  readonly rateLimit: LimiterOptions | false
  readonly logger: Logger
}

/** Method of each endpoint; GET answers HEAD as well. */
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

/** Version in the path of a document. */
const VERSION = /^\/ucp\/\d{4}-\d{2}-\d{2}\//

/** Paths below which everything is the gateway's; all others are left to the app. */
const PREFIXES = ['/api/v2/payment', '/api/v2/merchant', '/ucp']

/** Seconds after which a failure of the outside is worth another try. */
const RETRY_AFTER_SECONDS = 5

/** Makes the router with the whole API of the payment gateway. */
export function createGatewayRouter(context: GatewayRouterContext): Router {
  const gateway = express.Router()
  gateway.use('/ucp', allowAnyOrigin)
  gateway.use(identifyProject(context.projects, context.logger))
  if (context.rateLimit !== false) gateway.use(limitRequests(context.rateLimit, context.logger))
  gateway.use(checkEndpoint)
  gateway.use('/api/v2', requireProject)
  // First of all, for they are asked most often.
  gateway.use('/api/v2/payment', paymentRoutes(context))
  gateway.use(['/ucp', '/api/v2/merchant/payment-profile'], warnOfHandlerName(context))
  gateway.use('/ucp', ucpRoutes(context))
  gateway.use('/api/v2/merchant/settlements', settlementRoutes(context))
  gateway.use('/api/v2/merchant', merchantRoutes(context))
  gateway.use(answerError(context.logger))

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

/** Answers paths that are no endpoint, and methods that an endpoint does not have. */
const checkEndpoint: RequestHandler = (req, res, next) => {
  if (!isDecodable(req.path))
    return next(
      new RequestProblem({
        status: 400,
        code: 'invalid_request',
        detail: 'The path is not percent-encoded UTF-8.',
      }),
    )
  const endpoint = req.path
    .replace(/\/$/, '')
    .replace(SETTLEMENT, '$1/{id}')
    .replace(VERSION, '/ucp/{version}/')
  const method = ENDPOINTS[endpoint]
  if (method === undefined)
    return next(
      new RequestProblem({
        status: 404,
        code: 'not_found',
        detail: `There is no ${req.path} here; there is ${Object.keys(ENDPOINTS).join(', ')}.`,
      }),
    )
  if (req.method === method || (req.method === 'HEAD' && method === 'GET')) return next()
  res.set('Allow', method === 'GET' ? 'GET, HEAD, OPTIONS' : 'POST, OPTIONS')
  if (req.method === 'OPTIONS') return void res.status(204).end()
  next(
    new RequestProblem({
      status: 405,
      code: 'method_not_allowed',
      detail: `${req.path} takes ${method}, not ${req.method}.`,
    }),
  )
}

function isDecodable(path: string): boolean {
  try {
    decodeURIComponent(path)
    return true
  } catch {
    return false
  }
}

/** Answers every failure with problem details; what only we may know goes to the log. */
function answerError(logger: Logger): ErrorRequestHandler {
  // oxlint-disable-next-line eslint/max-params -- Express tells error handlers by their four
  return function answerGatewayError(error: unknown, _req, res, next) {
    if (res.headersSent) return next(error)
    if (error instanceof RequestProblem) return sendProblem(res, error.problem, error.extensions)
    if (isOutsideFailure(error)) {
      logger.error('A gateway request failed.', { code: error.code, error })
      const problem = outsideProblem(error)
      if (problem.status >= 500) res.set('Retry-After', String(RETRY_AFTER_SECONDS))
      return sendProblem(res, problem)
    }
    logger.error('A gateway request met a bug.', { error })
    sendProblem(res, {
      status: 500,
      code: 'internal_error',
      detail: 'The gateway failed; this is not the request’s fault.',
    })
  }
}

function outsideProblem(error: OutsideFailure): Problem {
  return { status: outsideStatus(error), code: error.code, detail: error.message }
}

function outsideStatus({ code }: OutsideFailure): number {
  switch (code) {
    case 'unsupported_currency':
    case 'amount_out_of_range':
      return 400
    case 'rate_unavailable':
    case 'chain_unreachable':
    case 'chain_refused':
    case 'settlement_timeout':
    case 'chain_mismatch':
    case 'facilitator_unreachable':
    case 'facilitator_refused':
      return 502
    case 'ledger_full':
    case 'ledger_unavailable':
    case 'relayer_without_funds':
    case 'relayer_without_lease':
    case 'gas_price_too_high':
      return 503
  }
}
