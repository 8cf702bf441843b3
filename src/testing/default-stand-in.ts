import type { IncomingMessage } from 'node:http'
import express, { type RequestHandler } from 'express'
import { requireCall, standInForDefault } from '../default-gateway.js'
import { ConfigError } from '../errors.js'
import { createGateway, type Gateway } from '../gateway.js'
import type { GatewayOptions, UcpHandler, X402Middleware } from '../index.js'

/** The gateway of each shop's requests. */
const gatewayOfRequest = new WeakMap<IncomingMessage, Gateway>()

/** Makes the handler of a declaration, for one gateway. */
type Declaration = (gateway: Gateway) => RequestHandler

/** Gateways of the open shops, the newest last. */
const open: Gateway[] = []

/** Declarations that no shop has checked. */
const unchecked = new Set<Declaration>()

const listeners = new Set<(gateway: Gateway) => () => void>()

let optionsOfApp: GatewayOptions = {}

/** Whether the app shows metrics, which a gateway must be told to collect. */
let hasMetrics = false

/** Says which gateway handles a request, if its route is on the default gateway. */
export function assignGateway(req: IncomingMessage, gateway: Gateway): void {
  gatewayOfRequest.set(req, gateway)
}

/** What the app has set by `defaultGateway(options)`, and what it uses. */
export function defaultOptions(): GatewayOptions {
  return { ...(hasMetrics && { metrics: true }), ...optionsOfApp }
}

/**
 * Puts what was declared on the default gateway onto the gateway of a shop.
 *
 * @returns Ends it.
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

/** Makes a handler that is another one for each gateway. */
function declare(declaration: (gateway: Gateway) => RequestHandler): RequestHandler {
  const handlers = new WeakMap<Gateway, RequestHandler>()
  const handlerOf: Declaration = (gateway) => {
    const handler = handlers.get(gateway) ?? declaration(gateway)
    handlers.set(gateway, handler)
    return handler
  }
  unchecked.add(handlerOf)
  return (req, res, next) => handlerOf(gatewayOfRequest.get(req) ?? newest())(req, res, next)
}

/** @throws `ConfigError` where no shop is open. */
function newest(): Gateway {
  const gateway = open.at(-1)
  if (gateway !== undefined) return gateway
  throw new ConfigError(
    'startTestShop',
    'express-x402-gateway/testing was imported, but no test shop is open: routes on the default gateway work only in one',
    'missing_option',
  )
}

/** The UCP handler of an app that is imported before its shop is opened, and knows its URL. */
function handlerBefore(): UcpHandler {
  const { handlerId, ucp, publicUrl = 'http://127.0.0.1' } = optionsOfApp
  const options = { publicUrl, ...(handlerId && { handlerId }), ...(ucp && { ucp }) }
  const gateway = createGateway(options)
  void gateway.close()
  return gateway.ucpHandler
}

const declareRouter = (declaration: Declaration) => express.Router().use(declare(declaration))

/**
 * The default gateway in a process that has loaded the test kit: whatever an app declares on it works on
 * the gateway of each shop that serves the app. It takes no payment by itself.
 */
const isLate = standInForDefault({
  x402Protect(price, options) {
    // Made here, not by `declare`: a mistake in the call would leave its request without an answer.
    requireCall(price)
    return declare((gateway) => gateway.x402Protect(price, options)) as X402Middleware
  },
  gatewayRouter: (options) => declareRouter((gateway) => gateway.gatewayRouter(options)),
  healthRouter: () => declareRouter((gateway) => gateway.healthRouter()),
  metricsRouter() {
    hasMetrics = true
    return declareRouter((gateway) => gateway.metricsRouter())
  },
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
  // The gateways belong to the shops, which close them.
  close: async () => undefined,
  setOptions(options) {
    optionsOfApp = { ...optionsOfApp, ...options }
  },
})

/** @throws `ConfigError` if routes may be on a default gateway that was there before. */
export function requireFirst(): void {
  if (isLate)
    throw new ConfigError(
      'app',
      "the app was imported before express-x402-gateway/testing, so that its routes are on a gateway that is no test shop's: import express-x402-gateway/testing first",
      'conflicting_options',
    )
}
