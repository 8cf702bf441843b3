import { hasRightChecksum } from '../../shared/crypto/checksum-address.js'
import { ChainError, ConfigError, RateError } from '../../shared/errors.js'
import { cachedRates } from '../../shared/money/cached-rates.js'
import { crossRates } from '../../shared/money/cross-rates.js'
import type { Rate, RateSource } from '../../shared/money/rates.js'
import { findNetwork, UNKNOWN_NETWORK } from '../../shared/protocol/networks.js'
import type { Address } from '../../shared/protocol/payment.js'
import { isHexAddress } from '../../shared/protocol/primitives.js'
import type { ReadFeed } from './read-feed.js'

/**
 * Options of {@link chainlinkRates}.
 *
 * @example
 * ```ts
 * import type { ChainlinkRatesOptions } from 'express-x402-gateway'
 *
 * const options: ChainlinkRatesOptions = {
 *   network: 'base',
 *   rpcUrl: process.env['RPC_URL'] ?? '',
 *   maxAgeSeconds: 3600,
 * }
 * ```
 */
export interface ChainlinkRatesOptions {
  /** Network of the feeds: `'base'` or `'eip155:8453'`. Prices may be paid on any other. */
  readonly network: string
  /** URL of a JSON-RPC node of that network. */
  readonly rpcUrl: string
  /**
   * Addresses of feeds by their pair (`'HKD/USD'`). They add to the known feeds on Ethereum and
   * Base, and take precedence over them.
   */
  readonly feeds?: Readonly<Record<string, string>>
  /**
   * How old an update may be when its price is used (s).
   * @defaultValue by the heartbeat of known feeds; 25 hours for others
   */
  readonly maxAgeSeconds?: number
  /** How long a rate is used without asking again (s). @defaultValue 15 */
  readonly freshSeconds?: number
  /** How long it is used while the node does not answer (s). @defaultValue 300 */
  readonly staleSeconds?: number
  /** How long the node may take to answer (ms). @defaultValue 5000 */
  readonly timeoutMs?: number
  /** Milliseconds since the epoch. @defaultValue `Date.now` */
  readonly now?: () => number
}

const DEFAULT_TIMEOUT_MS = 5000
const DEFAULT_FRESH_SECONDS = 15
const DEFAULT_STALE_SECONDS = 300

const NO_URL = 'must be the URL of a JSON-RPC node'
const ODD_PAIR = "the name of a feed is what it compares, e.g. 'EUR/USD'"
const NO_ADDRESS = 'must be the address of a feed: 0x and 40 hexadecimal digits'

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
    throw new ConfigError('rates.chainlink.network', UNKNOWN_NETWORK, 'unknown_network')
  if (!URL.canParse(rpcUrl)) throw new ConfigError('rates.chainlink.rpcUrl', NO_URL, 'invalid_url')
  const feeds = new Map([...knownFeeds(network.chainId), ...ownFeeds(options.feeds)])
  // Loaded when the first rate is read: it takes most of what an app loads that only asks for payments.
  let reader: Promise<ReadFeed> | undefined
  const read: ReadFeed = async (feed) => {
    reader ??= import('./read-feed.js').then((own) =>
      own.feedReader({ network, rpcUrl, timeoutMs }),
    )
    return (await reader)(feed)
  }
  const { maxAgeSeconds } = options
  const source = feedRates(feeds, { read, now, maxAgeSeconds, name: network.name })
  const { freshSeconds = DEFAULT_FRESH_SECONDS, staleSeconds = DEFAULT_STALE_SECONDS } = options
  return crossRates(cachedRates(source, { freshSeconds, staleSeconds, now }))
}

function ownFeeds(
  feeds: Readonly<Record<string, string>> = {},
): readonly [string, ChainlinkFeed][] {
  return Object.entries(feeds).map(([pair, address]) => {
    const option = `rates.chainlink.feeds[${JSON.stringify(pair)}]`
    if (!PAIR.test(pair)) throw new ConfigError(option, ODD_PAIR, 'invalid_rate')
    if (!isHexAddress(address) || !hasRightChecksum(address))
      throw new ConfigError(option, NO_ADDRESS, 'invalid_address')
    return [pair, { address, maxAgeSeconds: DAILY }]
  })
}

