import { afterEach } from '@jest/globals'
import { performance } from 'node:perf_hooks'

/**
 * Stops the clock by which the gateway knows how old a thing is, until the end of the test: what it
 * has read stays as good as it was, however long that takes.
 */
export function useStoppableClock(): { stop(): void } {
  const { now } = performance
  afterEach(() => {
    performance.now = now
  })
  return {
    stop() {
      const then = now.call(performance)
      performance.now = () => then
    },
  }
}
