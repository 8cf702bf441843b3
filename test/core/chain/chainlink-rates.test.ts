import { beforeAll, describe, expect, it } from '@jest/globals'
import { getAddress } from 'viem'
import {
  chainlinkRates,
  type ChainlinkRatesOptions,
} from '../../../src/core/chain/chainlink-rates.js'
import { knownFeeds } from '../../../src/core/chain/chainlink-rates.js'
import { ConfigError } from '../../../src/shared/errors.js'
import { formatDecimal } from '../../../src/shared/money/decimal.js'
import { deploy, endlessCode } from '../../support/contracts.js'
import { useDevnet } from '../../support/devnet.js'
import { deployFeeds, type FeedRound, type PriceFeed } from '../../support/price-feed.js'
import { startRpcProxy } from '../../support/rpc-proxy.js'

const devnet = useDevnet()
const NOW = 1_800_000_000
const UNAVAILABLE = { name: 'RateError', code: 'rate_unavailable' }

let eur: PriceFeed
let eth: PriceFeed
let jpy: PriceFeed
const clock = { ms: NOW * 1000 }

beforeAll(async () => {
  ;[eur, eth, jpy] = (await deployFeeds(devnet, 3)) as [PriceFeed, PriceFeed, PriceFeed]
})

const optionsWith = (overrides: Partial<ChainlinkRatesOptions> = {}): ChainlinkRatesOptions => ({
  network: 'base-sepolia',
  rpcUrl: devnet.rpcUrl,
  feeds: { 'EUR/USD': eur.address, 'ETH/USD': eth.address, 'JPY/USD': jpy.address },
  now: () => clock.ms,
  ...overrides,
})

async function rateOf(base: string, quote: string, overrides?: Partial<ChainlinkRatesOptions>) {
  const found = await chainlinkRates(optionsWith(overrides)).getRate(base, quote)
  return found && { ...found, rate: formatDecimal(found.rate) }
}

const good = (answer: bigint, overrides: Partial<FeedRound> = {}): FeedRound => ({
  answer,
  updatedAt: NOW - 60,
  ...overrides,
})

describe('a feed on the chain', () => {
  it('gives its answer to the last digit, with its time and source', async () => {
    await eur.tell(good(108_123_456n))
    expect(await rateOf('EUR', 'USD')).toStrictEqual({
      rate: '1.08123456',
      asOf: NOW - 60,
      source: 'chainlink on Base Sepolia',
      until: NOW - 60 + 90_000,
    })
  })

  it('has the decimals that its contract states', async () => {
    await eth.tell(good(3_141_592_653_589_793_238_462n, { decimals: 18 }))
    expect(await rateOf('ETH', 'USD')).toMatchObject({ rate: '3141.592653589793238462' })
  })

  it('gives inverses and crosses through the dollar, as old as the older one', async () => {
    await eur.tell(good(125_000_000n))
    await jpy.tell(good(625_000n, { updatedAt: NOW - 3600 }))
    expect(await rateOf('USD', 'EUR')).toMatchObject({ rate: '0.8' })
    expect(await rateOf('EUR', 'JPY')).toMatchObject({ rate: '200', asOf: NOW - 3600 })
    expect(await rateOf('JPY', 'EUR')).toMatchObject({ rate: '0.005', until: NOW - 3600 + 90_000 })
  })

  it('does not know a pair without a feed', async () => {
    expect(await rateOf('HKD', 'USD')).toBeUndefined()
    expect(await rateOf('EUR', 'HKD')).toBeUndefined()
  })

  it.each<[string, FeedRound]>([
    ['has no price', good(0n)],
    ['has a negative price', good(-1n)],
    ['has never been updated', good(100n, { updatedAt: 0 })],
    ['answers by an earlier round', good(100n, { roundId: 9n, answeredInRound: 8n })],
    ['was not updated for too long', good(100n, { updatedAt: NOW - 90_001 })],
    ['has more digits than any feed', good(100n, { decimals: 200 })],
  ])('is not believed if it %s', async (_name, round) => {
    await eur.tell(round)
    await expect(rateOf('EUR', 'USD')).rejects.toMatchObject(UNAVAILABLE)
  })

  it('is believed until the last second of its time', async () => {
    await eur.tell(good(108n, { decimals: 2, updatedAt: NOW - 600 }))
    expect(await rateOf('EUR', 'USD', { maxAgeSeconds: 600 })).toMatchObject({ rate: '1.08' })
    await expect(rateOf('EUR', 'USD', { maxAgeSeconds: 599 })).rejects.toMatchObject(UNAVAILABLE)
  })

  it('gives no rate if there is no contract or another one', async () => {
    const nobody = `0x${'12'.repeat(20)}`
    const addresses = [nobody, devnet.asset, await deploy(devnet, endlessCode)]
    for (const address of addresses)
      await expect(rateOf('EUR', 'USD', { feeds: { 'EUR/USD': address } })).rejects.toMatchObject(
        UNAVAILABLE,
      )
  })
})