interface FeedReading {
  readonly read: ReadFeed
  /** Name of the network. */
  readonly name: string
  readonly now: () => number
  readonly maxAgeSeconds: number | undefined
}

/** A source for exactly those pairs that have a feed. */
function feedRates(
  feeds: ReadonlyMap<string, ChainlinkFeed>,
  { read: readFeed, name, now, maxAgeSeconds }: FeedReading,
): RateSource {
  return {
    async getRate(base, quote): Promise<Rate | undefined> {
      const pair = `${base}/${quote}`
      const feed = feeds.get(pair)
      if (feed === undefined) return undefined
      const unavailable = (what: string, cause?: unknown): RateError =>
        new RateError('rate_unavailable', `The Chainlink feed of ${pair} ${what}.`, { cause })

      const read = await readFeed(feed.address).catch((error: unknown) => {
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
      return { rate, asOf, source: `chainlink on ${name}`, until }
    },
  }
}

/** A Chainlink price feed. */
interface ChainlinkFeed {
  readonly address: Address
  /** How old an update may be when its price is used (s). */
  readonly maxAgeSeconds: number
}

/** Maximum age in seconds for a feed with a heartbeat of an hour, and some slack. */
const HOURLY = 4500

/** Maximum age in seconds for a feed with a heartbeat of a day, and some slack. */
const DAILY = 90_000

type Row = readonly [pair: string, address: Address, maxAgeSeconds: number]

/** https://docs.chain.link/data-feeds/price-feeds/addresses */
const ETHEREUM: readonly Row[] = [
  ['ETH/USD', '0x5f4eC3Df9cbd43714FE2740f5E3616155c5b8419', HOURLY],
  ['BTC/USD', '0xF4030086522a5bEEa4988F8cA5B36dbC97BeE88c', HOURLY],
  ['EUR/USD', '0xb49f677943BC038e9857d61E7d053CaA2C1734C1', DAILY],
  ['GBP/USD', '0x5c0Ab2d9b5a7ed9f470386e82BB36A3613cDd4b5', DAILY],
  ['JPY/USD', '0xBcE206caE7f0ec07b545EddE332A47C2F75bbeb3', DAILY],
  ['CHF/USD', '0x449d117117838fFA61263B61dA6301AA2a88B13A', DAILY],
  ['CAD/USD', '0xa34317DB73e77d453b1B8d04550c44D10e981C8e', DAILY],
  ['AUD/USD', '0x77F9710E7d0A19669A13c055F62cd80d313dF022', DAILY],
  ['USDC/USD', '0x8fFfFfd4AfB6115b954Bd326cbe7B4BA576818f6', DAILY],
  ['EURC/USD', '0x04F84020Fdf10d9ee64D1dcC2986EDF2F556DA11', DAILY],
]

const BASE: readonly Row[] = [
  ['ETH/USD', '0x71041dddad3595F9CEd3DcCFBe3D1F4b0a16Bb70', HOURLY],
  ['BTC/USD', '0x64c911996D3c6aC71f9b455B1E8E7266BcbD848F', HOURLY],
  ['EUR/USD', '0xc91D87E81faB8f93699ECf7Ee9B44D11e1D53F0F', DAILY],
  ['GBP/USD', '0xCceA6576904C118037695eB71195a5425E69Fa15', DAILY],
  ['CHF/USD', '0x3A1d6444fb6a402470098E23DaD0B7E86E14252F', DAILY],
  ['CAD/USD', '0xA840145F87572E82519d578b1F36340368a25D5d', DAILY],
  ['USDC/USD', '0x7e860098F58bBFC8648a4311b374B1D669a2bc6B', DAILY],
  ['EURC/USD', '0xDAe398520e2B67cd3f27aeF9Cf14D93D927f8250', DAILY],
]

const rowsByChain: Readonly<Record<number, readonly Row[]>> = { 1: ETHEREUM, 8453: BASE }

/** The known feeds of a chain, by their pair. */
export function knownFeeds(chainId: number): ReadonlyMap<string, ChainlinkFeed> {
  return new Map(
    rowsByChain[chainId]?.map(([pair, address, maxAgeSeconds]) => [
      pair,
      { address, maxAgeSeconds },
    ]),
  )
}
