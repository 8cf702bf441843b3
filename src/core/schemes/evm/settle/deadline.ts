import { onAbort } from '../../../../shared/http/on-abort.js'
import { world } from '../../../../shared/world.js'

/**
 * Least time for sending, or for one request to the chain (ms): a settlement is not given up before it
 * has begun.
 */
export const MIN_WAIT_MS = 2000

/** A time at which waiting ends. */
export interface Deadline {
  /** Resolves when it has passed. */
  readonly late: Promise<'late'>
  /** Stops the clock. */
  end(): void
}

/**
 * Starts the clock.
 *
 * @param closed - Ends the time early.
 */
export function startDeadline(ms: number, closed?: AbortSignal): Deadline {
  let timer: NodeJS.Timeout | undefined
  let remove: (() => void) | undefined
  const late = new Promise<'late'>((resolve) => {
    timer = world.setTimeout(() => resolve('late'), ms)
    remove = closed && onAbort(closed, () => resolve('late'))
  })
  const end = (): void => {
    world.clearTimeout(timer)
    remove?.()
  }
  return { late, end }
}
