import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { ConfigError } from '../../../src/shared/errors.js'
import { formatDecimal } from '../../../src/shared/money/decimal.js'
import { parsePrice, type ParsePriceOptions } from '../../../src/shared/money/price.js'

const USDC = '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913'

function read(price: unknown, options?: Partial<ParsePriceOptions>): string {
  const parsed = parsePrice(price, { defaultCurrency: 'USD', ...options })
  if (parsed.kind === 'asset') return `${parsed.amount} of ${parsed.asset} on ${parsed.network}`
  return `${formatDecimal(parsed.amount)} ${parsed.currency}`
}

function errorOf(price: unknown, options?: Partial<ParsePriceOptions>): ConfigError {
  try {
    read(price, options)
  } catch (error) {
    if (error instanceof ConfigError) return error
  }
  throw new Error('no ConfigError')
}

describe('parsePrice', () => {
  it.each([
    ['$0.01', '0.01 USD'],
    ['€0.01', '0.01 EUR'],
    ['£2', '2 GBP'],
    ['0.01 EUR', '0.01 EUR'],
    ['EUR 0.01', '0.01 EUR'],
    ['100 JPY', '100 JPY'],
    ['$0.001', '0.001 USD'],
    ['$0.0000001', '0.0000001 USD'],
    ['1.000', '1.000 USD'],
    [{ amount: '0.01', currency: 'EUR' }, '0.01 EUR'],
    [{ amount: 0.01, currency: 'EUR' }, '0.01 EUR'],
    [1e-7, '0.0000001 USD'],
  ])('reads %j', (price, meaning) => {
    expect(read(price)).toBe(meaning)
  })

  it('uses the default currency if a price names none', () => {
    expect(read('0.01', { defaultCurrency: 'CHF' })).toBe('0.01 CHF')
    expect(read(0.01, { defaultCurrency: 'CHF' })).toBe('0.01 CHF')
    expect(read('$0.01', { defaultCurrency: 'CHF' })).toBe('0.01 USD')
  })

  it.each([
    ['', 'no amount'],
    ['$', 'no amount'],
    ['EUR', 'no amount'],
    ['1,000', 'comma'],
    ['1.000,00', 'comma'],
    ['$1,5', 'comma'],
    ['1.000.000', 'two points'],
    ['$.5', "'$.5' is not a price: write the zero before the point, e.g. '0.5'"],
    ['5.', 'point at the end'],
    ['$1e3', 'exponent'],
    ['-1', 'negative'],
    ['-$1', 'negative'],
    ['$-1', 'negative'],
    ['+1', 'plus'],
    ['007', 'leading zeros'],
    ['9'.repeat(101), 'too long'],
    ['$5 CAD', "names its currency twice; write '0.01 USD'"],
    ['$0.01 USDC', "{ asset: 'USDC', network: 'base', amount: '10000' }"],
    ['0.01 usdc', "'0.01 USD', or { asset: 'USDC', network: 'base', amount: '10000' }"],
    ['1 000', "write '$0.01'"],
    [' $1', "write '$0.01'"],
    ['$ 1', "write '$0.01'"],
    ['1 EUR ', "write '$0.01'"],
    ['1EUR', "write '$0.01'"],
    ['free', 'no amount'],
    ['¥100', "'100 JPY'"],
    ['￥100', "'100 CNY'"],
    ['1 eur', "'EUR'"],
    ['usd 1', "'USD'"],
    ['1 XYZ', 'ISO 4217'],
    ['1 XXX', 'for payments'],
    ['1 XAU', 'for payments'],
    [NaN, 'finite'],
    [Infinity, 'finite'],
    [-0.01, 'negative'],
    [undefined, 'undefined is not a price'],
    [null, 'null is not a price'],
    [true, 'not a price'],
    [5n, '5n is not a price'],
    [['$1'], 'an array is not a price'],
    [{}, 'not a price'],
    [{ amount: '1' }, 'not a price'],
    [{ amount: '1', currency: 'eur' }, "'EUR'"],
    [{ amount: '1', currency: 978 }, 'string'],
    [{ amount: '$1', currency: 'USD' }, "'$1' is not a price"],
    [{ amount: -1, currency: 'USD' }, 'negative'],
    [{ amount: 1n, currency: 'USD' }, "1n is not an amount; write a string, e.g. '0.01'"],
    [{ currency: 'USD' }, 'the amount is missing'],
  ])('refuses %p and says what to write instead', (price, hint) => {
    expect(errorOf(price).message).toContain(hint)
  })

  it('names the option that holds the price', () => {
    expect(errorOf('1,000').option).toBe('price')
    expect(errorOf('1,000', { option: 'routes[0].price' }).option).toBe('routes[0].price')
  })

  it.each([
    ['$0'],
    ['$0.00'],
    [0],
    [-0],
    [{ amount: '0', currency: 'USD' }],
    [{ asset: 'USDC', network: 'base', amount: 0n }],
  ])('treats %p as a mistake unless free is meant', (price) => {
    expect(errorOf(price).message).toContain('allowFree')
    expect(errorOf(price, { allowFree: false }).message).toContain('allowFree')
    expect(read(price, { allowFree: true })).toMatch(/^0/)
  })

  it.each([
    [{ asset: 'USDC', network: 'base', amount: '10000' }, '10000 of USDC on eip155:8453'],
    [{ asset: USDC, network: 'eip155:8453', amount: 10000n }, `10000 of ${USDC} on eip155:8453`],
    [
      { asset: 'FOO', network: 'eip155:31337', amount: 2n ** 256n - 1n },
      `${2n ** 256n - 1n} of FOO on eip155:31337`,
    ],
  ])('reads the atomic units of %p', (price, meaning) => {
    expect(read(price)).toBe(meaning)
  })

  it.each([
    [{ asset: 'USDC', network: 'base' }, 'the number of atomic units is missing'],
    [
      { asset: 'USDC', network: 'bse', amount: '1' },
      "'bse' is not a network; did you mean 'base'?",
    ],
    [{ asset: 'USDC', network: 'base', amount: 10000 }, 'atomic units'],
    [{ asset: 'USDC', network: 'base', amount: '0.01' }, 'atomic units'],
    [{ asset: 'USDC', network: 'base', amount: '010000' }, 'atomic units'],
    [{ asset: 'USDC', network: 'base', amount: '0x2710' }, 'atomic units'],
    [{ asset: 'USDC', network: 'base', amount: ' 10000' }, 'atomic units'],
    [{ asset: 'USDC', network: 'base', amount: -1n }, 'atomic units'],
    [{ asset: 'USDC', network: 'base', amount: 2n ** 256n }, 'atomic units'],
    [
      { asset: 'USDC', network: 'nowhere', amount: '1' },
      "'nowhere' is not a network; write 'base'",
    ],
    [{ asset: 'USDC', amount: '1' }, 'the network is missing'],
    [{ asset: '', network: 'base', amount: '1' }, 'is not an asset'],
    [{ asset: '0x1234', network: 'base', amount: '1' }, 'is not an asset'],
    [{ asset: 7, network: 'base', amount: '1' }, 'is not an asset'],
    [{ asset: 'USDC', network: 'base', amount: '1', currency: 'USD' }, 'leave out one'],
  ])('refuses the atomic units of %p', (price, hint) => {
    expect(errorOf(price).message).toContain(hint)
  })

  it('shortens a long price in a message', () => {
    expect(errorOf('x'.repeat(10_000)).message.length).toBeLessThan(300)
    expect(errorOf(10n ** 1000n).message.length).toBeLessThan(300)
  })

  it('gives all spellings of a price the same meaning', () => {
    fc.assert(
      fc.property(
        fc.bigInt({ min: 1n, max: 10n ** 20n }),
        fc.integer({ min: 0, max: 18 }),
        (units, scale) => {
          const amount = formatDecimal({ units, scale })
          const expected = `${amount} EUR`
          expect(read(`€${amount}`)).toBe(expected)
          expect(read(`${amount} EUR`)).toBe(expected)
          expect(read(`EUR ${amount}`)).toBe(expected)
          expect(read({ amount, currency: 'EUR' })).toBe(expected)
          expect(read(amount, { defaultCurrency: 'EUR' })).toBe(expected)
        },
      ),
    )
  })

  it('parses any text or throws a ConfigError', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(...'$€¥0.,1eE+- EURx') }), (text) => {
        try {
          expect(read(text, { allowFree: true })).toMatch(/^\d+(\.\d+)? (USD|EUR)$/)
        } catch (error) {
          expect(error).toBeInstanceOf(ConfigError)
        }
      }),
    )
  })
})

describe('the code of a wrong price', () => {
  it.each<[string, unknown]>([
    ['invalid_price', '1,000'],
    ['invalid_price', -1],
    ['invalid_price', '¥100'],
    ['invalid_price', 0],
    ['invalid_price', { asset: 'USDC', network: 'base', amount: '0x1' }],
    ['unknown_currency', { amount: '1', currency: 'usd' }],
    ['unknown_network', { asset: 'USDC', network: 'nowhere', amount: '1' }],
    ['conflicting_options', { asset: 'USDC', currency: 'USD', network: 'base', amount: '1' }],
  ])('is %s for %p', (code, price) => {
    expect(errorOf(price).issues).toMatchObject([{ option: 'price', code }])
  })
})
