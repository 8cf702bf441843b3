import { world } from './world.js'

export interface CoalesceOptions<Item, Result> {
  /** Processes several items; returns one result per item, in their order. */
  readonly run: (items: readonly Item[]) => Promise<readonly Result[]>
  readonly most: number
  /** How long a run that hangs holds up the next one (ms). @defaultValue for ever */
  readonly mostWaitedMs?: number
}

/** Thrown by a run that failed because of one of its items: each item is run alone then. */
export class FailedByItem extends Error {
  constructor(readonly reason: unknown) {
    super('An item has failed the run of several.')
  }
}

interface Waiting<Item, Result> {
  readonly item: Item
  readonly resolve: (result: Result) => void
  readonly reject: (error: unknown) => void
}

/**
 * Processes items that come at the same time in one run, as a data loader does.
 *
 * An item that comes alone is run alone, at the end of this turn of the event loop. Items that come
 * during a run, or in the turn after it, share the next one: nothing waits when idle.
 *
 * @returns Adds one item; rejects with what its run threw.
 */
export function coalesce<Item, Result>({
  run,
  most,
  mostWaitedMs,
}: CoalesceOptions<Item, Result>): (item: Item) => Promise<Result> {
  let waiting: Waiting<Item, Result>[] = []
  let isRunning = false

  /** Never rejects. */
  const runTogether = async (batch: readonly Waiting<Item, Result>[]): Promise<void> => {
    try {
      const results = await run(batch.map(({ item }) => item))
      for (const [index, one] of batch.entries()) one.resolve(results[index] as Result)
    } catch (error) {
      if (error instanceof FailedByItem && batch.length > 1)
        await Promise.all(batch.map((one) => runTogether([one])))
      else for (const one of batch) one.reject(error instanceof FailedByItem ? error.reason : error)
    }
  }

  const runAll = async (): Promise<void> => {
    while (waiting.length > 0) {
      const running = runTogether(waiting.slice(0, most))
      waiting = waiting.slice(most)
      await (mostWaitedMs === undefined ? running : untilLate(running, mostWaitedMs))
      // A run may block the event loop: what came meanwhile is received in the next turn of it.
      await world.nextTurn()
    }
    isRunning = false
  }

  return (item) =>
    new Promise((resolve, reject) => {
      waiting.push({ item, resolve, reject })
      if (isRunning) return
      isRunning = true
      world.setImmediate(() => void runAll())
    })
}

async function untilLate(running: Promise<void>, ms: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<void>((resolve) => {
    timer = world.setTimeout(resolve, ms).unref()
  })
  await Promise.race([running, late])
  world.clearTimeout(timer)
}
