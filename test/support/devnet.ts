import { afterAll, beforeAll } from '@jest/globals'
import { createPublicClient, http, parseAbi } from 'viem'
import { startDevnet, type Devnet, type DevnetOptions } from '../../src/devnet/index.js'
import type { GatewayOptions } from '../../src/config/options.js'
import type { Hex } from '../../src/protocol/payment.js'

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

/** What an account has of the devnet's token. */
export async function balanceOf(devnet: Devnet, account: Hex): Promise<bigint> {
  const client = createPublicClient({ transport: http(devnet.rpcUrl) })
  return client.readContract({
    address: devnet.asset,
    abi: parseAbi(['function balanceOf(address) view returns (uint256)']),
    functionName: 'balanceOf',
    args: [account],
  })
}
