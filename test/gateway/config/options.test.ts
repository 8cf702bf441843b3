import { describe, expect, it } from '@jest/globals'
import { ConfigError, type ConfigErrorCode, type ConfigIssue } from '../../../src/shared/errors.js'
import { createMemoryLedger } from '../../../src/ledger/memory-ledger.js'
import { processWarnings } from '../../../src/shared/logger.js'
import { world } from '../../../src/shared/world.js'
import { hashToken } from '../../../src/shared/crypto/identify-token.js'
import type { GatewayOptions } from '../../../src/gateway/config/options.js'
import { resolveOptions } from '../../../src/gateway/config/resolve/resolve-options.js'
import { patchedLedger } from '../../support/patched-ledger.js'

const KEY = `0x${'5e'.repeat(32)}`
const PAY_TO = '0x000000000000000000000000000000000000bEEF'
const TOKEN = 'x402_token-of-the-shop'
const BASE = { rpcUrl: 'https://base.example/v2/key', relayerKeys: [KEY] }
const FOO = {
  address: '0x000000000000000000000000000000000000f00d',
  symbol: 'FOO',
  decimals: 18,
  currency: 'USD',
  eip712: { name: 'Foo', version: '1' },
}
const facilitator = {
  verify: () => Promise.reject(new Error('unused')),
  settle: () => Promise.reject(new Error('unused')),
  supported: () => Promise.reject(new Error('unused')),
}

const shop = (merchant: object = {}) => ({
  id: 'shop',
  tokens: [TOKEN],
  merchant: { payTo: PAY_TO, ...merchant },
})

/** Everything that is wrong with some options, which need not have the right types. */
function issuesOf(options: unknown): readonly ConfigIssue[] {
  try {
    resolveOptions(options as GatewayOptions)
  } catch (error) {
    if (error instanceof ConfigError) return error.issues
    throw error
  }
  return []
}

const wrong = (options: unknown): string[] => issuesOf(options).map(({ option }) => option)

describe('the defaults', () => {
  it('are those of the documentation', () => {
    const resolved = resolveOptions({ networks: { base: BASE }, projects: [shop()] })
    expect(resolved).toMatchObject({
      handlerId: 'xyz.vendor.gateway_payment',
      networkNames: 'caip2',
      rateLimit: {},
      paymentRateLimit: false,
      settleTimeoutMs: 25_000,
      now: world.now,
      networks: [
        {
          network: { caip2: 'eip155:8453' },
          assets: [{ symbol: 'USDC' }],
          core: { rpcUrl: BASE.rpcUrl, relayerKeys: [KEY] },
        },
      ],
      projects: [
        {
          id: 'shop',
          merchant: {
            project: 'shop',
            payTo: PAY_TO,
            currency: 'USD',
            accepts: [{ symbol: 'USDC' }],
            crossCurrency: false,
            fxBufferBps: 0,
            maxTimeoutSeconds: 300,
            redeemWithoutProof: 'same-address',
          },
        },
      ],
    })
    expect(resolved.logger).toBe(processWarnings)
    const { publicUrl, docsUrl, facilitators, ledger } = resolved
    for (const one of [publicUrl, docsUrl, ledger]) expect(one).toBeUndefined()
    expect(facilitators).toEqual([])
  })

  it('are enough for a gateway that serves nobody yet', () => {
    expect(resolveOptions({})).toMatchObject({ networks: [], projects: [] })
  })
})

