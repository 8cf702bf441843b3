import { resolveOptions } from '../../../gateway/config/resolve/resolve-options.js'
import { isConfigError } from '../../../shared/errors.js'
import type { GatewayOptions } from '../../../gateway/config/options.js'
import { knownAssets } from '../../../shared/money/assets.js'
import { findNetwork } from '../../../shared/protocol/networks.js'

/** Answers that make up a new configuration. */
export interface Answers {
  readonly network: string
  readonly rpcUrl: string
  readonly payTo: string
  readonly currency: string
  /** Empty or absent: taken from each request. */
  readonly publicUrl?: string | undefined
}

export interface Question {
  readonly name: keyof Answers
  /** Its flag, without the dashes. */
  readonly flag: string
  readonly text: string
  /** Default answer, by the previous answers; `undefined` if an answer is required. */
  readonly fallback: (given: Partial<Answers>) => string | undefined
}

/** Public nodes for a first try. They limit requests. */
const PUBLIC_NODES: ReadonlyMap<string, string> = new Map([
  ['base', 'https://mainnet.base.org'],
  ['base-sepolia', 'https://sepolia.base.org'],
])

export const QUESTIONS: readonly Question[] = [
  {
    name: 'network',
    flag: 'network',
    text: 'Network, like base-sepolia (play money) or base',
    fallback: () => 'base-sepolia',
  },
  {
    name: 'rpcUrl',
    flag: 'rpc-url',
    text: 'URL of a JSON-RPC node',
    fallback: ({ network = '' }) => PUBLIC_NODES.get(findNetwork(network)?.shortName ?? ''),
  },
  {
    name: 'payTo',
    flag: 'pay-to',
    text: 'Your wallet address, where payments arrive (0x…)',
    fallback: () => undefined,
  },
  {
    name: 'currency',
    flag: 'currency',
    text: 'Currency of prices',
    fallback: () => 'USD',
  },
  {
    name: 'publicUrl',
    flag: 'public-url',
    text: 'Public URL of this gateway (leave empty for now)',
    fallback: () => '',
  },
]

/** Tokens to accept, and whether prices need a rate. */
export function tokensFor({ network, currency }: Pick<Answers, 'network' | 'currency'>): {
  readonly assets: readonly string[]
  readonly needsRates: boolean
} {
  const found = findNetwork(network)
  const known = found === undefined ? [] : knownAssets(found)
  const pegged = known.filter((asset) => asset.currency === currency)
  const assets = (pegged.length > 0 ? pegged : known).map(({ symbol }) => symbol)
  return { assets, needsRates: pegged.length === 0 }
}

/** Stand in for answers that are still missing. */
const PLACEHOLDERS: Answers = {
  network: 'base-sepolia',
  rpcUrl: 'https://node.example',
  payTo: `0x${'01'.repeat(20)}`,
  currency: 'USD',
}

/** Checks an answer as the configuration does. @returns The mistake, if there is one. */
export function problemWith(name: keyof Answers, given: Partial<Answers>): string | undefined {
  const { network, rpcUrl, payTo, currency, publicUrl } = { ...PLACEHOLDERS, ...given }
  const { assets } = tokensFor({ network, currency })
  const found = findNetwork(network)
  if (name === 'network' && found !== undefined && assets.length === 0)
    return 'has no well-known token: choose another network now, and add this one with its token later'
  const options: GatewayOptions = {
    ...(publicUrl && { publicUrl }),
    networks: {
      [network]: {
        rpcUrl,
        relayerKeys: [`0x${'01'.repeat(32)}`],
        ...(assets.length > 0 && { assets }),
      },
    },
    projects: [{ id: 'shop', merchant: { payTo, currency } }],
  }
  try {
    resolveOptions(options)
    return undefined
  } catch (error) {
    if (!isConfigError(error)) throw error
    return error.issues[0]?.message
  }
}
