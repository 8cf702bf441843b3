/** How {@link coalesce} does its work. */
export interface CoalesceOptions<Item, Result> {
  /** Does the work of several; one result an item, in their order. */
  readonly run: (items: readonly Item[]) => Promise<readonly Result[]>
  /** Most that go together. */
  readonly most: number
}

/**
 * Lets what is asked for at the same time go together.
 *
 * One that comes alone goes alone, at the end of this turn of the event loop. What comes while another
 * is under way gathers, and goes as soon as that has ended: no timer, and no waiting when idle.
 *
 * @returns Asks for one; rejects with whatever its run threw.
 */
export function coalesce<Item, Result>({
  run,
  most,
}: CoalesceOptions<Item, Result>): (item: Item) => Promise<Result> {
  let waiting: Waiting<Item, Result>[] = []
  let isRunning = false

  const pump = async (): Promise<void> => {
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
      setImmediate(() => void pump())
    })
}

interface Waiting<Item, Result> {
  readonly item: Item
  readonly resolve: (result: Result) => void
  readonly reject: (error: unknown) => void
}
