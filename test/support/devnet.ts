import { afterAll, beforeAll } from '@jest/globals'
import { startDevnet, type Devnet, type DevnetOptions } from '../../src/devnet/index.js'
import type { GatewayOptions } from '../../src/config/options.js'

export { balanceOf } from './balance-of.js'

/** Runs one devnet for a test file. Read its members inside tests only. */
export function useDevnet(options?: DevnetOptions): Devnet {
  let devnet: Devnet | undefined
  beforeAll(async () => {
    devnet = await startDevnet(options)
  })
  afterAll(async () => {
    await devnet?.close()
  })
  return new Proxy({} as Devnet, {
    get(_target, member) {
      if (devnet === undefined) throw new Error('The devnet runs inside tests only.')
      const value: unknown = Reflect.get(devnet, member)
      return typeof value === 'function' ? value.bind(devnet) : value
    },
  })
}

/** An identify token of the shop in {@link shopOptions}. */
export const SHOP_TOKEN = 'x402_test-token-of-the-shop'

/** Options of a gateway on a devnet with one project, `shop`. */
export function shopOptions(devnet: Devnet, overrides: GatewayOptions = {}): GatewayOptions {
  return {
    networks: {
      'base-sepolia': { rpcUrl: devnet.rpcUrl, relayerKeys: devnet.relayerKeys },
    },
    projects: [{ id: 'shop', tokens: [SHOP_TOKEN], merchant: { payTo: devnet.merchant.address } }],
    ...overrides,
  }
}
