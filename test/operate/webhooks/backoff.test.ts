import { describe, expect, it } from '@jest/globals'
import { LIFETIME_MS, nextAttemptInMs } from '../../../src/operate/webhooks/backoff.js'

const HOUR = 3_600_000

/** When attempts are made that all fail at once, in milliseconds from the first. */
function schedule(random: () => number): number[] {
  const times = [0]
  for (;;) {
    const ageMs = times.at(-1) ?? 0
    const delay = nextAttemptInMs({ attempts: times.length, ageMs }, random)
    if (delay === undefined) return times
    times.push(ageMs + delay)
  }
}

describe('the attempts of a delivery', () => {
  it.each([0, 0.5, 0.999])('last for three days, the last at their end (random %d)', (random) => {
    const times = schedule(() => random)
    expect(times.at(-1)).toBe(LIFETIME_MS)
    expect(times.length).toBeGreaterThan(15)
    expect(times.length).toBeLessThan(30)
    expect(times[1]).toBeLessThanOrEqual(6000)
  })

  it('are increasingly far apart, up to about eight hours', () => {
    const times = schedule(() => 0.5)
    const delays = times.slice(1).map((time, index) => time - (times[index] ?? 0))
    expect(delays.slice(0, 4)).toEqual([5000, 10_000, 20_000, 40_000])
    expect(Math.max(...delays)).toBe(8 * HOUR)
  })

  it('are spread in time', () => {
    const delays = [0, 0.25, 0.75].map((random) =>
      nextAttemptInMs({ attempts: 3, ageMs: 0 }, () => random),
    )
    expect(delays).toEqual([16_000, 18_000, 22_000])
  })
})
