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

/** Opens the feed, which reads nothing before somebody reads it. */
export function openStreams(options: FeedOptions): Streams {
  return {
    feed: new SettlementFeed(options),
    readers: new Slots(READERS),
    downloads: new Slots(DOWNLOADS),
  }
}
