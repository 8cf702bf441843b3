import { expect, it } from '@jest/globals'
import { chargedPrice } from '../../src/ledger/charged-rate.js'
import type { LedgerEntry } from '../../src/ledger/record.js'

it.each([
  ['$0.10', 1000n, '$0.001'],
  ['$0.10', 0n, '$0'],
  ['$0.10', 100_000n, '$0.10'],
  ['$0.10', undefined, '$0.10'],
  ['0.10 EUR', 50_000n, '0.05 EUR'],
  [
    '100000 units of 0x1111111111111111111111111111111111111111',
    7n,
    '7 units of 0x1111111111111111111111111111111111111111',
  ],
  [undefined, 7n, undefined],
])('of a maximum of %s, %s units are the price %s', (askedPrice, charged, price) => {
  const entry = { value: 100_000n, charged, details: { askedPrice } } as LedgerEntry
  expect(chargedPrice(entry)).toBe(price)
})
