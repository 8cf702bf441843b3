import { findAcceptedAsset, type Merchant } from '../../core/merchants/project.js'
import type { Quote } from '../../core/quotes/quote.js'
import { findNetwork } from '../../shared/protocol/networks.js'
import { UPTO, type PaymentRequirements } from '../../shared/protocol/payment.js'
import { fill } from './texts/languages.js'
import { formatRate, formatToken } from './format-price.js'
import type { ResolvedPaywall } from './options.js'
import type { PageFiles } from './page-files.js'
import type { PageOffer } from './page-data.js'

/** Faucet of Circle's tokens on test networks. */
const CIRCLE_FAUCET = 'https://faucet.circle.com'
const CIRCLE_TOKENS: readonly string[] = ['USDC', 'EURC']

/** Dependencies of {@link describeOffers}. */
export interface OfferContext {
  readonly merchant: Merchant
  readonly chains: PageFiles['chains']
  readonly options: Pick<ResolvedPaywall, 'networks' | 'onRamp'>
  readonly locale: string
  /** Words for an amount that is a maximum: `up to {amount}`. */
  readonly upTo: string
  /** The rates behind the entries, in their order. */
  readonly quotes: readonly Pick<Quote, 'applied'>[]
}

/** Describes the entries of a 402 for people, those that need no exchange rate first. */
export function describeOffers(
  accepts: readonly PaymentRequirements[],
  context: OfferContext,
): readonly PageOffer[] {
  return accepts
    .map((terms, entry) => describeOffer(terms, entry, context))
    .toSorted((one, other) => Number(one.rate !== undefined) - Number(other.rate !== undefined))
}

function describeOffer(
  terms: PaymentRequirements,
  entry: number,
  { merchant, chains, options, locale, quotes, upTo }: OfferContext,
): PageOffer {
  const asset = findAcceptedAsset(merchant, terms)
  const { symbol, decimals } = asset ?? { symbol: terms.asset, decimals: 0 }
  const network = asset?.network ?? findNetwork(terms.network)
  const { chainId = 0, name = terms.network, testnet = false } = network ?? {}
  const own = options.networks.get(chainId)
  const facts = own ?? chains[chainId]
  const amount = formatToken(terms.amount, { symbol, decimals }, locale)
  const applied = quotes[entry]?.applied
  return {
    entry,
    amount: terms.scheme === UPTO ? fill(upTo, { amount }) : amount,
    rate: applied && asset && formatRate(applied, { asset, merchant, locale }),
    symbol,
    decimals,
    network: own?.chainName ?? name,
    testnet,
    chainId,
    chain: facts && { chainId: `0x${chainId.toString(16)}`, ...facts },
    explorer: facts?.blockExplorerUrls?.[0],
    source: testnet ? faucetOf(symbol) : options.onRamp,
    minutes: Math.max(1, Math.round(terms.maxTimeoutSeconds / 60)),
  }
}

function faucetOf(symbol: string): string | undefined {
  return CIRCLE_TOKENS.includes(symbol) ? CIRCLE_FAUCET : undefined
}
