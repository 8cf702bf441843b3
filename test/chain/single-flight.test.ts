import { describe, expect, it } from '@jest/globals'
import { SingleFlight } from '../../src/chain/single-flight.js'

/** Work whose runs the test ends. */
function openWork() {
  const runs: { end(result: number): void; fail(error: Error): void }[] = []
  const flight = new SingleFlight(
    () => new Promise<number>((resolve, reject) => runs.push({ end: resolve, fail: reject })),
  )
  return { runs, flight }
}

describe('SingleFlight', () => {
  it('runs once for all callers that ask while it runs', async () => {
    const { runs, flight } = openWork()
    const all = Promise.all([flight.run(), flight.run(), flight.run()])
    expect(runs).toHaveLength(1)
    expect(flight.isRunning).toBe(true)
    runs[0]!.end(7)
    expect(await all).toEqual([7, 7, 7])
  })

  it('starts a new run once the last one has ended', async () => {
    const { runs, flight } = openWork()
    const first = flight.run()
    runs[0]!.end(1)
    expect(await first).toBe(1)
    expect(flight.isRunning).toBe(false)
    const second = flight.run()
    runs[1]!.end(2)
    expect(await second).toBe(2)
  })

  it('fails for all callers of a failed run, and not for those after it', async () => {
    const { runs, flight } = openWork()
    const failed = Promise.allSettled([flight.run(), flight.run()])
    runs[0]!.fail(new Error('down'))
    expect((await failed).map(({ status }) => status)).toEqual(['rejected', 'rejected'])
    const next = flight.run()
    runs[1]!.end(3)
    expect(await next).toBe(3)
  })
})
