/** The page's names of networks, and their facts for wallets. */
import { z } from 'zod'
import { isPublicUrl } from '../../shared/http/http-url.js'
import { findNetwork, UNKNOWN_NETWORK } from '../../shared/protocol/networks.js'
import type { ChainFacts } from './page-files.js'

/**
 * Public facts of a network. Wallets without it are asked to add it (EIP-3085).
 *
 * @example
 * ```ts
 * import type { PaywallNetwork } from 'express-x402-gateway'
 *
 * const ours: PaywallNetwork = {
 *   name: 'Example Chain',
 *   rpcUrl: 'https://rpc.chain.example',
 *   explorer: 'https://explorer.chain.example',
 * }
 * ```
 */
export interface PaywallNetwork {
  /** Name for people. */
  readonly name: string
  /**
   * Public endpoint for wallets. It is part of the page, so it must contain no key: the gateway's own
   * `rpcUrl` is never used for this.
   */
  readonly rpcUrl: string
  /** Root URL of a block explorer. @defaultValue none: transactions are not linked */
  readonly explorer?: string
  /** Symbol of the native currency, which has 18 decimals. @defaultValue `'ETH'` */
  readonly nativeSymbol?: string
}

const MAX_NAME_LENGTH = 100

/** A URL with a password is not public. */
export const publicUrl = z
  .string()
  .refine(isPublicUrl, 'must be a public http(s) URL without a password')

/** The option `networks` of the paywall: by short name or CAIP-2 id. */
export const paywallNetworksSchema = z.record(
  z.string().refine((id) => findNetwork(id) !== undefined, UNKNOWN_NETWORK),
  z.strictObject({
    name: z.string().min(1).max(MAX_NAME_LENGTH),
    rpcUrl: publicUrl,
    explorer: publicUrl.optional(),
    // Wallets accept no others.
    nativeSymbol: z
      .string()
      .regex(/^[\p{L}\p{N}]{2,6}$/u, 'must be 2 to 6 letters or digits')
      .optional(),
  }),
)

/** Facts of networks by chain id. */
export type PaywallNetworks = ReadonlyMap<number, ChainFacts>

/** Resolves the option. */
export function resolveNetworks(
  given: Readonly<Record<string, z.output<typeof paywallNetworksSchema>[string]>>,
): PaywallNetworks {
  return new Map(
    Object.entries(given).flatMap(([id, { name, rpcUrl, explorer, nativeSymbol = 'ETH' }]) => {
      const chainId = findNetwork(id)?.chainId
      if (chainId === undefined) return []
      const facts: ChainFacts = {
        chainName: name,
        nativeCurrency: { name: nativeSymbol, symbol: nativeSymbol, decimals: 18 },
        rpcUrls: [rpcUrl],
        ...(explorer !== undefined && { blockExplorerUrls: [explorer.replace(/\/+$/, '')] }),
      }
      return [[chainId, facts] as const]
    }),
  )
}