describe('valid options', () => {
  it('are accepted in every form that the documentation shows', () => {
    const { networks, projects, publicUrl, docsUrl } = resolveOptions({
      publicUrl: 'https://pay.example.com/',
      handlerId: 'com.example.pay',
      networkNames: 'short',
      networks: { 'eip155:8453': { ...BASE, assets: ['USDC', 'EURC', FOO] } },
      projects: [
        { id: 'bare' },
        { id: 'acme', tokens: [hashToken(TOKEN), 'x402_second-token-of-acme'] },
        shop({
          currency: 'EUR',
          crossCurrency: true,
          fxBufferBps: 50,
          maxTimeoutSeconds: 60,
          redeemWithoutProof: 'never',
          accepts: [
            { network: 'base', asset: FOO.address.toUpperCase().replace('0X', '0x') },
            { network: 'base', asset: 'EURC' },
          ],
        }),
      ].map((project, index) => (index === 2 ? { ...project, tokens: [] } : project)),
      rates: { 'EUR/USD': '1.08' },
      rateLimit: false,
      paymentRateLimit: { windowMs: 1000, limit: 5 },
      ucp: { docsUrl: 'https://vendor.xyz/docs//' },
      ledger: createMemoryLedger(),
    })
    expect([publicUrl, docsUrl]).toStrictEqual([
      'https://pay.example.com',
      'https://vendor.xyz/docs',
    ])
    expect(networks[0]?.assets.map(({ symbol }) => symbol)).toStrictEqual(['USDC', 'EURC', 'FOO'])
    expect(projects[1]?.tokenHashes.map((hash) => `sha256:${hash.toString('hex')}`)).toStrictEqual([
      hashToken(TOKEN),
      hashToken('x402_second-token-of-acme'),
    ])
    expect(projects[2]?.merchant).toMatchObject({
      redeemWithoutProof: 'never',
    })
    expect(projects[2]?.merchant?.accepts.map(({ symbol }) => symbol)).toStrictEqual([
      'FOO',
      'EURC',
    ])
  })

  it('accept relayer limits at their bounds, in their own units', () => {
    for (const [maxFeePerGasGwei, maxFeePerGas] of [
      [1e-9, 1n],
      [1e6, 10n ** 15n],
    ] as const)
      expect(
        resolveOptions({ networks: { base: { ...BASE, maxFeePerGasGwei } } }).networks[0]?.core,
      ).toMatchObject({ maxFeePerGas })
    for (const replaceAfterSeconds of [1, 3600])
      expect(
        resolveOptions({ networks: { base: { ...BASE, replaceAfterSeconds } } }).networks[0]?.core,
      ).toMatchObject({ stuckMs: replaceAfterSeconds * 1000 })
  })

  it('need no node and no key with a remote facilitator', () => {
    const resolved = resolveOptions({ facilitator, networks: { base: {} }, projects: [shop()] })
    expect(resolved.networks[0]).toMatchObject({ assets: [{ symbol: 'USDC' }] })
    expect(resolved.networks[0]?.core).toBeUndefined()
    expect(wrong({ networks: { base: {} } })).toStrictEqual([
      'networks.base.rpcUrl',
      'networks.base.relayerKeys',
    ])
  })

  it('need a node and keys on networks that no facilitator of a list settles on', () => {
    const list = [{ facilitator, networks: ['eip155:137'] }]
    const { networks, facilitators } = resolveOptions({
      facilitator: list,
      networks: { base: BASE, polygon: {} },
      projects: [shop()],
    })
    expect(facilitators).toEqual([{ facilitator, networks: ['eip155:137'] }])
    expect(networks.map(({ core }) => core !== undefined)).toEqual([true, false])
    expect(wrong({ facilitator: list, networks: { base: {}, polygon: {} } })).toStrictEqual([
      'networks.base.rpcUrl',
      'networks.base.relayerKeys',
    ])
  })

  it('name each mistake in a list of facilitators', () => {
    const mistakes = (list: unknown) =>
      wrong({ facilitator: list as never, networks: { base: BASE, polygon: BASE } })
    const one = { facilitator, networks: ['base'] }
    expect(mistakes([])).toEqual(['facilitator'])
    expect(mistakes(['base'])).toEqual(['facilitator.0'])
    expect(mistakes([{ facilitator, networks: ['base', 'celo'] }])).toEqual([
      'facilitator.0.networks.1',
    ])
    expect(mistakes([one, { facilitator, networks: ['eip155:8453'] }])).toEqual([
      'facilitator.1.networks.0',
    ])
    for (const incomplete of [{ facilitator }, { networks: ['base'] }, { ...one, share: 1 }])
      expect(mistakes([incomplete])).toHaveLength(1)
  })

  it('accept a source of rates', async () => {
    const rates = { getRate: async () => undefined }
    expect(resolveOptions({ rates }).rates).toBe(rates)
    const fixed = resolveOptions({ rates: { 'EUR/USD': '1.08' } }).rates
    expect(await fixed.getRate('EUR', 'USD')).toMatchObject({ source: 'fixed' })
  })
})

