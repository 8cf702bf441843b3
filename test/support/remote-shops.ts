import express, { type RequestHandler } from 'express'
import type { Devnet } from '../../src/devnet/index.js'
import { httpFacilitator } from '../../src/facilitator/http-facilitator.js'
import { createGateway, type Gateway } from '../../src/gateway.js'
import type { GatewayOptions } from '../../src/config/options.js'
import type { Facilitator } from '../../src/facilitator/facilitator.js'
import { SHOP_TOKEN, shopOptions } from './devnet.js'
import type { Cleanup } from './cleanup.js'
import { listen } from './http.js'

/** A gateway whose API other gateways use as their facilitator. */
export interface RemoteCore {
  readonly gateway: Gateway
  /** Of its API for payments. */
  readonly url: string
  /** The paths that were asked for, in order. */
  readonly asked: string[]
  /** Runs before the gateway sees a request. @defaultValue passes it on */
  intercept: RequestHandler
  /** The facilitator as a shop declares it: an object of its own each time. */
  facilitator(timeoutMs?: number): Facilitator
}

/** Opens a gateway whose API other gateways use. */
export async function openRemoteCore(
  devnet: Devnet,
  toEnd: Cleanup,
  options: GatewayOptions = {},
): Promise<RemoteCore> {
  const gateway = createGateway(shopOptions(devnet, options))
  const core = {
    gateway,
    url: '',
    asked: [] as string[],
    intercept: ((_req, _res, next) => next()) as RequestHandler,
    facilitator: (timeoutMs = 60_000) =>
      httpFacilitator({ url: core.url, token: SHOP_TOKEN, timeoutMs }),
  }
  const app = express()
  app.use((req, res, next) => {
    core.asked.push(req.path.split('/').at(-1) ?? '')
    core.intercept(req, res, next)
  })
  const server = await listen(app.use(gateway.gatewayRouter()))
  core.url = `${server.url}/api/v2/payment`
  toEnd.push(() => gateway.close())
  toEnd.push(() => server.close())
  return core
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
