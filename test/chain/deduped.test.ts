import { describe, expect, it } from '@jest/globals'
import { Deduped } from '../../src/chain/deduped.js'

/** Work whose runs the test ends. */
function openWork() {
  const runs: { end(result: number): void; fail(error: Error): void }[] = []
  const deduped = new Deduped(
    () => new Promise<number>((resolve, reject) => runs.push({ end: resolve, fail: reject })),
  )
  return { runs, deduped }
}

describe('Deduped', () => {
  it('runs once for all callers that ask while it runs', async () => {
    const { runs, deduped } = openWork()
    const all = Promise.all([deduped.run(), deduped.run(), deduped.run()])
    expect(runs).toHaveLength(1)
    expect(deduped.isRunning).toBe(true)
    runs[0]!.end(7)
    expect(await all).toEqual([7, 7, 7])
  })

  it('starts a new run once the last one has ended', async () => {
    const { runs, deduped } = openWork()
    const first = deduped.run()
    runs[0]!.end(1)
    expect(await first).toBe(1)
    expect(deduped.isRunning).toBe(false)
    const second = deduped.run()
    runs[1]!.end(2)
    expect(await second).toBe(2)
  })

  it('fails for all callers of a failed run, and not for those after it', async () => {
    const { runs, deduped } = openWork()
    const failed = Promise.allSettled([deduped.run(), deduped.run()])
    runs[0]!.fail(new Error('down'))
    expect((await failed).map(({ status }) => status)).toEqual(['rejected', 'rejected'])
    const next = deduped.run()
    runs[1]!.end(3)
    expect(await next).toBe(3)
  })
})
