/** A chain as CAIP-2: namespace `eip155` and chain id. */
export type Caip2 = `eip155:${number}`

/** A chain for settlements. */
export interface Network {
  /** The only name inside and, by default, on the wire. */
  readonly caip2: Caip2
  readonly chainId: number
  /** x402 v1's name (`base`); only well-known chains have one. */
  readonly shortName?: string
  /** Name for people. */
  readonly name: string
  /** Whether its tokens are play money; unknown chains count as real. */
  readonly testnet: boolean
}

/** Style of network names on the wire. */
export type NetworkNameStyle = 'caip2' | 'short'

/**
 * Chain id, short name, name, test network or not.
 *
 * All short names of x402 v1, and the chains of our asset table. `viem/chains` would cost hundreds of
 * milliseconds at start; tests compare this table with both.
 */
const ROWS: ReadonlyArray<readonly [number, string, string, 'testnet'?]> = [
  [1, 'ethereum', 'Ethereum'],
  [11155111, 'sepolia', 'Sepolia', 'testnet'],
  [8453, 'base', 'Base'],
  [84532, 'base-sepolia', 'Base Sepolia', 'testnet'],
  [137, 'polygon', 'Polygon'],
  [80002, 'polygon-amoy', 'Polygon Amoy', 'testnet'],
  [42161, 'arbitrum', 'Arbitrum One'],
  [421614, 'arbitrum-sepolia', 'Arbitrum Sepolia', 'testnet'],
  [10, 'optimism', 'OP Mainnet'],
  [11155420, 'optimism-sepolia', 'OP Sepolia', 'testnet'],
  [43114, 'avalanche', 'Avalanche'],
  [43113, 'avalanche-fuji', 'Avalanche Fuji', 'testnet'],
  [2741, 'abstract', 'Abstract'],
  [11124, 'abstract-testnet', 'Abstract Testnet', 'testnet'],
  [42220, 'celo', 'Celo'],
  [41923, 'educhain', 'EDU Chain'],
  [14, 'flare', 'Flare Mainnet'],
  [4689, 'iotex', 'IoTeX'],
  [4326, 'megaeth', 'MegaETH'],
  [143, 'monad', 'Monad'],
  [3338, 'peaq', 'Peaq'],
  [1329, 'sei', 'Sei Network'],
  [1328, 'sei-testnet', 'Sei Testnet', 'testnet'],
  [324705682, 'skale-base-sepolia', 'SKALE Base Sepolia Testnet', 'testnet'],
  [988, 'stable', 'Stable Mainnet'],
  [2201, 'stable-testnet', 'Stable Testnet', 'testnet'],
  [1514, 'story', 'Data Network'],
]

/** Other names of these chains: read, never written. */
const ALIASES: Readonly<Record<string, readonly string[]>> = {
  ethereum: ['mainnet'],
  sepolia: ['ethereum-sepolia'],
  arbitrum: ['arbitrum-one'],
  optimism: ['op-mainnet'],
  'optimism-sepolia': ['op-sepolia'],
}

/** The networks that have a short name. */
export const knownNetworks: ReadonlyArray<Network & { readonly shortName: string }> = ROWS.map(
  ([chainId, shortName, name, testnet]) =>
    Object.freeze({
      caip2: `eip155:${chainId}` as const,
      chainId,
      shortName,
      name,
      testnet: testnet === 'testnet',
    }),
)

/** Explains a name that {@link findNetwork} does not find. */
export const UNKNOWN_NETWORK =
  "is not a known network; write a short name like 'base', or 'eip155:<chain id>'"

const networksById = indexNetworks()

/** Decimal, without leading zeros, not zero. */
const EIP155 = /^eip155:([1-9]\d{0,15})$/

/**
 * Finds a network by CAIP-2 id, short name or alias, case-sensitive. Any other `eip155:<chain id>` is a
 * network without a short name.
 *
 * @param id - `eip155:8453`, `base`, `op-sepolia`, …
 * @returns `undefined` if the id names no EVM chain.
 */
export function findNetwork(id: string): Network | undefined {
  return networksById.get(id) ?? parseUnknownNetwork(id)
}

/**
 * Writes a network's name.
 *
 * @param style - `short` falls back to CAIP-2 if there is no short name.
 */
export function formatNetwork(network: Network, style: NetworkNameStyle): string {
  if (style === 'short') return network.shortName ?? network.caip2
  return network.caip2
}

/**
 * Whether two ids name the same chain, as `base` and `eip155:8453` do. An id that names no EVM chain
 * equals nothing, not even itself.
 */
export function sameNetwork(a: string, b: string): boolean {
  const network = findNetwork(a)
  return network !== undefined && network.caip2 === findNetwork(b)?.caip2
}

function indexNetworks(): ReadonlyMap<string, Network> {
  const index = new Map<string, Network>()
  for (const network of knownNetworks) {
    const { caip2, shortName } = network
    for (const id of [caip2, shortName, ...(ALIASES[shortName] ?? [])]) index.set(id, network)
  }
  return index
}

function parseUnknownNetwork(id: string): Network | undefined {
  const chainId = Number(EIP155.exec(id)?.[1])
  if (!Number.isSafeInteger(chainId)) return undefined
  const caip2 = `eip155:${chainId}` as const
  return { caip2, chainId, name: caip2, testnet: false }
}

/** Gas tokens other than ETH, by chain id. */
const GAS_TOKENS: ReadonlyMap<number, string> = new Map([
  [137, 'POL'],
  [80002, 'POL'],
  [43114, 'AVAX'],
  [43113, 'AVAX'],
  [42220, 'CELO'],
  [41923, 'EDU'],
  [14, 'FLR'],
  [4689, 'IOTX'],
  [143, 'MON'],
  [3338, 'PEAQ'],
  [1329, 'SEI'],
  [1328, 'SEI'],
  [324705682, 'CREDIT'],
  [988, 'USDT0'],
  [2201, 'USDT0'],
  [1514, 'DATA'],
])

/** Names a network's gas token: `ETH`, or words on an unknown network. */
export function gasTokenOf({ chainId, shortName }: Pick<Network, 'chainId' | 'shortName'>): string {
  return GAS_TOKENS.get(chainId) ?? (shortName === undefined ? 'its native currency' : 'ETH')
}

/** Block time of most networks (ms). */
const USUAL_MS = 2000

/** Block times of the others (ms), by chain id. */
const BLOCK_MS: ReadonlyMap<number, number> = new Map([
  ...[1, 11155111].map((chainId) => [chainId, 12_000] as const),
  ...[42161, 421614, 41923].map((chainId) => [chainId, 250] as const),
  ...[143, 1328, 1329].map((chainId) => [chainId, 400] as const),
  ...[2741, 11124, 42220, 4326, 988, 2201].map((chainId) => [chainId, 1000] as const),
  [4689, 2500],
  [3338, 6000],
])

export function blockTimeMs({ chainId }: Pick<Network, 'chainId'>): number {
  return BLOCK_MS.get(chainId) ?? USUAL_MS
}
