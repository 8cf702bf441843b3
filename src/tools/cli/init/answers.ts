import { resolveOptions } from '../../../gateway/config/resolve/resolve-options.js'
import { isConfigError } from '../../../shared/errors.js'
import { knownAssets } from '../../../shared/money/assets.js'
import { findNetwork } from '../../../shared/protocol/networks.js'

/** Answers that make up a new configuration. */
export interface Answers {
  readonly network: string
  readonly rpcUrl: string
  readonly payTo: string
}

export interface Question {
  readonly name: keyof Answers
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
]

/** Stand in for answers that are still missing. */
const PLACEHOLDERS: Answers = {
  network: 'base-sepolia',
  rpcUrl: 'https://node.example',
  payTo: `0x${'01'.repeat(20)}`,
}

/** The well-known tokens of a network that are pegged to the dollar. */
export function dollarsOf(network: string): readonly string[] {
  const found = findNetwork(network)
  const known = found === undefined ? [] : knownAssets(found)
  return known.flatMap(({ symbol, currency }) => (currency === 'USD' ? [symbol] : []))
}

/** Checks an answer as the configuration does. @returns The mistake, if there is one. */
export function problemWith(name: keyof Answers, given: Partial<Answers>): string | undefined {
  const { network, rpcUrl, payTo } = { ...PLACEHOLDERS, ...given }
  const assets = dollarsOf(network)
  if (name === 'network' && findNetwork(network) !== undefined && assets.length === 0)
    return 'has no well-known token: choose another network now, and add this one with its token later'
  const relayerKeys = [`0x${'01'.repeat(32)}`]
  try {
    resolveOptions({
      networks: { [network]: { rpcUrl, relayerKeys, ...(assets.length > 0 && { assets }) } },
      projects: [{ id: 'shop', merchant: { payTo } }],
    })
    return undefined
  } catch (error) {
    if (!isConfigError(error)) throw error
    return error.issues[0]?.message
  }
}