describe('options that are undefined', () => {
  it('count as not given on every level', () => {
    const base = { ...BASE, maxFeePerGasGwei: undefined, replaceAfterSeconds: undefined }
    const merchant = { currency: undefined, minAmount: undefined, accepts: undefined }
    const given = {
      publicUrl: undefined,
      handlerId: undefined,
      networks: { base: { ...base, acceptContractPayers: undefined, assets: undefined } },
      projects: [shop({ ...merchant, maxTimeoutSeconds: undefined })],
      rates: undefined,
      rateLimit: undefined,
      paymentRateLimit: { windowMs: undefined, limit: 5, store: undefined },
      ucp: { docsUrl: undefined },
      logger: undefined,
      ledger: undefined,
      now: undefined,
    } as unknown as GatewayOptions
    const { rates: _rates, ...resolved } = resolveOptions(given)
    const { rates: _others, ...bare } = resolveOptions({
      networks: { base: BASE },
      projects: [shop()],
      paymentRateLimit: { limit: 5 },
    })
    expect(resolved).toEqual(bare)
    expect(resolved.paymentRateLimit).toStrictEqual({ limit: 5 })
  })
})

describe('wrong options', () => {
  it('are all named at once, each by its path', () => {
    const options = {
      publicUrl: 'pay.example.com',
      handlerID: 'com.example.pay',
      handlerId: 'Payment',
      networkNames: 'long',
      networks: {
        base: { rpcURL: 'x', rpcUrl: 'ftp://base.example', relayerKeys: ['0x12'] },
        nowhere: BASE,
        polygon: { ...BASE, assets: ['EURC', { ...FOO, decimals: '18', eip712: {} }] },
      },
      projects: [
        { id: '', tokens: ['short'] },
        shop({
          payTo: '0xbEEF',
          fxBufferBps: 0.5,
          maxTimeoutSecond: 60,
          redeemWithoutProof: 'always',
          listed: ['https://shop.example/'],
        }),
        'shop',
      ],
      rates: { 'EUR/USD': 1.08, EURUSD: '1.08' },
      rateLimit: { windowMs: 0, limits: 1 },
      paymentRateLimit: { limit: 0, window: 1 },
      ucp: { docsUrl: 'https://vendor.xyz/?x' },
      ledger: {},
      logger: console.log,
      settleTimeoutMs: '25000',
      now: 5,
    }
    expect(wrong(options).sort()).toStrictEqual(
      [
        'publicUrl',
        'handlerID',
        'handlerId',
        'networkNames',
        'networks.base.rpcURL',
        'networks.base.rpcUrl',
        'networks.base.relayerKeys.0',
        'networks.nowhere',
        'networks.polygon.assets.1.decimals',
        'networks.polygon.assets.1.eip712.name',
        'networks.polygon.assets.1.eip712.version',
        'projects.0.id',
        'projects.1.merchant.payTo',
        'projects.1.merchant.fxBufferBps',
        'projects.1.merchant.maxTimeoutSecond',
        'projects.1.merchant.redeemWithoutProof',
        'projects.1.merchant.listed.0',
        'projects.2',
        'rates["EUR/USD"]',
        'rates["EURUSD"]',
        'rateLimit.windowMs',
        'rateLimit.limits',
        'paymentRateLimit.limit',
        'paymentRateLimit.window',
        'ucp.docsUrl',
        'ledger',
        'logger',
        'settleTimeoutMs',
        'now',
      ].sort(),
    )
  })

  it.each<[string, unknown, string[]]>([
    ['no options', undefined, ['options']],
    ['a list', [], ['options']],
    ['networks that are a list', { networks: [BASE] }, ['networks']],
    ['projects that are no list', { projects: { shop: shop() } }, ['projects']],
    ['a network that is nothing', { networks: { base: null } }, ['networks.base']],
    ['rates that are a text', { rates: '1.08' }, ['rates']],
    ['a limit that is on', { rateLimit: true }, ['rateLimit']],
    ['a store that is none', { rateLimit: { store: {} } }, ['rateLimit.store']],
    ['a limit of payments that is on', { paymentRateLimit: true }, ['paymentRateLimit']],
    ...Object.keys(patchedLedger(createMemoryLedger())).map(
      (member): [string, unknown, string[]] => [
        `a ledger without its ${member}`,
        { ledger: { ...patchedLedger(createMemoryLedger()), [member]: 1 } },
        ['ledger'],
      ],
    ),
    ...[0, 1e-10, 1e7, -1, NaN, '20'].map((maxFeePerGasGwei): [string, unknown, string[]] => [
      `a gas price of ${JSON.stringify(maxFeePerGasGwei)} gwei at most`,
      { networks: { base: { ...BASE, maxFeePerGasGwei } } },
      ['networks.base.maxFeePerGasGwei'],
    ]),
    ...[0, 0.5, 3601, -30, Infinity, '30'].map(
      (replaceAfterSeconds): [string, unknown, string[]] => [
        `transactions replaced after ${JSON.stringify(replaceAfterSeconds)} seconds`,
        { networks: { base: { ...BASE, replaceAfterSeconds } } },
        ['networks.base.replaceAfterSeconds'],
      ],
    ),
    [
      'an asset that is a number',
      { networks: { base: { ...BASE, assets: [1] } } },
      ['networks.base.assets.0'],
    ],
    ['no assets', { networks: { base: { ...BASE, assets: [] } } }, ['networks.base.assets']],
    [
      'no keys',
      { networks: { base: { ...BASE, relayerKeys: [] } } },
      ['networks.base.relayerKeys'],
    ],
    [
      'a token that we do not know there',
      { networks: { polygon: { ...BASE, assets: ['EURC'] } } },
      ['networks.polygon.assets.0'],
    ],
    [
      'a token twice',
      { networks: { base: { ...BASE, assets: ['USDC', 'USDC'] } } },
      ['networks.base.assets.1'],
    ],
    [
      'a network under both its names',
      { networks: { base: BASE, 'eip155:8453': BASE } },
      ['networks.eip155:8453'],
    ],
    ['a merchant without a network', { projects: [shop()] }, ['projects.0.merchant.accepts']],
    [
      'a currency that is none',
      { networks: { base: BASE }, projects: [shop({ currency: 'usd' })] },
      ['projects.0.merchant.currency'],
    ],
    [
      'a token that no network has',
      {
        networks: { base: BASE },
        projects: [
          shop({
            accepts: [
              { network: 'base', asset: 'USDC' },
              { network: 'base', asset: 'EURC' },
              { network: 'polygon', asset: 'USDC' },
            ],
          }),
        ],
      },
      ['projects.0.merchant.accepts.1', 'projects.0.merchant.accepts.2'],
    ],
    ['two projects of one id', { projects: [{ id: 'a' }, { id: 'a' }] }, ['projects.1.id']],
    [
      'a token of two projects',
      {
        projects: [
          { id: 'a', tokens: [TOKEN] },
          { id: 'b', tokens: [hashToken(TOKEN)] },
        ],
      },
      ['projects.1.tokens.0'],
    ],
  ])('are found: %s', (_name, options, paths) => {
    expect(wrong(options)).toStrictEqual(paths)
  })

  it('are reported without their consequences', () => {
    const accepts = [{ network: 'base', asset: 'USDC' }]
    expect(
      wrong({ networks: { base: { ...BASE, rpcUrl: 1 } }, projects: [shop({ accepts })] }),
    ).toStrictEqual(['networks.base.rpcUrl'])
  })

  it('throw an error whose message names the first one', () => {
    const refuse = (): unknown => resolveOptions({ settleTimeoutMs: 0, handlerId: '' })
    expect(refuse).toThrow(ConfigError)
    expect(refuse).toThrow(expect.objectContaining({ code: 'config_invalid', option: 'handlerId' }))
  })
})

