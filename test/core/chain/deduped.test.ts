import { describe, expect, it } from '@jest/globals'
import { deduped } from '../../../src/core/chain/deduped.js'

/** Work whose runs the test ends. */
function openWork() {
  const runs: { end(result: number): void; fail(error: Error): void }[] = []
  const run = deduped(
    () => new Promise<number>((resolve, reject) => runs.push({ end: resolve, fail: reject })),
  )
  return { runs, run }
}

describe('deduped work', () => {
  it('runs once for all callers that ask while it runs', async () => {
    const { runs, run } = openWork()
    const all = Promise.all([run(), run(), run()])
    expect(runs).toHaveLength(1)
    runs[0]!.end(7)
    expect(await all).toEqual([7, 7, 7])
  })

  it('starts a new run once the last one has ended', async () => {
    const { runs, run } = openWork()
    const first = run()
    runs[0]!.end(1)
    expect(await first).toBe(1)
    const second = run()
    runs[1]!.end(2)
    expect(await second).toBe(2)
  })

  it('fails for all callers of a failed run, and not for those after it', async () => {
    const { runs, run } = openWork()
    const failed = Promise.allSettled([run(), run()])
    runs[0]!.fail(new Error('down'))
    expect((await failed).map(({ status }) => status)).toEqual(['rejected', 'rejected'])
    const next = run()
    runs[1]!.end(3)
    expect(await next).toBe(3)
  })
})
