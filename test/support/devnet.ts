import { startDevnet, type Devnet, type DevnetOptions } from '../../src/tools/devnet/index.js'
import { sendBatch } from '../../src/tools/devnet/send-batch.js'
import type { GatewayOptions } from '../../src/gateway/config/options.js'
import { useOpened } from './use-opened.js'
import { afterEach } from '@jest/globals'

export { balanceOf } from './balance-of.js'

/** Runs one devnet for a test file. Each test begins with every transaction mined at once, unless there is a `blockTime`. */
export function useDevnet(options: DevnetOptions = {}): Devnet {
  const devnet = useOpened(() => startDevnet(options))
  if (options.blockTime === undefined)
    afterEach(() => sendBatch(devnet.rpcUrl, [['evm_setAutomine', true]]))
  return devnet
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
