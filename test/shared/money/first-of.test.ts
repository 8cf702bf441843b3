import { describe, expect, it } from '@jest/globals'
import { RateError } from '../../../src/shared/errors.js'
import { formatDecimal } from '../../../src/shared/money/decimal.js'
import { firstOf } from '../../../src/shared/money/first-of.js'
import { fixedRates } from '../../../src/shared/money/fixed-rates.js'
import type { RateSource } from '../../../src/shared/money/rates.js'

const away: RateSource = {
  getRate: () => Promise.reject(new RateError('rate_unavailable', 'The source is away.')),
}
const unknowing: RateSource = { getRate: async () => undefined }
const saying = (rate: string, source: string, asOf: number): RateSource => ({
  getRate: async (base, quote) => {
    const found = await fixedRates({ 'EUR/USD': rate }).getRate(base, quote)
    return found && { ...found, source, asOf }
  },
})

async function rateOf(sources: readonly RateSource[], base = 'EUR', quote = 'USD') {
  const found = await firstOf(...sources).getRate(base, quote)
  return found && formatDecimal(found.rate)
}

describe('firstOf', () => {
  it('asks in order, and takes the first answer', async () => {
    const sources = [saying('1.08', 'one', 1), saying('1.09', 'two', 2)]
    expect(await rateOf(sources)).toBe('1.08')
    expect(await firstOf(...sources).getRate('EUR', 'USD')).toMatchObject({ source: 'one' })
  })

  it('skips sources that do not know or are away', async () => {
    expect(await rateOf([unknowing, away, saying('1.08', 'one', 1)])).toBe('1.08')
  })

  it('crosses rates of different sources, and names both', async () => {
    const sources = [saying('1.25', 'one', 7), fixedRates({ 'USD/HKD': '7.8' })]
    expect(await rateOf(sources, 'EUR', 'HKD')).toBe('9.75')
    expect(await firstOf(...sources).getRate('EUR', 'HKD')).toMatchObject({
      source: 'one, fixed',
      asOf: 7,
    })
  })

  it('knows no rate if none of them does', async () => {
    expect(await rateOf([unknowing, fixedRates({})])).toBeUndefined()
    expect(await rateOf([])).toBeUndefined()
  })

  it('fails if a source was away that may have known', async () => {
    const failure = { code: 'rate_unavailable' }
    await expect(rateOf([away, unknowing])).rejects.toMatchObject(failure)
    await expect(rateOf([unknowing, away])).rejects.toMatchObject(failure)
  })

  it('does not treat a bug as a source that is away', async () => {
    const broken: RateSource = { getRate: () => Promise.reject(new TypeError('a bug')) }
    await expect(rateOf([broken, saying('1.08', 'one', 1)])).rejects.toThrow(TypeError)
  })

  it('ignores a rate that would give goods away', async () => {
    const zero: RateSource = {
      getRate: async (base) =>
        base === 'USD' ? { rate: { units: 0n, scale: 0 }, asOf: 0, source: 'zero' } : undefined,
    }
    expect(await rateOf([zero])).toBeUndefined()
    expect(await rateOf([zero], 'EUR', 'HKD')).toBeUndefined()
  })
})
