import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { describe, expect, it } from '@jest/globals'
import {
  currencyDigits,
  currencyOfSign,
  explainCurrency,
  isCurrency,
} from '../../../src/shared/money/currency.js'

const isoList = readFileSync(
  createRequire(`${process.cwd()}/package.json`).resolve('currency-codes/iso-4217-list-one.xml'),
  'utf8',
)
const isoDigits = new Map(
  [...isoList.matchAll(/<Ccy>(\w+)<\/Ccy>[^]*?<CcyMnrUnts>([^<]+)</g)].map(
    ([, code = '', digits = '']) => [code, digits],
  ),
)

describe('currencyDigits', () => {
  it.each([
    ['USD', 2],
    ['EUR', 2],
    ['JPY', 0],
    ['KRW', 0],
    ['ISK', 0],
    ['CLP', 0],
    ['UGX', 0],
    ['XOF', 0],
    ['HUF', 2],
    ['XCD', 2],
    ['XCG', 2],
    ['KWD', 3],
    ['BHD', 3],
    ['CLF', 4],
  ])('gives %s the %d digits of ISO 4217', (code, digits) => {
    expect(currencyDigits(code)).toBe(digits)
  })

  it('agrees with every entry of the list of ISO 4217', () => {
    expect(isoDigits.size).toBeGreaterThan(170)
    for (const [code, digits] of isoDigits)
      expect([code, currencyDigits(code)]).toEqual([
        code,
        digits === 'N.A.' ? undefined : Number(digits),
      ])
  })

  it.each([['XXX'], ['XTS'], ['XAU'], ['XDR'], ['usd'], ['Usd'], ['USDC'], ['840'], ['']])(
    'knows no digits of %j',
    (code) => {
      expect(currencyDigits(code)).toBeUndefined()
      expect(isCurrency(code)).toBe(false)
    },
  )
})

describe('currencyOfSign', () => {
  it('knows the signs that mean one currency', () => {
    expect([currencyOfSign('$'), currencyOfSign('€'), currencyOfSign('£')]).toEqual([
      'USD',
      'EUR',
      'GBP',
    ])
  })

  it('does not decide between yen and yuan', () => {
    expect(currencyOfSign('¥')).toBeUndefined()
  })
})

describe('explainCurrency', () => {
  it('suggests the upper case', () => {
    expect(explainCurrency('usd')).toContain("'USD'")
  })

  it('does not suggest a word that is no currency', () => {
    expect(explainCurrency('xxx')).toContain('for payments')
    expect(explainCurrency('XAU')).toContain('for payments')
    expect(explainCurrency('dollars')).toContain('ISO 4217')
    expect(explainCurrency(840)).toContain('string')
  })
})
