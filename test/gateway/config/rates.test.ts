import { describe, expect, it } from '@jest/globals'
import { ConfigError } from '../../../src/shared/errors.js'
import { fixedRates } from '../../../src/shared/money/fixed-rates.js'
import { formatDecimal } from '../../../src/shared/money/decimal.js'
import type { GatewayOptions } from '../../../src/gateway/config/options.js'
import { resolveOptions } from '../../../src/gateway/config/resolve/resolve-options.js'
import { listen } from '../../support/http.js'
import { useOpened } from '../../support/use-opened.js'

const BASE = { rpcUrl: 'http://127.0.0.1:9/v2/key', relayerKeys: [`0x${'11'.repeat(32)}`] }
const WETH = {
  address: '0x4200000000000000000000000000000000000006',
  symbol: 'WETH',
  decimals: 18,
  rateSymbol: 'ETH',
  eip712: { name: 'Wrapped Ether', version: '1' },
}

/** Options that are complained about, as JSON has them. */
function wrong(options: unknown): string[] {
  try {
    resolveOptions(options as GatewayOptions)
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return error.issues.map(({ option }) => option)
  }
  return []
}

async function rateOf(options: GatewayOptions, base: string, quote: string) {
  const found = await resolveOptions(options).rates.getRate(base, quote)
  return found && `${formatDecimal(found.rate)} ${found.source}`
}

const server = useOpened(() =>
  listen((req, res) => {
    const { searchParams } = new URL(req.url ?? '', 'http://api')
    const base = searchParams.get('base') ?? ''
    if (base !== 'HKD') return void res.writeHead(404).end()
    res.end(JSON.stringify({ base, date: '2026-01-30', rates: { USD: 0.1285 } }))
  }),
)

describe('rates', () => {
  it('can come from an API, a source of one’s own, and fixed ones, in this order', async () => {
    const options = {
      networks: { base: BASE },
      rates: [
        { http: { url: server.url, name: 'ECB' } },
        fixedRates({ 'HKD/USD': '0.3', 'GBP/USD': '1.3' }),
        { 'EUR/USD': '1.08', 'HKD/USD': '0.5' },
      ],
      now: () => Date.UTC(2026, 0, 30, 12),
    }
    expect(await rateOf(options, 'HKD', 'USD')).toBe('0.1285 ECB')
    expect(await rateOf(options, 'GBP', 'USD')).toBe('1.3 fixed')
    expect(await rateOf(options, 'EUR', 'USD')).toBe('1.08 fixed')
    expect(await rateOf(options, 'SEK', 'USD')).toBeUndefined()
  })

  it('can be a single source', async () => {
    const now = () => Date.UTC(2026, 0, 30, 12)
    const options = { rates: { http: { url: server.url } }, now }
    expect(await rateOf(options, 'HKD', 'USD')).toBe('0.1285 http')
  })

  it('can be of tokens that are priced or guarded by them, and of no others', async () => {
    const assets = [WETH, { asset: 'USDC', depegGuardBps: 100 }]
    const networks = { base: { ...BASE, assets } }
    const rates = { 'ETH/USD': '3200', 'USDC/USD': '1.001' }
    expect(await rateOf({ networks, rates }, 'EUR', 'ETH')).toBeUndefined()
    expect(await rateOf({ networks, rates }, 'USD', 'ETH')).toBe('0.0003125 fixed')
    expect(wrong({ networks: { base: BASE }, rates })).toStrictEqual([
      'rates["ETH/USD"]',
      'rates["USDC/USD"]',
    ])
    expect(wrong({ networks })).toStrictEqual(['rates'])
  })

  it.each<[string, unknown, string[]]>([
    ['an empty list', [], ['rates']],
    ['a text in a list', ['1.08'], ['rates.0']],
    ['a pair in a list', [{ 'EUR/USD': '1.08' }, { EURUSD: '1' }], ['rates.1["EURUSD"]']],
    ['an API without a URL', [{ http: {} }], ['rates.0.http.url']],
    ['an API of another kind', { http: { url: 'ftp://api' } }, ['rates.http.url']],
    [
      'times that are none',
      { http: { url: 'https://api.example', freshSeconds: -1, fresh: 1 } },
      ['rates.http.freshSeconds', 'rates.http.fresh'],
    ],
  ])('are refused by name: %s', (_name, rates, options) => {
    expect(wrong({ rates }).filter((option, index, all) => all.indexOf(option) === index)).toEqual(
      expect.arrayContaining(options),
    )
    expect(new Set(wrong({ rates })).size).toBe(options.length)
  })
})

describe('a token', () => {
  const withAsset = (asset: unknown) => ({
    networks: { base: { ...BASE, assets: [asset] } },
    rates: { 'EUR/USD': '1' },
  })

  it('can have settings even if it is a known token', () => {
    const { networks } = resolveOptions({
      networks: { base: { ...BASE, assets: [{ asset: 'USDC', depegGuardBps: 50 }] } },
      rates: { 'USDC/USD': '1' },
    })
    expect(networks[0]?.assets).toMatchObject([
      { symbol: 'USDC', decimals: 6, currency: 'USD', depegGuardBps: 50 },
    ])
  })

  it.each<[string, unknown, string[]]>([
    ['a guard of a token that is not pegged', { ...WETH, depegGuardBps: 50 }, ['0.depegGuardBps']],
    ['a guard of nothing', { asset: 'USDC', depegGuardBps: 0 }, ['0.depegGuardBps']],
    ['a name in rates that is a currency', { ...WETH, rateSymbol: 'USD' }, ['0.rateSymbol']],
    ['a name in rates that is none', { ...WETH, rateSymbol: 'ETH/USD' }, ['0.rateSymbol']],
    ['an unknown one with settings', { asset: 'FOO', depegGuardBps: 50 }, ['0']],
  ])('is refused with %s', (_name, asset, options) => {
    expect(wrong(withAsset(asset))).toStrictEqual(
      options.map((option) => `networks.base.assets.${option}`),
    )
  })
})

describe('the limits of a merchant', () => {
  const withLimits = (limits: object) => ({
    networks: { base: BASE },
    projects: [{ id: 'shop', merchant: { payTo: `0x${'22'.repeat(20)}`, ...limits } }],
  })

  it.each<[object, string[]]>([
    [{ minAmount: '0.50', maxAmount: '0.50' }, []],
    [{ maxAmount: '100' }, []],
    [{ minAmount: '2', maxAmount: '1.99' }, ['maxAmount']],
    [{ minAmount: '0' }, ['minAmount']],
    [{ minAmount: '-1', maxAmount: '1,000' }, ['minAmount', 'maxAmount']],
    [{ minAmount: 1 }, ['minAmount']],
  ])('are checked against each other: %j', (limits, options) => {
    expect(wrong(withLimits(limits))).toStrictEqual(
      options.map((option) => `projects.0.merchant.${option}`),
    )
  })
})

describe('the secret of quotes', () => {
  it('has at least thirty-two characters, and is not quoted in errors', () => {
    expect(wrong({ quoteSecret: 'x'.repeat(32) })).toStrictEqual([])
    expect(wrong({ quoteSecret: 'x'.repeat(31) })).toStrictEqual(['quoteSecret'])
    expect(() => resolveOptions({ quoteSecret: 'hunter2' })).toThrow(/^(?!.*hunter2)/)
  })
})
