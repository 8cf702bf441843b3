/** What any price costs in tokens of all kinds, and which of them are offered. */
import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import type { Merchant } from '../../../src/core/merchants/project.js'
import { findKnownAsset, type Asset } from '../../../src/shared/money/assets.js'
import { currencyDigits } from '../../../src/shared/money/currency.js'
import {
  compare,
  formatDecimal,
  multiply,
  type Decimal,
} from '../../../src/shared/money/decimal.js'
import { parseFiatAmount } from '../../../src/shared/money/requested-amount.js'
import { fixedRates } from '../../../src/shared/money/fixed-rates.js'
import { findNetwork } from '../../../src/shared/protocol/networks.js'
import { exactQuoter } from '../../support/quoter.js'

const base = findNetwork('base')!
const usdc = findKnownAsset(base, 'USDC')!
const eurc = findKnownAsset(base, 'EURC')!
const usdx: Asset = {
  symbol: 'USDX',
  network: base,
  address: '0x000000000000000000000000000000000000F00d',
  decimals: 18,
  currency: 'USD',
  eip712: { name: 'Dollar X', version: '1' },
}

const RATES = {
  'EUR/USD': '1.08',
  'HKD/USD': '0.1285',
  'JPY/USD': '0.0067',
  'KWD/USD': '3.2573',
}

function merchantWith(terms: Partial<Merchant>): Merchant {
  return {
    project: 'shop',
    payTo: '0x000000000000000000000000000000000000bEEF',
    currency: 'USD',
    accepts: [usdc, eurc, usdx],
    crossCurrency: true,
    fxBufferBps: 0,
    maxTimeoutSeconds: 300,
    redeemWithoutProof: 'same-address',
    v1: false,
    ...terms,
  }
}

async function quote(amount: string, currency: string, terms: Partial<Merchant>) {
  const merchant = merchantWith(terms)
  const fiat = parseFiatAmount(amount, currency)
  if (!fiat.ok) throw new Error(fiat.message)
  const price = { kind: 'fiat', amount: fiat.amount, currency } as const
  const quotes = await exactQuoter(merchant, fixedRates(RATES)).quote(price, {
    networkNames: 'caip2',
  })
  return Object.fromEntries(
    quotes.map(({ entry }) => {
      const asset = merchant.accepts.find(({ address }) => address === entry.asset)
      return [asset?.symbol ?? '', entry.amount]
    }),
  )
}

describe('any price', () => {
  const anyCurrency = fc.constantFrom('USD', 'EUR', 'HKD', 'JPY', 'KWD')
  const anyPrice = anyCurrency.chain((currency) => {
    const scale = currencyDigits(currency) ?? 0
    return fc
      .bigInt({ min: 1n, max: 10n ** 15n })
      .map((units) => ({ currency, text: formatDecimal({ units, scale }), units, scale }))
  })

  /** Dollars for one, as a fraction; EURC costs the reciprocal of the last. */
  const dollars: Readonly<Record<string, Decimal>> = {
    USD: { units: 1n, scale: 0 },
    EUR: { units: 108n, scale: 2 },
    HKD: { units: 1285n, scale: 4 },
    JPY: { units: 67n, scale: 4 },
    KWD: { units: 32_573n, scale: 4 },
  }

  it('is never below the exact one, and at most a unit above it', async () => {
    await fc.assert(
      fc.asyncProperty(
        anyPrice,
        fc.integer({ min: 0, max: 10_000 }),
        async ({ currency, text, ...price }, fxBufferBps) => {
          const quoted = await quote(text, currency, { fxBufferBps })
          for (const { symbol, decimals, currency: peg } of [usdc, eurc, usdx]) {
            const bufferBps = peg === currency ? 0 : fxBufferBps
            const buffer = { units: 10_000n + BigInt(bufferBps), scale: 4 }
            // Both sides times what a token's currency costs in dollars: no division anywhere.
            const exact = multiply(multiply(price, dollars[currency]!), buffer)
            const worth = (units: bigint) =>
              multiply({ units, scale: decimals }, dollars[peg ?? '']!)
            const units = BigInt(quoted[symbol] ?? '')
            expect(compare(worth(units), exact)).toBeGreaterThanOrEqual(0)
            expect(compare(worth(units - 1n), exact)).toBeLessThanOrEqual(0)
          }
        },
      ),
    )
  })
})

