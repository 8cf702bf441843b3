import { describe, expect, it } from '@jest/globals'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { page, ROOT } from './documents.js'

const NUMBER = /\d+(?:,\d{3})*(?:\.\d+)?/g

const numbersIn = (text: string): readonly string[] =>
  [...text.matchAll(NUMBER)].map(([number]) => number.replaceAll(',', ''))

const results = readFileSync(join(ROOT, 'test/bench/RESULTS.md'), 'utf8')
const measured = numbersIn(results).map(Number)

/** Tells whether a figure is a measured one, rounded to its own digits. */
function isMeasured(figure: string): boolean {
  const digits = figure.split('.')[1]?.length ?? 0
  return measured.some((number) => number.toFixed(digits) === figure)
}

/** The cells with figures of the rows that compare this package with the official one. */
function cellsOf(name: string, first: RegExp): readonly string[] {
  const rows = page(name)
    .prose.split('\n')
    .filter((line) => line.startsWith('|') && first.test(line))
  return rows.flatMap((row) => row.split('|').slice(2))
}

describe('the figures of the documentation', () => {
  it.each([
    ['README.md', /^\| (?:paid requests|CPU|statements|RPC calls|verified|unpaid|gas per payment)/],
    ['comparison.md', /^\| (?:paid requests per second|requests to the node)/],
  ])('equal the benchmark’s: %s', (name, first) => {
    const figures = cellsOf(name, first).flatMap(numbersIn)
    expect(figures.length).toBeGreaterThan(5)
    expect(figures.filter((figure) => !isMeasured(figure))).toEqual([])
  })

  it('would be refused if nobody had measured them', () => {
    expect(isMeasured('123456789')).toBe(false)
  })
})
