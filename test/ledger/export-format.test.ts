import { describe, expect, it } from '@jest/globals'
import { exportWriter, type ExportedPayment } from '../../src/ledger/export-format.js'
import { findTimeZone } from '../../src/ledger/time-zone.js'
import { newEntry } from '../support/ledger-entries.js'

/** The field `resource` of a line, as a spreadsheet finds it that splits at `separator`. */
function cells(resource: string, separator: string): readonly string[] {
  const payment = {
    ...newEntry({ details: { resource } }),
    id: 'f00d',
    state: 'settled' as const,
    transaction: undefined,
    reason: undefined,
    delivered: true,
    createdAt: 0,
    updatedAt: 0,
  }
  return exportWriter('csv', []).line(payment).split(separator)
}

describe('a CSV of payments', () => {
  it.each([
    [',', '=1+1'],
    [';', "https://shop.example/x;=cmd|' /c calc'!A0;"],
    [';', 'https://shop.example/x; =1+1'],
    [';', 'https://shop.example/x;;@SUM(1)'],
    ['\t', 'https://shop.example/x\t-2+3'],
  ])('escapes fields that a spreadsheet would compute, split at %j: %s', (separator, resource) => {
    const formulas = cells(resource, separator).filter((cell) => /^["\s]*[=+\-@]/.test(cell))
    expect(formulas).toEqual([])
  })

  it('has what a payment and a refund moved as numbers', () => {
    const entry = newEntry({
      chainId: 84532,
      asset: '0x036cbd53842c5426634e7929541ec2318f3dcf7e',
      value: 250_000n,
    })
    const row = (payment: Partial<ExportedPayment>): string =>
      exportWriter('csv', []).line({
        ...{ ...entry, id: 'f00d', state: 'settled', transaction: undefined, reason: undefined },
        ...{ delivered: true, createdAt: 0, updatedAt: 0, ...payment },
      })
    expect(row({ refunded: 100_000n })).toContain(',250000,0.250000,0.100000,0.250000,')
    expect(row({ refundOf: 'beef' })).toContain(',250000,0.250000,,-0.250000,')
    expect(row({ state: 'failed' })).toContain(',250000,0.250000,,0.000000,')
    // The price of a pegged token, which a refund has not.
    expect(row({})).toContain(',0.25,USD,')
    expect(row({ refundOf: 'beef' })).not.toContain('USD,')
    const times = exportWriter('csv', [], findTimeZone('Asia/Kolkata')).line({
      ...{ ...entry, id: 'f00d', state: 'settled', transaction: undefined, reason: undefined },
      ...{ delivered: true, createdAt: 0, updatedAt: 0 },
    })
    expect(times).toContain(',1970-01-01T05:30:00.000+05:30,')
  })

  it('has what was charged of a payment, and that part of its price', () => {
    const asset = '0x036cbd53842c5426634e7929541ec2318f3dcf7e'
    const rate = { rate: '1.0837', asOf: 0, source: 'fixed', currency: 'EUR', price: '0.10' }
    const row = (payment: Partial<ExportedPayment>): string =>
      exportWriter('csv', []).line({
        ...newEntry({ chainId: 84532, asset, value: 108_370n }),
        ...{ id: 'f00d', state: 'settled', transaction: undefined, reason: undefined },
        ...{ delivered: true, createdAt: 0, updatedAt: 0, ...payment },
      })
    expect(row({ charged: 25_359n })).toContain(',25359,0.025359,,0.025359,')
    expect(row({ charged: 25_359n })).toContain(',0.025359,USD,')
    expect(row({ charged: 25_359n, appliedRate: rate })).toContain(',0.0234,EUR,1.0837,')
    expect(row({ charged: 54_185n, appliedRate: rate })).toContain(',0.05,EUR,')
    expect(row({ charged: 0n, appliedRate: rate })).toContain(',0.00,EUR,')
    const tiny = { ...rate, price: '0.0000001' }
    expect(row({ charged: 108_370n, appliedRate: tiny })).toContain(',0.0000001,EUR,')
    expect(row({ charged: 0n })).toContain(',0,0.000000,,0.000000,')
    expect(row({ appliedRate: rate })).toContain(',0.10,EUR,')
  })

  it('keeps other text as it is', () => {
    expect(cells('https://shop.example/a-b?c=1', ',')).toContain('https://shop.example/a-b?c=1')
  })
})