describe('a node', () => {
  it('makes the rate unavailable while it is away, and is not named', async () => {
    const rates = rateOf('EUR', 'USD', { rpcUrl: 'http://127.0.0.1:9/v2/secret-provider-key' })
    const error: unknown = await rates.catch((thrown: unknown) => thrown)
    expect(error).toMatchObject(UNAVAILABLE)
    const { message, cause } = error as Error
    expect(`${message} ${String(cause)} ${String((cause as Error).cause)}`).not.toContain('secret')
  })

  it('gives no rates if it is on another chain', async () => {
    const rates = rateOf('EUR', 'USD', { network: 'base' })
    await expect(rates).rejects.toMatchObject(UNAVAILABLE)
  })

  it('is asked again after the default time if that option is undefined (rule 20)', async () => {
    await eur.tell(good(108_000_000n))
    const proxy = await startRpcProxy(devnet.rpcUrl)
    try {
      const undefinedOptions = { freshSeconds: undefined, staleSeconds: undefined } as object
      const rates = chainlinkRates({ ...optionsWith({ rpcUrl: proxy.url }), ...undefinedOptions })
      await rates.getRate('EUR', 'USD')
      clock.ms += 301_000
      await rates.getRate('EUR', 'USD')
      expect(proxy.methods.filter((method) => method === 'eth_call')).toHaveLength(2)
    } finally {
      await proxy.close()
    }
  })

  it('is asked once for a while, and can be away then', async () => {
    await eur.tell(good(108_000_000n))
    const proxy = await startRpcProxy(devnet.rpcUrl)
    try {
      const rates = chainlinkRates(
        optionsWith({ rpcUrl: proxy.url, freshSeconds: 15, staleSeconds: 300 }),
      )
      await Promise.all(Array.from({ length: 20 }, () => rates.getRate('EUR', 'USD')))
      expect(proxy.methods).toStrictEqual(['eth_chainId', 'eth_call'])
      proxy.fault = () => ({ kind: 'drop_request' })
      clock.ms += 300_000
      expect(await rates.getRate('EUR', 'USD')).toMatchObject({ asOf: NOW - 60 })
      clock.ms += 1000
      await expect(rates.getRate('EUR', 'USD')).rejects.toMatchObject(UNAVAILABLE)
    } finally {
      clock.ms = NOW * 1000
      await proxy.close()
    }
  })
})

describe('the known feeds', () => {
  it.each([1, 8453])('are addresses with their checksum, each once, on chain %i', (chainId) => {
    const feeds = [...knownFeeds(chainId)]
    const addresses = feeds.map(([, { address }]) => address)
    expect(addresses.map((address) => getAddress(address))).toStrictEqual(addresses)
    expect(new Set(addresses).size).toBe(feeds.length)
    expect(feeds.map(([pair]) => pair)).toContain('EUR/USD')
  })

  it('are none on a chain without feeds', () => {
    expect(knownFeeds(84532).size).toBe(0)
  })
})

describe('options', () => {
  it.each<[string, Partial<ChainlinkRatesOptions>, string]>([
    ['a network that is none', { network: 'nowhere' }, 'rates.chainlink.network'],
    ['a URL that is none', { rpcUrl: 'node' }, 'rates.chainlink.rpcUrl'],
    ['a feed without a pair', { feeds: { EUR: '0x' } }, 'rates.chainlink.feeds["EUR"]'],
    ['a feed without an address', { feeds: { 'A/USD': 'x' } }, 'rates.chainlink.feeds["A/USD"]'],
  ])('refuse %s by name', (_name, overrides, option) => {
    const make = () => chainlinkRates(optionsWith(overrides))
    expect(make).toThrow(ConfigError)
    expect(make).toThrow(option)
  })
})
