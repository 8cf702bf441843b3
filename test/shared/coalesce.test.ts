import { describe, expect, it } from '@jest/globals'
import { coalesce, FailedByItem } from '../../src/shared/coalesce.js'
import { until } from '../support/until.js'

/** Work that ends when it is told to. */
function openWork() {
  const runs: { readonly items: readonly number[]; end(): void; fail(error: Error): void }[] = []
  const run = (items: readonly number[]): Promise<readonly string[]> =>
    new Promise((resolve, reject) =>
      runs.push({ items, end: () => resolve(items.map(String)), fail: reject }),
    )
  return { runs, run }
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

describe('coalesce', () => {
  it('runs an item that comes alone, at once', async () => {
    const { runs, run } = openWork()
    const ask = coalesce({ run, most: 10 })
    const first = ask(1)
    await turn()
    expect(runs.map(({ items }) => items)).toEqual([[1]])
    runs[0]!.end()
    expect(await first).toBe('1')
  })

  it('runs items together that come together', async () => {
    const { runs, run } = openWork()
    const ask = coalesce({ run, most: 10 })
    const all = Promise.all([ask(1), ask(2), ask(3)])
    await turn()
    expect(runs.map(({ items }) => items)).toEqual([[1, 2, 3]])
    runs[0]!.end()
    expect(await all).toEqual(['1', '2', '3'])
  })

  it('runs items that come during a run right after it', async () => {
    const { runs, run } = openWork()
    const ask = coalesce({ run, most: 10 })
    const first = ask(1)
    await turn()
    const others = Promise.all([ask(2), ask(3)])
    await turn()
    expect(runs).toHaveLength(1)
    runs[0]!.end()
    await first
    await until(() => runs.length >= 2)
    expect(runs[1]!.items).toEqual([2, 3])
    runs[1]!.end()
    expect(await others).toEqual(['2', '3'])
  })

  it('never runs more items at once than allowed', async () => {
    const { runs, run } = openWork()
    const ask = coalesce({ run, most: 2 })
    const all = Promise.all([1, 2, 3].map(ask))
    await turn()
    runs[0]!.end()
    await until(() => runs.length >= 2)
    runs[1]!.end()
    expect(await all).toEqual(['1', '2', '3'])
    expect(runs.map(({ items }) => items)).toEqual([[1, 2], [3]])
  })

  it('rejects all items of a failed run, and none that come later', async () => {
    const { runs, run } = openWork()
    const ask = coalesce({ run, most: 10 })
    const failing = Promise.allSettled([ask(1), ask(2)])
    await turn()
    runs[0]!.fail(new Error('away'))
    expect((await failing).map(({ status }) => status)).toEqual(['rejected', 'rejected'])
    const next = ask(3)
    await until(() => runs.length >= 2)
    runs[1]!.end()
    expect(await next).toBe('3')
  })

  it('runs each item alone where one of them has failed a run', async () => {
    const reason = new Error('odd')
    const run = async (items: readonly number[]): Promise<readonly string[]> => {
      if (items.includes(3)) throw new FailedByItem(reason)
      return items.map(String)
    }
    const ask = coalesce({ run, most: 10 })
    const [one, three] = await Promise.allSettled([ask(1), ask(3)])
    expect(one).toEqual({ status: 'fulfilled', value: '1' })
    expect(three).toEqual({ status: 'rejected', reason })
  })

  it('does not let a run that hangs hold up the next one for longer than allowed', async () => {
    const { runs, run } = openWork()
    const ask = coalesce({ run, most: 1, mostWaitedMs: 5 })
    void ask(1)
    const second = ask(2)
    await until(() => runs.length >= 2)
    runs[1]!.end()
    expect(await second).toBe('2')
  })
})
