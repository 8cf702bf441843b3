import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import {
  ceilToUnits,
  compare,
  decimalFromNumber,
  formatDecimal,
  multiply,
  parseDecimal,
  trimDecimal,
  type Decimal,
} from '../../../src/shared/money/decimal.js'

const decimals = fc.record({
  units: fc.bigInt({ min: 0n, max: 10n ** 40n }),
  scale: fc.integer({ min: 0, max: 30 }),
})

function parse(text: string): Decimal {
  const value = parseDecimal(text)
  if (value === undefined) throw new Error(`${text} is no decimal`)
  return value
}

describe('parseDecimal', () => {
  it.each([
    ['0', 0n, 0],
    ['0.0', 0n, 1],
    ['0.01', 1n, 2],
    ['1', 1n, 0],
    ['1.50', 150n, 2],
    ['1000000.000001', 1000000000001n, 6],
  ])('reads %s', (text, units, scale) => {
    expect(parseDecimal(text)).toEqual({ units, scale })
  })

  it.each([
    [''],
    [' 1'],
    ['1 '],
    ['1\n'],
    ['+1'],
    ['-1'],
    ['.5'],
    ['5.'],
    ['.'],
    ['1,5'],
    ['1,000'],
    ['1.000.000'],
    ['1e3'],
    ['0x10'],
    ['01'],
    ['00.1'],
    ['1_000'],
    ['١'],
    ['NaN'],
    ['Infinity'],
  ])('refuses the text %j', (text) => {
    expect(parseDecimal(text)).toBeUndefined()
  })

  it('reads a hundred characters and refuses one more', () => {
    expect(parseDecimal('9'.repeat(100))).toBeDefined()
    expect(parseDecimal('9'.repeat(101))).toBeUndefined()
  })

  it('reads back what formatDecimal writes', () => {
    fc.assert(
      fc.property(decimals, (value) => {
        expect(parseDecimal(formatDecimal(value))).toEqual(value)
      }),
    )
  })
})

describe('decimalFromNumber', () => {
  it.each([
    [0.01, '0.01'],
    [0.1, '0.1'],
    [1e-7, '0.0000001'],
    [1.5e-10, '0.00000000015'],
    [25, '25'],
    [1e21, '1000000000000000000000'],
    [1.25e22, '12500000000000000000000'],
    [0, '0'],
    [-0, '0'],
  ])('reads %d as it was typed', (number, text) => {
    const value = decimalFromNumber(number)
    expect(value && formatDecimal(value)).toBe(text)
  })

  it.each([[NaN], [Infinity], [-Infinity], [-1], [-1e-7]])('refuses the number %d', (number) => {
    expect(decimalFromNumber(number)).toBeUndefined()
  })

  it.each([
    [0.1 + 0.2, '0.3'],
    [0.001 * 1005, '1.005'],
    [1.1 * 3, '3.3'],
  ])('drops the noise of arithmetic: %d', (number, text) => {
    expect(formatDecimal(decimalFromNumber(number)!)).toBe(text)
  })

  it('reads every text of fifteen digits as it was typed', () => {
    const units = fc.bigInt({ min: 0n, max: 10n ** 15n - 1n })
    fc.assert(
      fc.property(units, fc.integer({ min: 0, max: 30 }), (digits, scale) => {
        const typed = trimDecimal({ units: digits, scale })
        expect(decimalFromNumber(Number(formatDecimal(typed)))).toEqual(typed)
      }),
    )
  })

  it('differs at most in the sixteenth digit', () => {
    fc.assert(
      fc.property(
        fc.double({ min: 1e-300, max: 1e300, noNaN: true, noDefaultInfinity: true }),
        (number) => {
          const value = decimalFromNumber(number)
          const read = Number(value && formatDecimal(value))
          expect(Math.abs(read / number - 1)).toBeLessThan(1e-14)
        },
      ),
    )
  })
})

describe('multiply and compare', () => {
  it('are exact', () => {
    expect(formatDecimal(multiply(parse('0.1'), parse('0.2')))).toBe('0.02')
    expect(compare(parse('1.5'), parse('1.50'))).toBe(0)
    expect(compare(parse('1.5'), parse('1.51'))).toBe(-1)
    expect(compare(parse('2'), parse('1.99'))).toBe(1)
  })

  it('order two products as they order their factors', () => {
    fc.assert(
      fc.property(decimals, decimals, decimals, (a, b, factor) => {
        fc.pre(factor.units > 0n)
        expect(compare(multiply(a, factor), multiply(b, factor))).toBe(compare(a, b))
      }),
    )
  })
})

describe('ceilToUnits', () => {
  it.each([
    ['0.01', 6, 10_000n],
    ['0.000001', 6, 1n],
    ['0.0000001', 6, 1n],
    ['0.0000010', 6, 1n],
    ['0.0000011', 6, 2n],
    ['0', 6, 0n],
    ['1.5', 0, 2n],
    ['15', 18, 15n * 10n ** 18n],
  ])('counts %s at %d decimals', (text, digits, units) => {
    expect(ceilToUnits(parse(text), digits)).toBe(units)
  })

  it('never gives less than the value, nor a whole unit more', () => {
    fc.assert(
      fc.property(decimals, fc.integer({ min: 0, max: 20 }), (value, digits) => {
        const units = ceilToUnits(value, digits)
        expect(compare({ units, scale: digits }, value)).toBeGreaterThanOrEqual(0)
        if (units > 0n) expect(compare({ units: units - 1n, scale: digits }, value)).toBe(-1)
      }),
    )
  })
})

describe('trimDecimal', () => {
  it('drops the zeros of the fraction and no others', () => {
    expect(formatDecimal(trimDecimal(parse('150.500')))).toBe('150.5')
    expect(formatDecimal(trimDecimal(parse('150.000')))).toBe('150')
    expect(formatDecimal(trimDecimal(parse('0.000')))).toBe('0')
    expect(formatDecimal(trimDecimal(parse('150')))).toBe('150')
  })
})
