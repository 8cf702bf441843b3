import { Slots } from '../../http/slots.js'
import { SettlementFeed, type FeedOptions } from './settlement-feed.js'

/** Event streams that are open at once. */
const READERS = { total: 100, perKey: 6 }

/** Downloads that run at once. */
const DOWNLOADS = { total: 8, perKey: 2 }

/** What all streams of a gateway share. */
export interface Streams {
  readonly feed: SettlementFeed
  readonly readers: Slots
  readonly downloads: Slots
}

/**
 * Opens the feed. It reads the ledger only while it has readers.
 *
 * @param stopping - Ends it when the gateway begins to close.
 */
export function openStreams(options: FeedOptions, stopping: AbortSignal): Streams {
  const feed = new SettlementFeed(options)
  stopping.addEventListener('abort', () => feed.close(), { once: true })
  return { feed, readers: new Slots(READERS), downloads: new Slots(DOWNLOADS) }
}