describe('a token that is priced by a rate', () => {
  const weth: Asset = {
    symbol: 'WETH',
    network: base,
    address: '0x4200000000000000000000000000000000000006',
    decimals: 18,
    rateSymbol: 'ETH',
    eip712: { name: 'Wrapped Ether', version: '1' },
  }
  const rates = fixedRates({ ...RATES, 'ETH/USD': '3200' }, { symbols: ['ETH'] })
  const quoteIn = async (amount: string, currency: string, terms: Partial<Merchant> = {}) => {
    const price = parseFiatAmount(amount, currency)
    if (!price.ok) throw new Error(price.message)
    const merchant = merchantWith({ accepts: [weth], ...terms })
    return exactQuoter(merchant, rates).quote(
      { kind: 'fiat', amount: price.amount, currency },
      { networkNames: 'caip2' },
    )
  }

  it('converts a price of any currency by its rate, plus the buffer', async () => {
    const [inDollars] = await quoteIn('16.00', 'USD')
    expect(inDollars).toMatchObject({
      entry: { amount: '5000000000000000' },
      applied: { price: '16.00', currency: 'USD', rate: '0.0003125', source: 'fixed' },
    })
    const [inEuro] = await quoteIn('16.00', 'EUR', { fxBufferBps: 100 })
    expect(inEuro?.entry.amount).toBe('5454000000000000')
  })

  it('is not offered without cross-currency or without a rate', async () => {
    await expect(quoteIn('16.00', 'USD', { crossCurrency: false })).rejects.toMatchObject({
      code: 'unsupported_currency',
    })
    await expect(
      quoteIn('16.00', 'USD', { accepts: [{ ...weth, rateSymbol: 'BTC' }] }),
    ).rejects.toMatchObject({ code: 'unsupported_currency' })
  })
})

describe('the guard of a pegged token', () => {
  const guarded: Asset = { ...usdc, depegGuardBps: 100 }
  const priceOf = async (accepts: readonly Asset[], rates: Record<string, string>) => {
    const quoter = exactQuoter(
      merchantWith({ accepts, crossCurrency: false }),
      fixedRates(rates, { symbols: ['USDC', 'CIRCLE'] }),
    )
    const price = { kind: 'fiat', amount: { units: 15n, scale: 0 }, currency: 'USD' } as const
    expect(quoter.quoteFixed(price, { networkNames: 'caip2' })).toBeUndefined()
    const quotes = await quoter.quote(price, { networkNames: 'caip2' })
    return quotes.map(({ entry }) => entry.amount)
  }
  const UNAVAILABLE = { code: 'rate_unavailable' }

  it.each(['1', '0.99', '1.01', '0.995'])(
    'offers it at face value at a rate of %s',
    async (rate) => {
      expect(await priceOf([guarded], { 'USDC/USD': rate })).toStrictEqual(['15000000'])
    },
  )

  it.each(['0.9899', '1.0101', '0.5', '2'])(
    'removes it from the offer at a rate of %s',
    async (rate) => {
      await expect(priceOf([guarded], { 'USDC/USD': rate })).rejects.toMatchObject(UNAVAILABLE)
      expect(await priceOf([guarded, usdx], { 'USDC/USD': rate })).toStrictEqual([
        '15000000000000000000',
      ])
    },
  )

  it('removes it from the offer if its rate is unknown', async () => {
    const unsupported = { code: 'unsupported_currency' }
    await expect(priceOf([guarded], {})).rejects.toMatchObject(unsupported)
    const renamed = { ...guarded, rateSymbol: 'CIRCLE' }
    await expect(priceOf([renamed], { 'USDC/USD': '1' })).rejects.toMatchObject(unsupported)
    expect(await priceOf([renamed], { 'CIRCLE/USD': '1' })).toStrictEqual(['15000000'])
  })
})

describe('the limits of a merchant', () => {
  const merchant = merchantWith({
    minAmount: { units: 50n, scale: 2 },
    maxAmount: { units: 20n, scale: 0 },
    accepts: [usdc, eurc, { ...usdx, currency: undefined }],
  })
  const quoteAt = (amount: string, currency: string) => {
    const quoter = exactQuoter(merchant, fixedRates(RATES))
    const price = parseFiatAmount(amount, currency)
    if (!price.ok) throw new Error(price.message)
    return quoter.quote({ kind: 'fiat', amount: price.amount, currency }, { networkNames: 'caip2' })
  }

  it.each([
    ['0.50', 'USD'],
    ['20.00', 'USD'],
    ['18.51', 'EUR'],
    ['3.90', 'HKD'],
  ])('let %s %s pass', async (amount, currency) => {
    expect(await quoteAt(amount, currency)).not.toHaveLength(0)
  })

  it.each([
    ['0.49', 'USD', 'at least 0.50 USD'],
    ['20.01', 'USD', 'at most 20 USD'],
    ['18.52', 'EUR', 'at most 20 USD'],
    ['3.89', 'HKD', 'at least 0.50 USD'],
  ])('refuse %s %s', async (amount, currency, message) => {
    const refusal = { code: 'amount_out_of_range', message: expect.stringContaining(message) }
    await expect(quoteAt(amount, currency)).rejects.toMatchObject(refusal)
  })

  it('are not applied without a rate', async () => {
    await expect(quoteAt('15.00', 'CHF')).rejects.toMatchObject({ code: 'unsupported_currency' })
  })

  it('apply to prices in tokens whose currency is known', () => {
    const quoter = exactQuoter(merchant, fixedRates(RATES))
    const style = { networkNames: 'caip2' } as const
    const inToken = (asset: string, amount: bigint) =>
      quoter.quoteFixed({ kind: 'asset', asset, network: base.caip2, amount }, style)
    expect(inToken('USDC', 500_000n)).toHaveLength(1)
    expect(() => inToken('USDC', 499_999n)).toThrow('at least')
    expect(inToken('EURC', 1n)).toBeUndefined()
    expect(inToken('USDX', 1n)).toHaveLength(1)
  })
})
