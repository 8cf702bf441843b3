/** A shop that sells by payment links, over real HTTP. */
import type { Devnet } from '../../../src/tools/devnet/index.js'
import type { GatewayOptions } from '../../../src/gateway/config/options.js'
import { SHOP_TOKEN } from '../../support/devnet.js'
import { refund } from '../../support/refund.js'
import { openShop, type Shop } from '../../support/shop.js'

/** A checkout, as the API shows it. */
export interface CheckoutDocument {
  readonly id: string
  readonly url: string
  readonly status: string
  readonly amount: string
  readonly settlement?: string
  readonly paidAt?: string
  readonly expiresAt: string
  readonly createdAt: string
}

/** A shop, with its merchant's requests. */
export interface LinkShop extends Shop {
  /** Sends a request of the merchant. @param path - Below `/api/v2/merchant`. */
  asMerchant(method: string, path: string, body?: object, headers?: object): Promise<Answer>
  /** Creates a link to 0.05 USD. */
  link(body?: object): Promise<CheckoutDocument>
  read(checkout: CheckoutDocument): Promise<CheckoutDocument>
  /** Pays back what a link was paid by. @param amount - Atomic units; all that is left by default. */
  refund(checkout: CheckoutDocument, amount?: bigint): Promise<void>
  close(): Promise<void>
}

export interface Answer {
  readonly status: number
  readonly headers: Headers
  // oxlint-disable-next-line typescript/no-explicit-any -- tests look into any document
  readonly body: any
}

/** The path of a link, below the shop's own URL. */
export const pathOf = ({ url }: CheckoutDocument): string => new URL(url).pathname

/** Opens a shop. */
export async function openLinkShop(devnet: Devnet, options?: GatewayOptions): Promise<LinkShop> {
  const shop = await openShop(
    devnet,
    (app, gateway) => {
      app.use(gateway.gatewayRouter())
      app.get('/pay/{*rest}', (_req, res) => void res.status(404).send('the app’s own'))
    },
    { webhooks: { allowPrivate: true }, ...options },
  )
  const asMerchant: LinkShop['asMerchant'] = async (method, path, body, headers) => {
    const response = await fetch(`${shop.url}/api/v2/merchant${path}`, {
      method,
      headers: {
        'X-Project-Identify-Token': SHOP_TOKEN,
        'Content-Type': 'application/json',
        ...headers,
      },
      ...(body && { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    const { status } = response
    return { status, headers: response.headers, body: text === '' ? undefined : JSON.parse(text) }
  }
  return {
    ...shop,
    asMerchant,
    async link(body) {
      const created = await asMerchant('POST', '/checkouts', {
        amount: '0.05',
        currency: 'USD',
        ...body,
      })
      if (created.status === 201) return created.body as CheckoutDocument
      throw new Error(JSON.stringify(created.body))
    },
    async refund(checkout, amount) {
      const { settlement } = (await asMerchant('GET', `/checkouts/${checkout.id}`)).body
      const ask = async (method: string, path: string, body?: object) => {
        const answer = await asMerchant(method, path, body)
        if (answer.status >= 400) throw new Error(JSON.stringify(answer.body))
        return answer.body as unknown
      }
      const { privateKey } = devnet.merchant
      await refund(ask, {
        path: `/settlements/${settlement}/refunds`,
        privateKey,
        ...(amount && { amount }),
      })
    },
    read: async ({ id }) => (await asMerchant('GET', `/checkouts/${id}`)).body as CheckoutDocument,
  }
}
