import { resolveOptions } from '../../config/resolve/resolve-options.js'
import { isConfigError } from '../../errors.js'
import type { GatewayOptions } from '../../config/options.js'
import { knownAssets } from '../../money/assets.js'
import { findNetwork } from '../../protocol/networks.js'

/** What a new configuration depends on. */
export interface Answers {
  readonly network: string
  readonly rpcUrl: string
  readonly payTo: string
  readonly currency: string
  /** Absent where URLs follow each request. */
  readonly publicUrl?: string | undefined
}

/** One thing that `init` asks for. */
export interface Question {
  readonly name: keyof Answers
  /** Its flag, without the dashes. */
  readonly flag: string
  readonly text: string
  /** The answer if none is given, by the previous answers; `undefined` if an answer is required. */
  readonly fallback: (given: Partial<Answers>) => string | undefined
}

/** Public nodes of the networks that people begin with. They limit requests. */
const PUBLIC_NODES: ReadonlyMap<string, string> = new Map([
  ['base', 'https://mainnet.base.org'],
  ['base-sepolia', 'https://sepolia.base.org'],
])

/** What is asked, in order. */
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
    text: 'URL of a JSON-RPC node of it',
    fallback: ({ network = '' }) => PUBLIC_NODES.get(findNetwork(network)?.shortName ?? ''),
  },
  {
    name: 'payTo',
    flag: 'pay-to',
    text: 'Address that is paid (0x…)',
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
    text: 'URL under which clients reach the gateway (empty: as each request says)',
    fallback: () => '',
  },
]

/** The tokens that are taken, and whether prices need a rate. */
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

/** Placeholders for what only the finished configuration has. */
const PLACEHOLDERS: Answers = {
  network: 'base-sepolia',
  rpcUrl: 'https://node.example',
  payTo: `0x${'01'.repeat(20)}`,
  currency: 'USD',
}

/** What is wrong with an answer, by the checks of the configuration; `undefined` if nothing is. */
export function problemWith(name: keyof Answers, given: Partial<Answers>): string | undefined {
  const { network, rpcUrl, payTo, currency, publicUrl } = { ...PLACEHOLDERS, ...given }
  const { assets } = tokensFor({ network, currency })
  const found = findNetwork(network)
  if (name === 'network' && found !== undefined && assets.length === 0)
    return 'has no token that is known here: take another, and describe the token of this one later'
  const options: GatewayOptions = {
    ...(publicUrl && { publicUrl }),
    networks: {
      [network]: {
        ...{ rpcUrl, relayerKeys: [`0x${'01'.repeat(32)}`] },
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
