import { world } from '../../shared/world.js'

/**
 * Does work again and again; each round begins once the last one has ended. A round that fails is left to the next.
 *
 * @returns A function that ends it.
 */
export function every(ms: number, work: () => Promise<unknown>): () => void {
  let isRunning = false
  const timer = world.setInterval(() => {
    if (isRunning) return
    isRunning = true
    void work()
      .catch(() => undefined)
      .finally(() => (isRunning = false))
  }, ms)
  timer.unref()
  return () => world.clearInterval(timer)
}
