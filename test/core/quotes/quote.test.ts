import { describe, expect, it } from '@jest/globals'
import { RateError } from '../../../src/shared/errors.js'
import type { Merchant } from '../../../src/core/merchants/project.js'
import { Quoter } from '../../../src/core/quotes/quote.js'
import { findKnownAsset, type Asset } from '../../../src/shared/money/assets.js'
import { parsePrice, type Price } from '../../../src/shared/money/price.js'
import { fixedRates } from '../../../src/shared/money/fixed-rates.js'
import type { RateSource } from '../../../src/shared/money/rates.js'
import { findNetwork } from '../../../src/shared/protocol/networks.js'
import { exactFormat } from '../../support/exact-format.js'
import type { SchemeFormat } from '../../../src/core/schemes/scheme.js'
import { exactQuoter } from '../../support/quoter.js'

const base = findNetwork('base')!
const polygon = findNetwork('polygon')!
const usdc = findKnownAsset(base, 'USDC')!
const eurc = findKnownAsset(base, 'EURC')!
const polygonUsdc = findKnownAsset(polygon, 'USDC')!
const wei: Asset = {
  symbol: 'WEI',
  network: base,
  address: '0x000000000000000000000000000000000000f00d',
  decimals: 18,
  eip712: { name: 'Wei', version: '1' },
}

const RATES = { 'EUR/USD': '1.08' }
const STYLE = { networkNames: 'caip2' } as const

const merchantWith = (terms: Partial<Merchant> = {}): Merchant => ({
  project: 'shop',
  payTo: '0x000000000000000000000000000000000000bEEF',
  currency: 'USD',
  accepts: [usdc],
  crossCurrency: false,
  fxBufferBps: 0,
  maxTimeoutSeconds: 300,
  redeemWithoutProof: 'same-address',
  v1: false,
  ...terms,
})

const priceOf = (price: Price) => parsePrice(price, { defaultCurrency: 'USD' })

/** Symbol and amount of each entry. */
async function quote(
  price: Price,
  terms?: Partial<Merchant>,
  rates: RateSource = fixedRates(RATES),
) {
  const merchant = merchantWith(terms)
  const quotes = await exactQuoter(merchant, rates).quote(priceOf(price), STYLE)
  return quotes.map(({ entry: { asset, network, amount } }) => {
    const found = merchant.accepts.find(
      (one) => one.address === asset && one.network.caip2 === network,
    )
    return `${found?.symbol} ${found?.network.shortName} ${amount}`
  })
}

describe('an entry', () => {
  it('has the fields of the specification and the domain that wallets sign under', async () => {
    const quoter = exactQuoter(merchantWith(), fixedRates({}))
    const quotes = await quoter.quote(priceOf('$0.01'), STYLE)
    expect(quotes.map(({ entry }) => entry)).toStrictEqual([
      {
        scheme: 'exact',
        network: 'eip155:8453',
        amount: '10000',
        payTo: '0x000000000000000000000000000000000000bEEF',
        maxTimeoutSeconds: 300,
        asset: '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913',
        extra: { name: 'USD Coin', version: '2' },
      },
    ])
  })

  it('states that it is paid upfront, and otherwise nothing', async () => {
    const quoter = exactQuoter(merchantWith(), fixedRates({}))
    const flows = ['upfront', 'authorization'] as const
    const extras = flows.map(
      (paymentFlow) => quoter.quoteFixed(priceOf('$0.01'), { ...STYLE, paymentFlow })?.[0]?.extra,
    )
    expect(extras).toStrictEqual([
      { name: 'USD Coin', version: '2', paymentFlow: 'upfront' },
      { name: 'USD Coin', version: '2' },
    ])
  })

  it('prefers its own time-out to the merchant’s', () => {
    const quoter = exactQuoter(merchantWith(), fixedRates({}))
    const style = { networkNames: 'short', maxTimeoutSeconds: 60 } as const
    expect(quoter.quoteFixed(priceOf('$0.01'), style)).toMatchObject([
      { network: 'base', maxTimeoutSeconds: 60 },
    ])
  })
})

describe('a token that several schemes could be offered for', () => {
  const dollarsOnly: SchemeFormat = {
    offers: ({ currency }) => (currency === 'USD' ? [{ isVoucher: true }] : []),
    decode: () => ({ ok: false, errors: [] }),
    isSignedByPayer: async () => true,
  }
  const quoteBy = async (schemes: Record<string, SchemeFormat>, price: Price) => {
    const merchant = merchantWith({ accepts: [usdc, eurc], crossCurrency: true })
    const formats = new Map(Object.entries(schemes))
    const quotes = await new Quoter(merchant, fixedRates(RATES), formats).quote(
      priceOf(price),
      STYLE,
    )
    return quotes.map(({ entry: { scheme, amount }, applied }) =>
      [scheme, amount, applied ? 'by rate' : 'fixed'].join(' '),
    )
  }

  it('has an entry for each scheme that is supported', async () => {
    expect(await quoteBy({ exact: exactFormat, voucher: dollarsOnly }, '$2')).toEqual([
      'exact 2000000 fixed',
      'voucher 2000000 fixed',
      'exact 1851852 by rate',
    ])
    expect(await quoteBy({ voucher: dollarsOnly }, '$2')).toEqual(['voucher 2000000 fixed'])
  })

  it('accepts no price if no scheme is supported', async () => {
    await expect(quoteBy({}, '$2')).rejects.toMatchObject({ code: 'unsupported_currency' })
  })
})

