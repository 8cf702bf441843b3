import express, { type Express } from 'express'
import type { Devnet } from '../../src/tools/devnet/index.js'
import type { GatewayEvents } from '../../src/core/schemes/events.js'
import { createGateway, type Gateway } from '../../src/gateway/gateway.js'
import type { GatewayOptions } from '../../src/gateway/config/options.js'
import type {
  PaymentPayload,
  PaymentRequired,
  SettleResponse,
} from '../../src/shared/protocol/payment.js'
import { shopOptions } from './devnet.js'
import { decodeDocument, listen, paymentHeader, type TestServer } from './http.js'
import { signPayment, type SigningOverrides, type TestPayer } from './sign-payment.js'
import { useOpened } from './use-opened.js'

/** A shop on a devnet: an app with a gateway, over real HTTP. */
export interface Shop {
  readonly url: string
  readonly gateway: Gateway
  readonly events: { [Name in keyof GatewayEvents]?: GatewayEvents[Name][] }
  /** Asks without paying. */
  ask(path: string, init?: RequestInit): Promise<Response>
  /** Asks, and signs what is asked for. */
  sign(path: string, payer: TestPayer, overrides?: SigningOverrides): Promise<PaymentPayload>
  /** Presents a payment. */
  pay(path: string, payment: object, init?: RequestInit): Promise<Response>
  /** Asks, signs and pays. */
  buy(path: string, payer: TestPayer, overrides?: SigningOverrides): Promise<Response>
}

/** Opens a shop; ends with `close`. */
export async function openShop(
  devnet: Devnet,
  routes: (app: Express, gateway: Gateway) => void,
  options: GatewayOptions = {},
): Promise<Shop & { close(): Promise<void> }> {
  const gateway = createGateway(shopOptions(devnet, options))
  const events: Shop['events'] = {}
  for (const name of ['verified', 'refused', 'submitted', 'settled', 'failed', 'pending'] as const)
    gateway.on(name, (event) => {
      const seen = (events[name] ??= []) as unknown[]
      seen.push(event)
    })
  const app = express()
  routes(app, gateway)
  const server: TestServer = await listen(app)
  const shop: Shop = {
    url: server.url,
    gateway,
    events,
    ask: (path, init) => fetch(server.url + path, init),
    async sign(path, payer, overrides) {
      const document = paymentRequiredOf(await shop.ask(path))
      const [accepted] = document.accepts
      if (accepted === undefined) throw new Error('nothing is accepted')
      const { resource } = document
      const payload = { resource: { ...resource }, ...overrides?.payload }
      return signPayment(payer, accepted, { ...overrides, payload })
    },
    pay: (path, payment, init) =>
      fetch(server.url + path, {
        ...init,
        headers: { ...paymentHeader(payment), ...(init?.headers as Record<string, string>) },
      }),
    buy: async (path, payer, overrides) => shop.pay(path, await shop.sign(path, payer, overrides)),
  }
  return {
    ...shop,
    async close() {
      await server.close()
      await gateway.close()
    },
  }
}

/** Opens one shop for a test file. Read its members inside tests only. */
export function useShop(
  devnet: Devnet,
  routes: (app: Express, gateway: Gateway) => void,
  options?: () => GatewayOptions,
): Shop {
  return useOpened(() => openShop(devnet, routes, options?.()))
}

/** The document of a 402. */
export function paymentRequiredOf(response: Response): PaymentRequired {
  return decodeDocument(response.headers.get('payment-required'))
}

/** What an answer says of its payment. */
export function settlementOf(response: Response): SettleResponse {
  return decodeDocument(response.headers.get('payment-response'))
}
