import { onAbort } from '../../http/on-abort.js'
import { Slots, type SlotLimits } from '../../http/slots.js'
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
}

/**
 * Opens the feed. It reads the ledger only while it has readers.
 *
 * @param stopping - Ends it when the gateway begins to close.
 */
export function openStreams(options: FeedOptions, stopping: AbortSignal): Streams {
  const feed = new SettlementFeed(options)
  onAbort(stopping, () => feed.close())
  return { feed, readers: slotsOf(READERS), downloads: slotsOf(DOWNLOADS) }
}

function slotsOf(limits: Readonly<Record<SlotOwner, SlotLimits>>): SharedSlots {
  return { projects: new Slots(limits.projects), operators: new Slots(limits.operators) }
}
