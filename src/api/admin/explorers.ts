/** Block explorers by chain id, as viem names them; the tests compare. A transaction is at `/tx/{hash}`. */
const EXPLORERS: Readonly<Record<number, string>> = {
  1: 'https://etherscan.io',
  11155111: 'https://sepolia.etherscan.io',
  8453: 'https://basescan.org',
  84532: 'https://sepolia.basescan.org',
  137: 'https://polygonscan.com',
  80002: 'https://amoy.polygonscan.com',
  42161: 'https://arbiscan.io',
  421614: 'https://sepolia.arbiscan.io',
  10: 'https://optimistic.etherscan.io',
  11155420: 'https://optimism-sepolia.blockscout.com',
  43114: 'https://snowtrace.io',
  43113: 'https://testnet.snowtrace.io',
  2741: 'https://abscan.org',
  11124: 'https://sepolia.abscan.org',
  42220: 'https://celoscan.io',
  41923: 'https://explorer.educhain.xyz',
  14: 'https://flare-explorer.flare.network',
  4689: 'https://iotexscan.io',
  4326: 'https://mega.etherscan.io',
  143: 'https://monadscan.com',
  1329: 'https://seiscan.io',
  1328: 'https://testnet.seiscan.io',
  324705682: 'https://base-sepolia-testnet-explorer.skalenodes.com',
  988: 'https://stablescan.xyz',
  2201: 'https://testnet.stablescan.xyz',
  1514: 'https://datanetscan.io',
}

/** Root URL of a chain's block explorer; `undefined` for chains without a known one. */
export function explorerUrl({ chainId }: { readonly chainId: number }): string | undefined {
  return EXPLORERS[chainId]
}
