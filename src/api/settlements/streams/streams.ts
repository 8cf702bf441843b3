import { setTimeout as sleep } from 'node:timers/promises'
import { onAbort } from '../../../shared/http/on-abort.js'
import { Slots, type SlotLimits } from '../../../shared/http/slots.js'
import { SettlementFeed, type FeedOptions } from './settlement-feed.js'

/** Event streams that are open at once. */
const READERS = {
  projects: { total: 100, perKey: 12 },
  operators: { total: 24, perKey: 12 },
}

/** Downloads that run at once. */
const DOWNLOADS = {
  projects: { total: 8, perKey: 2 },
  operators: { total: 4, perKey: 2 },
}

/** Owners of slots: projects cannot take those of operators. */
export type SlotOwner = keyof typeof READERS

/** Slots of both. */
export type SharedSlots = Readonly<Record<SlotOwner, Slots>>

/** Shared by all streams of a gateway. */
export interface Streams {
  readonly feed: SettlementFeed
  readonly readers: SharedSlots
  readonly downloads: SharedSlots
  /** Reads a page of a download, one at a time. */
  readonly inTurn: ReturnType<typeof takeTurns>
}

/**
 * Opens the feed. It reads the ledger only while it has readers.
 *
 * @param stopping - Ends it when the gateway begins to close.
 */
export function openStreams(options: FeedOptions, stopping: AbortSignal): Streams {
  const feed = new SettlementFeed(options)
  onAbort(stopping, () => feed.close())
  return { feed, readers: slotsOf(READERS), downloads: slotsOf(DOWNLOADS), inTurn: takeTurns() }
}

/**
 * Makes a function that runs one piece of work after the other, and rests after each for as long as it took: all of
 * them together leave others half of the time.
 */
function takeTurns(): <T>(work: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve()
  return (work) => {
    let startedAt = 0
    const done = last.then(() => {
      startedAt = performance.now()
      return work()
    })
    const rest = () => sleep(performance.now() - startedAt)
    last = done.then(rest, rest)
    return done
  }
}

function slotsOf(limits: Readonly<Record<SlotOwner, SlotLimits>>): SharedSlots {
  return { projects: new Slots(limits.projects), operators: new Slots(limits.operators) }
}
