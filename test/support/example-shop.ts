import { afterAll, beforeAll } from '@jest/globals'
import type { RequestListener } from 'node:http'
import { createApp } from '../../example-app/app.js'
import { gatewayOptions } from '../../example-app/gateway.js'
import type { Devnet } from '../../src/tools/devnet/index.js'
import { createGateway } from '../../src/gateway/gateway.js'
import type { GatewayOptions } from '../../src/gateway/config/options.js'
import { SHOP_TOKEN } from './devnet.js'
import { listen } from './http.js'

/** A key that members of the example's shop send as `X-API-Key`. */
export const MEMBER_KEY = 'key-of-a-member'

/** The example's shop, over real HTTP. */
export interface ExampleShop {
  readonly url: string
  close(): Promise<void>
}

/** Opens the example's shop on a devnet; ends with `close`. */
export async function openExampleShop(
  devnet: Devnet,
  options: GatewayOptions = {},
): Promise<ExampleShop> {
  let app: RequestListener = (_req, res) => void res.end()
  const { url, close } = await listen((req, res) => app(req, res))
  const own = gatewayOptions(devnet, url)
  const projects = own.projects
    ?.map((project) => ({ ...project, tokens: [SHOP_TOKEN] }))
    .slice(0, 1)
  const gateway = createGateway({ ...own, ...(projects && { projects }), ...options })
  app = createApp(gateway, { memberKeys: new Set([MEMBER_KEY]) })
  return {
    url,
    async close() {
      await close()
      await gateway.close()
    },
  }
}

/** Opens one example shop for a test file. Read its URL inside tests only. */
export function useExampleShop(devnet: Devnet): { readonly url: string } {
  let shop: ExampleShop | undefined
  beforeAll(async () => {
    shop = await openExampleShop(devnet)
  })
  afterAll(async () => {
    await shop?.close()
  })
  return {
    get url() {
      if (shop === undefined) throw new Error('The shop is open inside tests only.')
      return shop.url
    },
  }
}
