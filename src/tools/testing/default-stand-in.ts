import type { IncomingMessage } from 'node:http'
import express, { type RequestHandler } from 'express'
import { markPaid, standInForDefault } from '../../gateway/default-gateway.js'
import { ConfigError } from '../../shared/errors.js'
import { requireCall, routerMaker } from '../../shared/http/require-call.js'
import { createGateway, type Gateway } from '../../gateway/gateway.js'
import type { GatewayOptions, GatewayRouterOptions, UcpHandler } from '../../index.js'

const gatewayOfRequest = new WeakMap<IncomingMessage, Gateway>()

type Declaration = (gateway: Gateway) => RequestHandler

/** Gateways of the open shops, the newest last. */
const open: Gateway[] = []

const unchecked = new Set<Declaration>()

const listeners = new Set<(gateway: Gateway) => () => void>()

let optionsOfApp: GatewayOptions = {}

/** Whether the app shows metrics: only then are they collected. */
let hasMetrics = false

export function assignGateway(req: IncomingMessage, gateway: Gateway): void {
  gatewayOfRequest.set(req, gateway)
}

/** Options that the app has set with `defaultGateway(options)`. */
export function defaultOptions(): GatewayOptions {
  return { ...(hasMetrics && { metrics: true }), ...optionsOfApp }
}

/**
 * Applies all declarations on the default gateway to the gateway of a shop.
 *
 * @returns Undoes it.
 * @throws `ConfigError` for a price or an option that cannot work.
 */
export function openDefault(gateway: Gateway): () => void {
  for (const declaration of unchecked) {
    unchecked.delete(declaration)
    declaration(gateway)
  }
  const ends = [...listeners].map((listen) => listen(gateway))
  open.push(gateway)
  return () => {
    open.splice(open.indexOf(gateway), 1)
    for (const end of ends) end()
  }
}

/** Makes a handler that delegates to one per gateway. */
function declare(declaration: (gateway: Gateway) => RequestHandler): RequestHandler {
  const handlers = new WeakMap<Gateway, RequestHandler>()
  const handlerOf: Declaration = (gateway) => {
    const handler = handlers.get(gateway) ?? declaration(gateway)
    handlers.set(gateway, handler)
    return handler
  }
  unchecked.add(handlerOf)
  const handler: RequestHandler = (req, res, next) =>
    handlerOf(gatewayOfRequest.get(req) ?? newest())(req, res, next)
  markPaid(handler, () => open.flatMap((gateway) => orNone(() => handlerOf(gateway))))
  return handler
}

/** A route may name a merchant that another open shop does not have. */
function orNone<T>(find: () => T): readonly T[] {
  try {
    return [find()]
  } catch {
    return []
  }
}

/** @throws `ConfigError` if no shop is open. */
function newest(): Gateway {
  const gateway = open.at(-1)
  if (gateway !== undefined) return gateway
  throw new ConfigError(
    'startTestShop',
    'express-x402-gateway/testing was imported, but no test shop is open: routes on the default gateway need one',
    'missing_option',
  )
}

/** The UCP handler for an app that is imported before its shop, and so its URL, exists. */
function handlerBefore(): UcpHandler {
  const { handlerId, ucp, publicUrl = 'http://127.0.0.1' } = optionsOfApp
  const options = { publicUrl, ...(handlerId && { handlerId }), ...(ucp && { ucp }) }
  const gateway = createGateway(options)
  void gateway.close()
  return gateway.ucpHandler
}

// What a route with `input` adds to the types of its handlers, its middleware does at run time.
const declareRoute = declare as (declaration: (gateway: Gateway) => unknown) => never

const declareRouter = (declaration: Declaration) => express.Router().use(declare(declaration))

/**
 * The default gateway of a process that has loaded the test kit: declarations on it apply to the gateway
 * of each shop that serves the app. It takes no payments itself.
 */
const isLate = standInForDefault({
  x402Protect(price, options) {
    // Checked here, not in `declare`: a mistake in the call would leave its request without an answer.
    requireCall(price)
    return declareRoute((gateway) => gateway.x402Protect(price, options))
  },
  // An MCP server serves one connection: apps make it for each one, when a shop is open.
  paidTool: (server, ...tool) => newest().paidTool(server, ...tool),
  discovery: routerMaker('discovery', () => declareRouter((gateway) => gateway.discovery())),
  openapi: (app) => newest().openapi(app),
  gatewayRouter: routerMaker('gatewayRouter', (options?: GatewayRouterOptions) =>
    declareRouter((gateway) => gateway.gatewayRouter(options)),
  ),
  healthRouter: routerMaker('healthRouter', () =>
    declareRouter((gateway) => gateway.healthRouter()),
  ),
  metricsRouter: routerMaker('metricsRouter', () => {
    hasMetrics = true
    return declareRouter((gateway) => gateway.metricsRouter())
  }),
  completeWithX402: (...given) => newest().completeWithX402(...given),
  get facilitator() {
    return newest().facilitator
  },
  get ucpHandler() {
    return open.at(-1)?.ucpHandler ?? handlerBefore()
  },
  check: () => newest().check(),
  on(name, listener) {
    const listen = (gateway: Gateway) => gateway.on(name, listener)
    const ends = open.map((gateway) => listen(gateway))
    listeners.add(listen)
    return () => {
      listeners.delete(listen)
      for (const end of ends) end()
    }
  },
  // Shops close their gateways themselves.
  close: async () => undefined,
  setOptions(options) {
    optionsOfApp = { ...optionsOfApp, ...options }
  },
})

/** @throws `ConfigError` if routes may be on a default gateway that existed before. */
export function requireFirst(): void {
  if (isLate)
    throw new ConfigError(
      'app',
      'the app was imported before express-x402-gateway/testing, so its routes are on a gateway outside every test shop: import express-x402-gateway/testing first',
      'conflicting_options',
    )
}
