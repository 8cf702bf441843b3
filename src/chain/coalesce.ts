/** Options of {@link coalesce}. */
export interface CoalesceOptions<Item, Result> {
  /** Processes several items; returns one result per item, in their order. */
  readonly run: (items: readonly Item[]) => Promise<readonly Result[]>
  /** Most items of one run. */
  readonly most: number
}

/** An item that waits for a run, and its caller. */
interface Waiting<Item, Result> {
  readonly item: Item
  readonly resolve: (result: Result) => void
  readonly reject: (error: unknown) => void
}

/**
 * Processes items that come at the same time in one run, as a data loader does.
 *
 * An item that comes alone is run alone, at the end of this turn of the event loop. Items that come
 * during a run share the next one, right after it: there is no timer, and nothing waits when idle.
 *
 * @returns Adds one item; rejects with what its run threw.
 */
export function coalesce<Item, Result>({
  run,
  most,
}: CoalesceOptions<Item, Result>): (item: Item) => Promise<Result> {
  let waiting: Waiting<Item, Result>[] = []
  let isRunning = false

  const runAll = async (): Promise<void> => {
    while (waiting.length > 0) {
      const batch = waiting.slice(0, most)
      waiting = waiting.slice(most)
      try {
        const results = await run(batch.map(({ item }) => item))
        for (const [index, one] of batch.entries()) one.resolve(results[index] as Result)
      } catch (error) {
        for (const one of batch) one.reject(error)
      }
    }
    isRunning = false
  }

  return (item) =>
    new Promise((resolve, reject) => {
      waiting.push({ item, resolve, reject })
      if (isRunning) return
      isRunning = true
      setImmediate(() => void runAll())
    })
}