it.each([
  [{ networks: ['base'] }, 'must be an object, like { base: { rpcUrl, relayerKeys } }'],
  [{ networks: { base: { ...BASE, relayerKeys: KEY } } }, 'must be an array of private keys, like'],
  [{ networks: { base: BASE }, payTo: KEY }, 'belongs to a merchant: projects[].merchant.payTo'],
  [{ networks: { base: { ...BASE, rpcUrl: '' } } }, 'is empty: the URL of a JSON-RPC node'],
])('options that were meant otherwise are explained: %j', (options, words) => {
  expect(() => resolveOptions(options as never)).toThrow(words)
})

it('options, networks and merchants may be undefined where they are not set', () => {
  const of = (given: object, network: object, merchant: object) =>
    resolveOptions({
      networks: { base: { ...BASE, ...network } },
      projects: [{ id: 'shop', merchant: { payTo: PAY_TO, ...merchant } }],
      ...given,
    })
  const unset = of(
    { publicUrl: undefined, rateLimit: undefined, metrics: undefined, admin: undefined },
    { maxFeePerGasGwei: undefined, assets: undefined, acceptContractPayers: undefined },
    { name: undefined, currency: undefined, minAmount: undefined, accepts: undefined },
  )
  const { networks, projects, rateLimit, publicUrl, metrics } = of({}, {}, {})
  expect(unset).toMatchObject({ networks, rateLimit, metrics })
  expect(unset.publicUrl).toBe(publicUrl)
  expect(unset.projects[0]?.merchant).toEqual(projects[0]?.merchant)
})

