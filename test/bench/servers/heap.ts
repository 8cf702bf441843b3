import { setImmediate as turn } from 'node:timers/promises'

/** Bytes in use once everything that can go is gone. */
export async function heapAfterCollection(): Promise<number> {
  for (let times = 0; times < 4; times++) {
    await turn()
    globalThis.gc?.()
  }
  return process.memoryUsage().heapUsed
}