describe('a price in a currency', () => {
  it('is offered in the merchant’s order of tokens', async () => {
    const accepts = [polygonUsdc, eurc, usdc]
    expect(await quote('$1', { accepts })).toStrictEqual([
      'USDC polygon 1000000',
      'USDC base 1000000',
    ])
    expect(await quote('$2', { accepts, crossCurrency: true })).toStrictEqual([
      'USDC polygon 2000000',
      'EURC base 1851852',
      'USDC base 2000000',
    ])
  })

  it('is at face value in its own tokens, whatever the buffer', async () => {
    const terms = { accepts: [usdc, eurc], crossCurrency: true, fxBufferBps: 10_000 }
    expect(await quote('€1', terms)).toStrictEqual(['USDC base 2160000', 'EURC base 1000000'])
  })

  it('is rounded up, never down', async () => {
    expect(await quote('$0.0000011')).toStrictEqual(['USDC base 2'])
    expect(await quote('$1', { accepts: [eurc], crossCurrency: true })).toStrictEqual([
      'EURC base 925926',
    ])
  })

  it('is not offered in tokens that have no currency', async () => {
    const terms = { accepts: [wei, usdc], crossCurrency: true }
    expect(await quote('$1', terms)).toStrictEqual(['USDC base 1000000'])
    expect(await quote('€1', terms)).toStrictEqual(['USDC base 1080000'])
  })

  it.each<[string, Price, Partial<Merchant>]>([
    ['no token is for it', '€1', {}],
    ['the merchant takes none', '$1', { accepts: [] }],
    ['only a rate could turn it into tokens', '$1', { accepts: [eurc] }],
  ])('is unsupported if %s', async (_name, price, terms) => {
    await expect(quote(price, terms)).rejects.toMatchObject({ code: 'unsupported_currency' })
  })

  it('is unsupported without a rate, except in tokens that need none', async () => {
    const rates = { getRate: async () => undefined }
    const terms = { accepts: [eurc], crossCurrency: true }
    await expect(quote('$1', terms, rates)).rejects.toMatchObject({ code: 'unsupported_currency' })
    expect(await quote('$1', { ...terms, accepts: [eurc, usdc] }, rates)).toStrictEqual([
      'USDC base 1000000',
    ])
  })

  it.each<[string, RateSource]>([
    [
      'gives things away',
      {
        getRate: async () => ({ rate: { units: 0n, scale: 0 }, asOf: 0, source: 'broken' }),
      },
    ],
    [
      'gives money back',
      {
        getRate: async () => ({ rate: { units: -1n, scale: 0 }, asOf: 0, source: 'broken' }),
      },
    ],
    ['is away', { getRate: () => Promise.reject(new RateError('rate_unavailable', 'away')) }],
  ])(
    'has no rate where the source %s, but keeps the tokens that need none',
    async (_name, rates) => {
      const terms = { accepts: [eurc], crossCurrency: true }
      await expect(quote('$1', terms, rates)).rejects.toMatchObject({ code: 'rate_unavailable' })
      expect(await quote('$1', { ...terms, accepts: [eurc, usdc] }, rates)).toStrictEqual([
        'USDC base 1000000',
      ])
    },
  )

  it('does not treat a bug of the source as a missing rate', async () => {
    const rates: RateSource = { getRate: () => Promise.reject(new TypeError('a bug')) }
    const terms = { accepts: [eurc, usdc], crossCurrency: true }
    await expect(quote('$1', terms, rates)).rejects.toThrow(TypeError)
  })
})

describe('quoteFixed', () => {
  it('leaves prices that need a rate to quote', () => {
    const merchant = merchantWith({ accepts: [usdc, eurc], crossCurrency: true })
    const quoter = exactQuoter(merchant, fixedRates(RATES))
    expect(quoter.quoteFixed(priceOf('$1'), STYLE)).toBeUndefined()
  })

  it('needs no rate if all tokens are pegged to the price’s currency', () => {
    const merchant = merchantWith({ crossCurrency: true })
    const quoter = exactQuoter(merchant, fixedRates({}))
    expect(quoter.quoteFixed(priceOf('$1'), STYLE)).toHaveLength(1)
  })
})

describe('a price in a token', () => {
  const inUsdc = { asset: 'USDC', network: 'base', amount: '123' }

  it('is asked in that token alone, to the unit', async () => {
    expect(await quote(inUsdc, { accepts: [eurc, usdc], fxBufferBps: 50 })).toStrictEqual([
      'USDC base 123',
    ])
  })

  it('is unsupported if the merchant does not accept the token', async () => {
    await expect(quote({ ...inUsdc, network: 'polygon' })).rejects.toMatchObject({
      code: 'unsupported_currency',
    })
  })
})