it('takes factories by name and by address, and none by default', () => {
  const of = (network: object) => {
    const networks = { base: { ...BASE, ...network } }
    return resolveOptions({ networks, projects: [shop()] }).networks[0]?.core?.allowedFactories
  }
  expect(of({})).toStrictEqual([])
  const own = '0x4200000000000000000000000000000000000042'
  expect(of({ allowedFactories: ['coinbase', own, 'safe'] })).toStrictEqual([
    '0xBA5ED110eFDBa3D005bfC882d75358ACBbB85842',
    '0x0BA5ED0c6AA8c49038F819E587E2633c4A9F428a',
    own,
    '0x4e1DCf7AD4e460CfD30791CCC4F9c8a4f820ec67',
  ])
  expect(of({ allowedFactories: ['kernel', 'light-account'] })).toHaveLength(3)
})

it.each(['true', {}, ['0x']])('refuses %j as executor', (executor) => {
  const networks = { base: { ...BASE, executor } }
  const options = { networks, projects: [shop()] } as unknown as GatewayOptions
  const issue = { code: 'invalid_type', option: 'networks.base.executor' }
  expect(issuesOf(options)).toMatchObject([issue])
})

describe('the code of a mistake', () => {
  const shopOf = (merchant: object) => ({ networks: { base: BASE }, projects: [shop(merchant)] })
  const network = (settings: object) => ({ networks: { base: { ...BASE, ...settings } } })

  it.each<[ConfigErrorCode, string, unknown]>([
    ['missing_option', 'networks.base.rpcUrl', { networks: { base: { relayerKeys: [KEY] } } }],
    ['missing_option', 'networks.base.rpcUrl', network({ rpcUrl: '' })],
    ['missing_option', 'networks.base.relayerKeys.0', network({ relayerKeys: [''] })],
    ['missing_option', 'projects.0.merchant.payTo', shopOf({ payTo: '' })],
    ['missing_option', 'rates', network({ assets: [{ asset: 'USDC', depegGuardBps: 5 }] })],
    ['unknown_option', 'publicURL', { publicURL: 'https://pay.example.com' }],
    [
      'conflicting_options',
      'networks.base.assets.0.rateSymbol',
      network({ assets: [{ ...FOO, rateSymbol: 'USD' }] }),
    ],
    [
      'conflicting_options',
      'projects.0.merchant.maxAmount',
      shopOf({ minAmount: '2', maxAmount: '1' }),
    ],
    ['invalid_type', 'settleTimeoutMs', { settleTimeoutMs: '25000' }],
    ['invalid_type', 'logger', { logger: {} }],
    ['invalid_type', 'options', []],
    ['invalid_value', 'networkNames', { networkNames: 'long' }],
    ['invalid_value', 'projects.0.merchant.minAmount', shopOf({ minAmount: '0' })],
    ['out_of_range', 'networks.base.replaceAfterSeconds', network({ replaceAfterSeconds: 0 })],
    ['invalid_url', 'networks.base.rpcUrl', network({ rpcUrl: 'base.example' })],
    ['invalid_address', 'projects.0.merchant.payTo', shopOf({ payTo: '0xbEEF' })],
    [
      'invalid_address',
      'networks.base.allowedFactories.0',
      network({ allowedFactories: ['0xBA5ED110eFDBa3D005bfC882d75358ACBbB85843'] }),
    ],
    [
      'invalid_address',
      'networks.base.allowedFactories.1',
      network({ allowedFactories: ['safe', '0x12'] }),
    ],
    ['invalid_value', 'networks.base.allowedFactories.0', network({ allowedFactories: ['saef'] })],
    ...[
      '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913',
      '0xcA11bde05977b3631167028862bE2a173976CA11',
      '0x000000000022D473030F116dDEE9F6B43aC78BA3',
      '0x402085c248EeA27D92E8b30b2C58ed07f9E20001',
      '0x4020A4f3b7b90ccA423B9fabCc0CE57C6C240002',
    ].map((factory): [ConfigErrorCode, string, unknown] => [
      'conflicting_options',
      'networks.base.allowedFactories',
      network({ allowedFactories: ['coinbase', factory] }),
    ]),
    ['invalid_value', 'projects.0.merchant.name', shopOf({ name: 'Shop\u001b[2J' })],
    ['invalid_value', 'projects.0.merchant.name', shopOf({ name: 'Shop \u202egnp' })],
    ['invalid_key', 'networks.base.relayerKeys.0', network({ relayerKeys: ['0x12'] })],
    ['invalid_token', 'projects.0.tokens.0', { projects: [{ id: 'a', tokens: ['short'] }] }],
    ['invalid_rate', 'rates["EUR/USD"]', { rates: { 'EUR/USD': '1,08' } }],
    ['unknown_network', 'networks.nowhere', { networks: { nowhere: BASE } }],
    ['unknown_asset', 'networks.base.assets.0', network({ assets: ['DAI'] })],
    [
      'unknown_asset',
      'projects.0.merchant.accepts.0',
      shopOf({ accepts: [{ network: 'base', asset: 'EURC' }] }),
    ],
    ['unknown_currency', 'projects.0.merchant.currency', shopOf({ currency: 'usd' })],
    ['unknown_currency', 'rates["EUR/USDX"]', { rates: { 'EUR/USDX': '1' } }],
    [
      'duplicate_network',
      'networks.eip155:8453',
      { networks: { base: BASE, 'eip155:8453': BASE } },
    ],
    ['duplicate_asset', 'networks.base.assets.1', network({ assets: ['USDC', 'USDC'] })],
    ['duplicate_key', 'networks.base.relayerKeys', network({ relayerKeys: [KEY, KEY] })],
    ['duplicate_project', 'projects.1.id', { projects: [{ id: 'a' }, { id: 'a' }] }],
    ['duplicate_token', 'projects.0.tokens.1', { projects: [{ id: 'a', tokens: [TOKEN, TOKEN] }] }],
  ])('is %s for %s', (code, option, options) => {
    expect(issuesOf(options)).toStrictEqual([{ option, code, message: expect.any(String) }])
  })

  it.each([
    [{ accessLog: true }, 'accessLog', 'serve --access-log'],
    [{ trustProxys: 1 }, 'trustProxys', "did you mean 'trustProxy'?"],
    [{ maxHeld: 1 }, 'maxHeld', 'no other has a similar name: remove it'],
    [{ rates: { chainlink: { rpcUrl: 'x' } } }, 'rates["chainlink"]', 'an object with getRate'],
  ])('comes with what to write: %j', (options, option, words) => {
    const message = expect.stringContaining(words)
    expect(issuesOf(options)).toMatchObject([{ option, message }])
  })
})

