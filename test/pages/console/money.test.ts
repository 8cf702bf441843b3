import { describe, expect, it } from '@jest/globals'
import {
  decimalOf,
  fiatOf,
  formatFiat,
  formatToken,
  unitsOf,
} from '../../../src/pages/console/format/money.js'
import { safeUrl } from '../../../src/pages/console/format/text.js'
import { readSearch } from '../../../src/pages/console/views/search.js'

describe('amounts in the console', () => {
  it.each([
    ['0', 6, '0'],
    ['1', 6, '0.000001'],
    ['250000', 6, '0.25'],
    ['1000000', 6, '1'],
    [
      '115792089237316195423570985008687907853269984665640564039457',
      18,
      '115792089237316195423570985008687907853269.984665640564039457',
    ],
    ['7', 0, '7'],
  ])('write %s units with %i decimals as %s', (units, decimals, decimal) => {
    expect(decimalOf(units, decimals)).toBe(decimal)
    expect(unitsOf(decimal, decimals)).toBe(BigInt(units))
  })

  it.each(['', '-1', '1,5', '1e3', '0x10', '.5', '1.', ' ', '0.0000001', 'NaN'])(
    'refuse the amount %j',
    (text) => {
      expect(unitsOf(text, 6)).toBeUndefined()
    },
  )

  it('lose no digit if no number can hold them', () => {
    const amount = '123456789012345678901234567890'
    expect(formatToken({ amount, decimals: 6, symbol: 'USDC' }, 'en-US')).toBe(
      '123,456,789,012,345,678,901,234.56789 USDC',
    )
  })

  it('follow the locale, with all digits if they are less than a coin', () => {
    expect(formatFiat('1234.5', 'EUR', 'de-DE')).toBe('1.234,50\u00A0€')
    expect(formatFiat('0.001', 'USD', 'en-US')).toBe('$0.001')
    expect(formatFiat('5', 'JPY', 'en-US')).toBe('¥5')
    expect(formatFiat('40.791', 'USD', 'en-US')).toBe('$40.79')
    expect(formatFiat('0.0125', 'USD', 'en-US')).toBe('$0.0125')
  })

  it('show the value of a payment: its quote, or what the token is pegged to', () => {
    const payment = { amount: '1080000', decimals: 6 }
    expect(fiatOf(payment, 'USD')).toEqual({ decimal: '1.08', currency: 'USD' })
    expect(fiatOf({ ...payment, quote: { price: '1.00', currency: 'EUR' } }, 'USD')).toEqual({
      decimal: '1.00',
      currency: 'EUR',
    })
    expect(fiatOf(payment, undefined)).toBeUndefined()
  })
})

describe('links that strangers wrote', () => {
  it.each([
    'javascript:alert(1)',
    'JaVaScRiPt://x',
    'data:text/html,x',
    ' https://x',
    '//x',
    'http://',
    '',
  ])('are shown as text: %j', (url) => {
    expect(safeUrl(url)).toBeUndefined()
  })

  it('are followed if they lead to the web', () => {
    expect(safeUrl('https://shop.example/a?b')).toBe('https://shop.example/a?b')
  })
})

describe('the search for settlements', () => {
  it.each([
    ['', 'nothing'],
    [`0x${'aB'.repeat(20)}`, 'payer'],
    [`0x${'ab'.repeat(32)}`, 'transaction'],
    ['ab'.repeat(16), 'settlement'],
    ['https://shop.example/report', 'resource'],
    ['0x12…ab', 'payer'],
    ['0x12', 'payer'],
    ['…ab', 'reference'],
    ['order-7', 'reference'],
  ])('recognises %j as a %s', (text, kind) => {
    expect(readSearch(text)).toBe(kind)
  })
})
