/** The gateway of the example, on a local chain: two merchants, rates, the console and metrics. */
import type { GatewayOptions } from 'express-x402-gateway'
import type { Devnet } from 'express-x402-gateway/devnet'

/** Known to everybody, so that they can be typed. Your own: `npx express-x402-gateway token`. */
export const TOKENS = {
  shop: 'example-project-token',
  bakery: 'example-bakery-token',
  admin: 'example-admin-token-for-the-devnet-only',
}

/** Accounts of the devnet, by what they do here. */
export function accountsOf({ payers, merchant }: Devnet) {
  const [buyer, tryer, visitor, baker] = payers
  if (buyer === undefined || tryer === undefined || visitor === undefined || baker === undefined)
    throw new Error('The devnet has too few accounts.')
  return { buyer, tryer, visitor, baker, merchant }
}

/** @param publicUrl - Root URL of the shop. */
export function gatewayOptions(devnet: Devnet, publicUrl: string): GatewayOptions {
  const { merchant, baker } = accountsOf(devnet)
  return {
    publicUrl,
    networks: { 'base-sepolia': { rpcUrl: devnet.rpcUrl, relayerKeys: devnet.relayerKeys } },
    projects: [
      {
        id: 'shop',
        tokens: [TOKENS.shop],
        merchant: { name: 'The example shop', payTo: merchant.address, crossCurrency: true },
      },
      {
        id: 'bakery',
        tokens: [TOKENS.bakery],
        merchant: { name: 'The bakery', payTo: baker.address },
      },
    ],
    rates: { 'EUR/USD': '1.08' },
    admin: { tokens: [TOKENS.admin] },
    metrics: true,
  }
}