describe('payTo', () => {
  const payTo = (address: string): string[] =>
    wrong({ networks: { base: BASE }, projects: [shop({ payTo: address })] })
  const CHECKSUMMED = '0x209693Bc6afc0C5328bA36FaF03C514EF312287C'
  const USDC_ON_BASE = '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913'

  it.each([USDC_ON_BASE, USDC_ON_BASE.toLowerCase()])(
    'cannot be the contract of a token, where the money would be lost: %s',
    (address) => {
      expect(payTo(address)).toStrictEqual(['projects.0.merchant.payTo'])
    },
  )

  it.each([CHECKSUMMED, CHECKSUMMED.toLowerCase()])('can be %s', (address) => {
    expect(payTo(address)).toStrictEqual([])
  })

  it.each([
    ['mistyped', CHECKSUMMED.replace('0x2096', '0x2097')],
    ['the zero address', `0x${'0'.repeat(40)}`],
    ['too long', `${CHECKSUMMED}0`],
    ['without 0x', CHECKSUMMED.slice(2)],
  ])('is refused if it is %s', (_name, address) => {
    expect(payTo(address)).toStrictEqual(['projects.0.merchant.payTo'])
  })
})

describe('a private key', () => {
  const keys = (...relayerKeys: string[]): string[] =>
    wrong({ networks: { base: { ...BASE, relayerKeys } } })
  const ORDER = '0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141'

  it('can be any number below the order of the curve', () => {
    expect(keys(KEY, `${ORDER.slice(0, -1)}0`)).toStrictEqual([])
  })

  it.each([
    ['zero', `0x${'0'.repeat(64)}`],
    ['not below the order of the curve', ORDER],
    ['a digit short', KEY.slice(0, -1)],
    ['not hexadecimal', KEY.replace('5e', 'zz')],
  ])('is refused if it is %s', (_name, key) => {
    expect(keys(KEY, key)).toStrictEqual(['networks.base.relayerKeys.1'])
  })

  it('is refused if it is given twice', () => {
    expect(keys(KEY, KEY.toUpperCase().replace('0X', '0x'))).toStrictEqual([
      'networks.base.relayerKeys',
    ])
  })
})

