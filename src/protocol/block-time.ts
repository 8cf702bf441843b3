import type { Network } from './networks.js'

/** Milliseconds between two blocks on most networks. */
const USUAL_MS = 2000

/** Milliseconds between two blocks, by chain id, on the other networks. */
const BLOCK_MS: ReadonlyMap<number, number> = new Map([
  ...[1, 11155111].map((chainId) => [chainId, 12_000] as const),
  ...[42161, 421614, 41923].map((chainId) => [chainId, 250] as const),
  ...[143, 1328, 1329].map((chainId) => [chainId, 400] as const),
  ...[2741, 11124, 42220, 4326, 988, 2201].map((chainId) => [chainId, 1000] as const),
  [4689, 2500],
  [3338, 6000],
])

/** Milliseconds between two blocks of a network, by its design. */
export function blockTimeMs({ chainId }: Pick<Network, 'chainId'>): number {
  return BLOCK_MS.get(chainId) ?? USUAL_MS
}
