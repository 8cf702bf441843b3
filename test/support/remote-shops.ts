import express, { type RequestHandler } from 'express'
import type { Devnet } from '../../src/tools/devnet/index.js'
import { httpFacilitator } from '../../src/core/facilitator/http/http-facilitator.js'
import { createGateway, type Gateway } from '../../src/gateway/gateway.js'
import type { GatewayOptions } from '../../src/gateway/config/options.js'
import type { Facilitator } from '../../src/core/facilitator/facilitator.js'
import { SHOP_TOKEN, shopOptions } from './devnet.js'
import type { Cleanup } from './cleanup.js'
import { listen } from './http.js'
import { closedBy } from './cleanup.js'

/** A facilitator over HTTP. */
export interface RemoteApi {
  /** Of its API for payments. */
  readonly url: string
  /** The paths that were asked for, in order. */
  readonly asked: string[]
  /** Runs before the facilitator sees a request. @defaultValue passes it on */
  intercept: RequestHandler
  /** The facilitator as a shop declares it: an object of its own each time. */
  facilitator(timeoutMs?: number): Facilitator
}

/** A gateway whose API other gateways use as their facilitator. */
export interface RemoteCore extends RemoteApi {
  readonly gateway: Gateway
}

/** Serves a facilitator. */
export async function openRemoteApi(api: RequestHandler, toEnd: Cleanup): Promise<RemoteApi> {
  const remote = {
    url: '',
    asked: [] as string[],
    intercept: ((_req, _res, next) => next()) as RequestHandler,
    facilitator: (timeoutMs = 60_000) =>
      httpFacilitator({ url: remote.url, token: SHOP_TOKEN, timeoutMs }),
  }
  const app = express()
  app.use((req, res, next) => {
    remote.asked.push(req.path.split('/').at(-1) ?? '')
    remote.intercept(req, res, next)
  })
  const server = await listen(app.use(api))
  remote.url = server.url
  toEnd.push(() => server.close())
  return remote
}

/** Loses the answer to the next settlement, which the facilitator has made. */
export function loseNextAnswer(remote: RemoteApi): void {
  let isLost = false
  remote.intercept = (req, res, next) => {
    if (isLost || !req.path.endsWith('/settle')) return next()
    isLost = true
    res.end = () => res.destroy() as never
    next()
  }
}

/** Opens a gateway whose API other gateways use. */
export async function openRemoteCore(
  devnet: Devnet,
  toEnd: Cleanup,
  options: GatewayOptions = {},
): Promise<RemoteCore> {
  const gateway = closedBy(toEnd, createGateway(shopOptions(devnet, options)))
  const api = await openRemoteApi(gateway.gatewayRouter(), toEnd)
  return Object.assign(api, { gateway, url: `${api.url}/api/v2/payment` })
}

/** A shop with one route, `/goods`, whose facilitator is elsewhere. */
export interface RemoteShop {
  readonly gateway: Gateway
  readonly url: string
  /** URL of the goods. */
  readonly goods: string
  /** Ends it before its test ends. */
  close(): Promise<void>
}

/** Opens a shop: goods for a cent. */
export async function openRemoteShop(
  devnet: Devnet,
  toEnd: Cleanup,
  {
    name,
    resourceUrl,
    ...options
  }: GatewayOptions & { readonly name: string; readonly resourceUrl?: string },
): Promise<RemoteShop> {
  const gateway = createGateway({
    networks: { 'base-sepolia': {} },
    projects: [{ id: 'shop', merchant: { payTo: devnet.merchant.address } }],
    logger: { debug() {}, info() {}, warn() {}, error() {} },
    ...options,
  })
  const app = express()
  app.set('trust proxy', true)
  const protect = gateway.x402Protect('$0.01', {
    maxTimeoutSeconds: 300,
    ...(resourceUrl !== undefined && { resourceUrl: () => resourceUrl }),
  })
  app.get('/goods', protect, (_req, res) => void res.send(`goods of ${name}`))
  const server = await listen(app)
  let isOpen = true
  const close = async () => {
    if (!isOpen) return
    isOpen = false
    await server.close()
    await gateway.close()
  }
  toEnd.push(close)
  return { gateway, url: server.url, goods: `${server.url}/goods`, close }
}