describe('the message of a configuration error', () => {
  const SECRET = 'very-secret-5e5e5e5e'

  it.each<[string, unknown]>([
    ['a key', { networks: { base: { ...BASE, relayerKeys: [`0x${SECRET}`] } } }],
    ['a key that is no list', { networks: { base: { ...BASE, relayerKeys: SECRET } } }],
    ['an RPC URL', { networks: { base: { ...BASE, rpcUrl: `base.example/${SECRET}` } } }],
    [
      'an RPC URL in place of a network',
      { networks: { [`https://base.example/${SECRET}`]: BASE } },
    ],
    ['a key in place of a network', { networks: { [`0x${'5e'.repeat(32)}${SECRET}`]: BASE } }],
    ['a token', { projects: [{ id: 'a', tokens: [SECRET.slice(0, 11)] }] }],
    ['a broken hash', { projects: [{ id: 'a', tokens: [`sha256:${SECRET}`] }] }],
    ['a token in place of its list', { projects: [{ id: 'a', tokens: SECRET }] }],
    ['a token in place of its project', { projects: [SECRET] }],
    [
      'a key in place of an address',
      { networks: { base: BASE }, projects: [shop({ payTo: SECRET })] },
    ],
  ])('shows no secret if %s is wrong', (_name, options) => {
    const issues = issuesOf(options)
    expect(issues.length).toBeGreaterThan(0)
    expect(JSON.stringify(issues)).not.toContain(SECRET.slice(0, 11))
    expect(JSON.stringify(issues)).not.toContain('5e5e5e5e')
  })

  it('says what to write instead', () => {
    const issues = issuesOf({
      networks: { base: {}, nowhere: BASE, polygon: { ...BASE, assets: ['EURC'] } },
      projects: [{ id: 'a', tokens: ['short'] }],
      rateLimit: 5,
    })
    expect(
      Object.fromEntries(issues.map(({ option, message }) => [option, message])),
    ).toStrictEqual({
      rateLimit: 'must be false, or must be an object',
      'networks.base.rpcUrl': 'is missing: the URL of a JSON-RPC node',
      'networks.base.relayerKeys': 'is missing: private keys of accounts that pay the gas',
      'networks.nowhere': expect.stringContaining("'base'"),
      'networks.polygon.assets.0': expect.stringContaining('known there: USDC'),
      'projects.0.tokens.0': expect.stringContaining('express-x402-gateway token'),
    })
  })
})
