import { randomBytes, randomUUID } from 'node:crypto'
import * as timers from 'node:timers/promises'

/**
 * Time and chance. Apart from pages and tools, nothing else in `src` asks the process for either, so that a simulation
 * can decide both: it replaces these functions before it creates a gateway.
 */
export const world = {
  /** Milliseconds since the epoch. */
  now: (): number => Date.now(),
  /** Milliseconds since some moment, by a clock that nobody sets. */
  elapsed: (): number => performance.now(),
  setTimeout: (work: () => void, ms: number): NodeJS.Timeout => setTimeout(work, ms),
  clearTimeout: (timer: NodeJS.Timeout | undefined): void => clearTimeout(timer),
  setInterval: (work: () => void, ms: number): NodeJS.Timeout => setInterval(work, ms),
  clearInterval: (timer: NodeJS.Timeout | undefined): void => clearInterval(timer),
  setImmediate: (work: () => void): NodeJS.Immediate => setImmediate(work),
  sleep: timers.setTimeout,
  /** Resolves in the next turn of the event loop. */
  nextTurn: (): Promise<void> => timers.setImmediate(),
  timeoutSignal: (ms: number): AbortSignal => AbortSignal.timeout(ms),
  /** At least 0 and less than 1. */
  random: (): number => Math.random(),
  randomBytes: (count: number): Buffer => randomBytes(count),
  randomUUID: (): string => randomUUID(),
}
