import { decodeFunctionResult, encodeFunctionData, isAddress } from 'viem/utils'
import { ChainError, ConfigError, RateError } from '../errors.js'
import { cachedRates } from '../money/cached-rates.js'
import { crossRates } from '../money/cross-rates.js'
import type { Rate, RateSource } from '../money/rates.js'
import { findNetwork } from '../protocol/networks.js'
import type { Address } from '../protocol/payment.js'
import { aggregatorAbi } from './abi.js'
import type { Chain } from './chain.js'
import { DAILY, knownFeeds, type ChainlinkFeed } from './chainlink-feeds.js'
import { RpcChain } from './rpc-chain.js'

/** Options of {@link chainlinkRates}. */
export interface ChainlinkRatesOptions {
  /** Where the feeds are: short name or CAIP-2. */
  readonly network: string
  /** JSON-RPC of that network. */
  readonly rpcUrl: string
  /**
   * Addresses of feeds by their pair (`'HKD/USD'`). They add to the known feeds on Ethereum and
   * Base, and take precedence over them.
   */
  readonly feeds?: Readonly<Record<string, string>>
  /**
   * Most seconds after an update for which its price is used.
   * @defaultValue by the heartbeat of known feeds; 25 hours for others
   */
  readonly maxAgeSeconds?: number
  /** Seconds for which a rate is used without asking again. @defaultValue 15 */
  readonly freshSeconds?: number
  /** Seconds for which it is used while the node does not answer. @defaultValue 300 */
  readonly staleSeconds?: number
  /** Milliseconds a node is given to answer. @defaultValue 5000 */
  readonly timeoutMs?: number
  /** Milliseconds since the epoch. @defaultValue `Date.now` */
  readonly now?: () => number
}

const DEFAULT_TIMEOUT_MS = 5000
const DEFAULT_FRESH_SECONDS = 15
const DEFAULT_STALE_SECONDS = 300

/** Most decimals of a price; feeds have 8 or 18. */
const MAX_DECIMALS = 36

const PAIR = /^[A-Za-z0-9.]{1,20}\/[A-Za-z0-9.]{1,20}$/

/**
 * Rates of Chainlink's price feeds on a chain, cached and crossed through USD.
 *
 * @param options - The chain, its node, additional feeds, and how long a rate is used.
 * @returns A source for the option `rates` of a gateway. Its `getRate` throws {@link RateError} with code
 * `rate_unavailable` when a feed cannot be read, has no price, or has not been updated for too long.
 * @throws {@link ConfigError} with code `config_invalid` for an unknown network, an invalid URL, pair or
 * address.
 *
 * @example
 * ```ts
 * import { chainlinkRates, createGateway } from 'express-x402-gateway'
 *
 * const rates = chainlinkRates({ network: 'base', rpcUrl: process.env['RPC_URL'] ?? '' })
 * const gateway = createGateway({ rates })
 * ```
 */
export function chainlinkRates(options: ChainlinkRatesOptions): RateSource {
  const { rpcUrl, timeoutMs = DEFAULT_TIMEOUT_MS, now = Date.now } = options
  const network = findNetwork(options.network)
  if (network === undefined)
    throw new ConfigError(
      'rates.chainlink.network',
      "names no network; write a short name like 'base', or 'eip155:<chain id>'",
      'unknown_network',
    )
  if (!URL.canParse(rpcUrl))
    throw new ConfigError(
      'rates.chainlink.rpcUrl',
      'must be the URL of a JSON-RPC node',
      'invalid_url',
    )
  const feeds = new Map([...knownFeeds(network.chainId), ...ownFeeds(options.feeds)])
  const chain = new RpcChain({ network, rpcUrl, timeoutMs })
  const source = feedRates(chain, feeds, { now, maxAgeSeconds: options.maxAgeSeconds })
  const { freshSeconds = DEFAULT_FRESH_SECONDS, staleSeconds = DEFAULT_STALE_SECONDS } = options
  return crossRates(cachedRates(source, { freshSeconds, staleSeconds, now }))
}

function ownFeeds(
  feeds: Readonly<Record<string, string>> = {},
): readonly [string, ChainlinkFeed][] {
  return Object.entries(feeds).map(([pair, address]) => {
    const option = `rates.chainlink.feeds[${JSON.stringify(pair)}]`
    if (!PAIR.test(pair))
      throw new ConfigError(
        option,
        "the name of a feed is what it compares, e.g. 'EUR/USD'",
        'invalid_rate',
      )
    if (!isAddress(address))
      throw new ConfigError(
        option,
        'must be the address of a feed: 0x and 40 hexadecimal digits',
        'invalid_address',
      )
    return [pair, { address, maxAgeSeconds: DAILY }]
  })
}

interface FeedReading {
  readonly now: () => number
  readonly maxAgeSeconds: number | undefined
}

/** A source for exactly those pairs that have a feed. */
function feedRates(
  chain: Chain,
  feeds: ReadonlyMap<string, ChainlinkFeed>,
  { now, maxAgeSeconds }: FeedReading,
): RateSource {
  return {
    async getRate(base, quote): Promise<Rate | undefined> {
      const pair = `${base}/${quote}`
      const feed = feeds.get(pair)
      if (feed === undefined) return undefined
      const unavailable = (what: string, cause?: unknown): RateError =>
        new RateError('rate_unavailable', `The Chainlink feed of ${pair} ${what}.`, { cause })

      const read = await readFeed(chain, feed.address).catch((error: unknown) => {
        if (!(error instanceof ChainError)) throw error
        throw unavailable('could not be asked', error)
      })
      if (read === undefined) throw unavailable('does not answer as a price feed does')
      const { decimals, roundId, answer, updatedAt, answeredInRound } = read
      if (answer <= 0n) throw unavailable('has no price')
      if (updatedAt === 0n || answeredInRound < roundId)
        throw unavailable('has not completed its round')
      const asOf = Number(updatedAt)
      const until = asOf + (maxAgeSeconds ?? feed.maxAgeSeconds)
      if (now() > until * 1000) throw unavailable('has not been updated for too long')
      const rate = { units: answer, scale: decimals }
      return { rate, asOf, source: `chainlink on ${chain.network.name}`, until }
    },
  }
}

/** Reads a feed within one block. @returns `undefined` when the address has no feed. */
async function readFeed(chain: Chain, to: Address) {
  const calls = (['decimals', 'latestRoundData'] as const).map((functionName) => ({
    to,
    data: encodeFunctionData({ abi: aggregatorAbi, functionName }),
  }))
  const [first, second] = await chain.callMany(calls)
  if (first?.ok !== true || second?.ok !== true) return undefined
  try {
    const decimals = decodeFunctionResult({
      abi: aggregatorAbi,
      functionName: 'decimals',
      data: first.data,
    })
    const [roundId, answer, , updatedAt, answeredInRound] = decodeFunctionResult({
      abi: aggregatorAbi,
      functionName: 'latestRoundData',
      data: second.data,
    })
    return decimals <= MAX_DECIMALS
      ? { decimals, roundId, answer, updatedAt, answeredInRound }
      : undefined
  } catch {
    return undefined
  }
}
