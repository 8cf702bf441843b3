import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { currencyDigits } from '../../../src/shared/money/currency.js'
import { compare, formatDecimal, parseDecimal } from '../../../src/shared/money/decimal.js'
import {
  parseFiatAmount,
  requestedAmountToDecimal,
} from '../../../src/shared/money/requested-amount.js'

describe('parseFiatAmount', () => {
  it.each([
    ['15.00', 'USD', '15.00'],
    ['15', 'USD', '15.00'],
    ['15.0', 'USD', '15.00'],
    ['0.01', 'USD', '0.01'],
    ['15.000000000000000000', 'USD', '15.00'],
    ['34.000000000000000000', 'JPY', '34'],
    ['1500', 'JPY', '1500'],
    ['0.125', 'KWD', '0.125'],
    ['99.50', 'HUF', '99.50'],
    ['1.2345', 'CLF', '1.2345'],
  ])('reads %s %s', (amount, currency, expected) => {
    const parsed = parseFiatAmount(amount, currency)
    expect(parsed.ok && `${formatDecimal(parsed.amount)} ${parsed.currency}`).toBe(
      `${expected} ${currency}`,
    )
  })

  it.each([
    ['15,00', 'USD', 'comma'],
    ['1,500.00', 'USD', 'comma'],
    ['1e3', 'USD', 'exponent'],
    ['-1', 'USD', 'negative'],
    ['0', 'USD', 'greater than zero'],
    ['0.00', 'USD', 'greater than zero'],
    ['15.001', 'USD', 'more than the 2 decimals of USD'],
    ['15.5', 'JPY', "major units, not in cents, e.g. '15'"],
    ['0.1255', 'KWD', "e.g. '15.000'"],
    ['.5', 'USD', 'zero before the point'],
    ['15 USD', 'USD', 'digits and at most one point'],
    ['$15', 'USD', 'digits and at most one point'],
    ['', 'USD', 'no amount'],
    [
      15,
      'USD',
      "15 is not a string; amounts are strings in major units, not in cents, e.g. '15.00'",
    ],
    [undefined, 'USD', 'is missing; amounts are strings in major units'],
    [null, 'USD', 'null is not a string'],
  ])('refuses the amount %j %s', (amount, currency, hint) => {
    expect(parseFiatAmount(amount, currency)).toMatchObject({
      ok: false,
      path: 'amount',
      message: expect.stringContaining(hint),
    })
  })

  it.each([
    ['usd', "'USD'"],
    ['XXX', 'for payments'],
    ['XTS', 'for payments'],
    ['XAU', 'for payments'],
    ['USDC', 'ISO 4217'],
    ['', 'ISO 4217'],
    [840, 'string'],
    [undefined, 'string'],
  ])('refuses the currency %j', (currency, hint) => {
    expect(parseFiatAmount('15.00', currency)).toMatchObject({
      ok: false,
      path: 'currency',
      message: expect.stringContaining(hint),
    })
  })

  it('keeps the exact amount, with the digits of its currency', () => {
    fc.assert(
      fc.property(
        fc.bigInt({ min: 1n, max: 10n ** 20n }),
        fc.constantFrom('USD', 'JPY', 'KWD', 'CLF'),
        fc.integer({ min: 0, max: 18 }),
        (units, currency, zeros) => {
          const scale = currencyDigits(currency) ?? NaN
          const text = formatDecimal({
            units: units * 10n ** BigInt(zeros),
            scale: scale + zeros,
          })
          expect(parseFiatAmount(text, currency)).toEqual({
            ok: true,
            amount: { units, scale },
            currency,
          })
        },
      ),
    )
  })
})

describe('requestedAmountToDecimal', () => {
  it.each([
    [0.25, '0.25'],
    [1e-7, '0.0000001'],
    [12, '12'],
  ])('reads %d', (amount, text) => {
    const parsed = requestedAmountToDecimal(amount)
    expect(parsed.ok && formatDecimal(parsed.amount)).toBe(text)
  })

  it.each([[0], [-0], [-1], [NaN], [Infinity], ['0.25'], [null], [undefined], [{}], [1n]])(
    'refuses %p and says why',
    (amount) => {
      expect(requestedAmountToDecimal(amount)).toMatchObject({
        ok: false,
        message: expect.stringMatching(/greater than zero|not a number|is missing/),
      })
    },
  )

  it('reads a number as its shortest decimal form', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 10 ** 9 }), (cents) => {
        const parsed = requestedAmountToDecimal(cents / 100)
        const exact = parseDecimal(formatDecimal({ units: BigInt(cents), scale: 2 }))
        expect(parsed.ok && exact && compare(parsed.amount, exact)).toBe(0)
      }),
    )
  })
})
