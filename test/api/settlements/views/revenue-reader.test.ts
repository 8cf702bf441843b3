import { describe, expect, it } from '@jest/globals'
import { EVERY_PROJECT } from '../../../../src/ledger/index.js'
import type { RevenueGroup, RevenueQuery } from '../../../../src/ledger/revenue.js'
import { RevenueReader } from '../../../../src/api/settlements/views/revenue-reader.js'

const QUERY = { project: 'shop', from: 0, until: 1, by: 'day' } as const

/** A ledger whose sums are made when the test says so. */
function slowLedger() {
  const asked: RevenueQuery[] = []
  const ends: ((groups: readonly RevenueGroup[] | Error) => void)[] = []
  return {
    asked,
    end: async (result: readonly RevenueGroup[] | Error = []) => {
      await new Promise(setImmediate)
      ends.shift()?.(result)
    },
    sumRevenue: (query: RevenueQuery) => {
      asked.push(query)
      return new Promise<readonly RevenueGroup[]>((resolve, reject) => {
        ends.push((result) => (result instanceof Error ? reject(result) : resolve(result)))
      })
    },
  }
}

describe('revenue', () => {
  it('is summed once for all callers with the same question', async () => {
    const ledger = slowLedger()
    const reader = new RevenueReader(ledger)
    const answers = Array.from({ length: 1000 }, () => reader.read(QUERY))
    await ledger.end()
    await Promise.all(answers)
    await reader.read(QUERY)
    expect(ledger.asked).toHaveLength(1)
  })

  it('is summed one question after another for a project, and refused for too many at once', async () => {
    const ledger = slowLedger()
    const reader = new RevenueReader(ledger)
    const ask = (until: number) => reader.read({ ...QUERY, until })
    const answers = [1, 2, 3, 4].map(ask)
    expect(() => ask(5)).toThrow(expect.objectContaining({ code: 'rate_limited' }))
    // Nobody else waits for that.
    const others = [reader.read({ ...QUERY, project: 'other' })]
    others.push(reader.read({ ...QUERY, project: EVERY_PROJECT }))
    await new Promise(setImmediate)
    expect(ledger.asked.map(({ project, until }) => [project, until])).toEqual([
      ['shop', 1],
      ['other', 1],
      [EVERY_PROJECT, 1],
    ])
    for (let ended = 0; ended < 6; ended++) await ledger.end()
    await Promise.all([...answers, ...others])
    expect(ledger.asked).toHaveLength(6)
  })

  it('is summed again after a failure', async () => {
    const ledger = slowLedger()
    const reader = new RevenueReader(ledger)
    const failing = reader.read(QUERY)
    void ledger.end(new Error('It is away.'))
    await expect(failing).rejects.toThrow('It is away.')
    const next = reader.read(QUERY)
    await ledger.end([])
    expect(await next).toEqual([])
  })
})
