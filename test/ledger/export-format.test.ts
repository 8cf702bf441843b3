import { describe, expect, it } from '@jest/globals'
import { exportWriter } from '../../src/ledger/export-format.js'
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

  it('keeps other text as it is', () => {
    expect(cells('https://shop.example/a-b?c=1', ',')).toContain('https://shop.example/a-b?c=1')
  })
})
