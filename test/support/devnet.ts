import { startDevnet, type Devnet, type DevnetOptions } from '../../src/devnet/index.js'
import type { GatewayOptions } from '../../src/config/options.js'
import { useOpened } from './use-opened.js'

export { balanceOf } from './balance-of.js'

/** Runs one devnet for a test file. Read its members inside tests only. */
export function useDevnet(options?: DevnetOptions): Devnet {
  return useOpened(() => startDevnet(options))
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
