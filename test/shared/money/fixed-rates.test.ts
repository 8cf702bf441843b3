import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { ConfigError } from '../../../src/shared/errors.js'
import {
  compare,
  formatDecimal,
  multiply,
  parseDecimal,
} from '../../../src/shared/money/decimal.js'
import { fixedRates } from '../../../src/shared/money/fixed-rates.js'

const NOW = 1_700_000_000

async function rateOf(
  rates: Record<string, string>,
  base: string,
  quote: string,
): Promise<string | undefined> {
  const found = await fixedRates(rates, { now: () => NOW * 1000 }).getRate(base, quote)
  return found && formatDecimal(found.rate)
}

function errorOf(rates: Record<string, string>): ConfigError {
  try {
    fixedRates(rates)
  } catch (error) {
    if (error instanceof ConfigError) return error
  }
  throw new Error('no ConfigError')
}

describe('fixedRates', () => {
  it('gives a rate as written, as of now', async () => {
    expect(
      await fixedRates({ 'EUR/USD': '1.08' }, { now: () => NOW * 1000 }).getRate('EUR', 'USD'),
    ).toEqual({
      rate: { units: 108n, scale: 2 },
      asOf: NOW,
      source: 'fixed',
    })
  })

  it('uses the time of the machine if no clock is given', async () => {
    const before = Math.floor(Date.now() / 1000)
    const found = await fixedRates({ 'EUR/USD': '1.08' }).getRate('EUR', 'USD')
    expect(found?.asOf).toBeGreaterThanOrEqual(before)
    expect(Number.isSafeInteger(found?.asOf)).toBe(true)
  })

  it('keeps every digit of a rate that is written', async () => {
    const long = `0.${'1'.repeat(40)}`
    expect(await rateOf({ 'EUR/USD': long }, 'EUR', 'USD')).toBe(long)
  })

  it('inverts a rate, exactly if possible', async () => {
    expect(await rateOf({ 'EUR/USD': '1.25' }, 'USD', 'EUR')).toBe('0.8')
    expect(await rateOf({ 'USD/VND': '25000' }, 'VND', 'USD')).toBe('0.00004')
  })

  it('rounds an inverse up, after 36 significant digits at least', async () => {
    expect(await rateOf({ 'EUR/USD': '3' }, 'USD', 'EUR')).toMatch(/^0\.3{36,}4$/)
    expect(await rateOf({ 'USD/VND': '300000000' }, 'VND', 'USD')).toMatch(/^0\.0{8}3{36,}4$/)
  })

  it('prefers a listed rate to the inverse and to a cross', async () => {
    const rates = { 'EUR/USD': '2', 'USD/EUR': '0.6', 'GBP/USD': '4', 'EUR/GBP': '0.9' }
    expect(await rateOf(rates, 'USD', 'EUR')).toBe('0.6')
    expect(await rateOf(rates, 'EUR', 'GBP')).toBe('0.9')
    expect(await rateOf({ 'EUR/USD': '2', 'GBP/USD': '4', 'GBP/EUR': '8' }, 'EUR', 'GBP')).toBe(
      '0.125',
    )
  })

  it.each([
    [{ 'EUR/USD': '2', 'USD/JPY': '150' }, '300'],
    [{ 'EUR/USD': '2', 'JPY/USD': '0.01' }, '200'],
    [{ 'USD/EUR': '0.5', 'USD/JPY': '150' }, '300'],
    [{ 'USD/EUR': '0.5', 'JPY/USD': '0.01' }, '200'],
  ])('crosses through the dollar, whichever way the rates are written: %j', async (rates, rate) => {
    expect(await rateOf(rates, 'EUR', 'JPY')).toBe(rate)
  })

  it('does not cross through another currency', async () => {
    expect(await rateOf({ 'EUR/GBP': '0.9', 'GBP/JPY': '190' }, 'EUR', 'JPY')).toBeUndefined()
  })

  it('gives 1 for a currency in itself', async () => {
    expect(await rateOf({}, 'EUR', 'EUR')).toBe('1')
  })

  it('does not know a pair that was not listed', async () => {
    expect(await rateOf({ 'EUR/USD': '1.08' }, 'JPY', 'USD')).toBeUndefined()
    expect(await rateOf({ 'EUR/USD': '1.08' }, 'EUR', 'JPY')).toBeUndefined()
  })

  it('never gives an inverse below the exact one, nor noticeably above it', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.bigInt({ min: 1n, max: 10n ** 20n }),
        fc.integer({ min: 0, max: 15 }),
        async (units, scale) => {
          const rate = { units, scale }
          const text = await rateOf({ 'EUR/USD': formatDecimal(rate) }, 'USD', 'EUR')
          const inverse = parseDecimal(text ?? '')
          const product = inverse && multiply(inverse, rate)
          expect(product && compare(product, { units: 1n, scale: 0 })).toBeGreaterThanOrEqual(0)
          expect(product && compare(product, { units: 10n ** 17n + 1n, scale: 17 })).toBe(-1)
        },
      ),
    )
  })

  it.each([
    ['EUR/USD', ''],
    ['EUR/USD', '0'],
    ['EUR/USD', '0.00'],
    ['EUR/USD', '-1'],
    ['EUR/USD', '1,08'],
    ['EUR/USD', '1e2'],
    ['eur/USD', '1.08'],
    ['EUR/XXX', '1.08'],
    ['EUR/EUR', '1'],
    ['EURUSD', '1.08'],
    ['EUR/USD/JPY', '1.08'],
    ['', '1.08'],
  ])('refuses the rate %j: %j by name', (pair, rate) => {
    expect(errorOf({ [pair]: rate }).option).toBe(`rates["${pair}"]`)
  })

  it('refuses a rate that is a float', () => {
    expect(errorOf(JSON.parse('{"EUR/USD":1.08}')).option).toBe('rates["EUR/USD"]')
  })
})
