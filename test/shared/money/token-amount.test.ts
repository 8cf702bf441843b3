import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { compare, multiply, parseDecimal, type Decimal } from '../../../src/shared/money/decimal.js'
import { isBelowOneUnit, tokenAmount } from '../../../src/shared/money/token-amount.js'

function decimal(text: string): Decimal {
  const value = parseDecimal(text)
  if (value === undefined) throw new Error(`${text} is no decimal`)
  return value
}

const prices = fc.record({
  units: fc.bigInt({ min: 0n, max: 10n ** 30n }),
  scale: fc.integer({ min: 0, max: 24 }),
})
const tokenDecimals = fc.integer({ min: 0, max: 24 })

describe('tokenAmount', () => {
  it.each([
    ['0.01', 6, 10_000n],
    ['0.0000001', 6, 1n],
    ['1.0000001', 6, 1_000_001n],
    ['15', 18, 15n * 10n ** 18n],
    ['0', 6, 0n],
  ])('gives %s at %d decimals', (price, decimals, units) => {
    expect(tokenAmount(decimal(price), decimals)).toBe(units)
  })

  it('applies the rate and the buffer before it rounds', () => {
    expect(tokenAmount(decimal('10.00'), 6, { rate: decimal('1.08') })).toBe(10_800_000n)
    expect(tokenAmount(decimal('10.00'), 6, { rate: decimal('1.08'), bufferBps: 50 })).toBe(
      10_854_000n,
    )
    expect(tokenAmount(decimal('0.000001'), 6, { rate: decimal('1'), bufferBps: 1 })).toBe(2n)
  })

  it('never asks for less than the price, nor for a whole unit more', () => {
    fc.assert(
      fc.property(
        prices,
        tokenDecimals,
        prices,
        fc.integer({ min: 0, max: 5_000 }),
        (price, decimals, rate, bufferBps) => {
          const units = tokenAmount(price, decimals, { rate, bufferBps })
          const exact = multiply(multiply(price, rate), {
            units: BigInt(10_000 + bufferBps),
            scale: 4,
          })
          expect(compare({ units, scale: decimals }, exact)).toBeGreaterThanOrEqual(0)
          if (units > 0n) expect(compare({ units: units - 1n, scale: decimals }, exact)).toBe(-1)
        },
      ),
    )
  })

  it('never falls when the price, the rate or the buffer rises', () => {
    fc.assert(
      fc.property(
        prices,
        tokenDecimals,
        fc.bigInt({ min: 0n, max: 10n ** 20n }),
        (price, d, more) => {
          const higher = { ...price, units: price.units + more }
          expect(tokenAmount(higher, d)).toBeGreaterThanOrEqual(tokenAmount(price, d))
          expect(tokenAmount(price, d, { rate: higher })).toBeGreaterThanOrEqual(
            tokenAmount(price, d, { rate: price }),
          )
          expect(tokenAmount(price, d, { rate: price, bufferBps: 1 })).toBeGreaterThanOrEqual(
            tokenAmount(price, d, { rate: price }),
          )
        },
      ),
    )
  })
})

describe('isBelowOneUnit', () => {
  it('recognises a price that the token cannot represent', () => {
    expect(isBelowOneUnit(decimal('0.0000001'), 6)).toBe(true)
    expect(isBelowOneUnit(decimal('0.0000019'), 6, decimal('0.5'))).toBe(true)
  })

  it('accepts one unit, more than one, and zero', () => {
    expect(isBelowOneUnit(decimal('0.000001'), 6)).toBe(false)
    expect(isBelowOneUnit(decimal('0.0000015'), 6)).toBe(false)
    expect(isBelowOneUnit(decimal('0.000002'), 6, decimal('0.5'))).toBe(false)
    expect(isBelowOneUnit(decimal('0'), 6)).toBe(false)
  })
})
