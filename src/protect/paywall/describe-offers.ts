import { findAcceptedAsset, type Merchant } from '../../merchants/project.js'
import type { Asset } from '../../money/assets.js'
import { findNetwork } from '../../protocol/networks.js'
import type { PaymentRequirements } from '../../protocol/payment.js'
import { formatToken } from './format-price.js'
import type { PaywallNetworks } from './networks.js'
import type { PageFiles } from './page-files.js'
import type { PageOffer } from './page/page-data.js'

/** Faucet of Circle's tokens on test networks. */
const CIRCLE_FAUCET = 'https://faucet.circle.com'
const CIRCLE_TOKENS: readonly string[] = ['USDC', 'EURC']

/** An offer for the page, and whether it is play money. */
export interface DescribedOffer extends PageOffer {
  readonly testnet: boolean
}

/** Dependencies of {@link describeOffers}. */
export interface OfferContext {
  readonly merchant: Merchant
  readonly chains: PageFiles['chains']
  /** The operator's networks, which override those of the build. */
  readonly networks: PaywallNetworks
  readonly locale: string
}

/** Describes the entries of a 402 for people. */
export function describeOffers(
  accepts: readonly PaymentRequirements[],
  { merchant, chains, networks, locale }: OfferContext,
): readonly DescribedOffer[] {
  return accepts.map((entry) => {
    const asset = findAcceptedAsset(merchant, entry)
    const { symbol, decimals } = asset ?? { symbol: entry.asset, decimals: 0 }
    const network = asset?.network ?? findNetwork(entry.network)
    const { chainId = 0, name = entry.network, testnet = false } = network ?? {}
    const own = networks.get(chainId)
    const facts = own ?? chains[chainId]
    return {
      amount: formatToken(entry.amount, { symbol, decimals }, locale),
      symbol,
      decimals,
      network: own?.chainName ?? name,
      chainId,
      testnet,
      chain: facts && { chainId: `0x${chainId.toString(16)}`, ...facts },
      explorer: facts?.blockExplorerUrls?.[0],
      faucet: faucetOf(asset),
      minutes: Math.max(1, Math.round(entry.maxTimeoutSeconds / 60)),
    }
  })
}

function faucetOf(asset: Asset | undefined): string | undefined {
  if (asset === undefined || !asset.network.testnet) return undefined
  return CIRCLE_TOKENS.includes(asset.symbol) ? CIRCLE_FAUCET : undefined
}
