import { every } from '../../ledger/engine/every.js'
import type { LedgerStore } from '../../ledger/index.js'
import type { Checkout } from '../../ledger/checkouts.js'

/** How often to look for checkouts that were paid, or whose time is over (ms). */
const LOOK_MS = 1000

/** Looks between two times at which those are forgotten that nobody has paid. */
const LOOKS_PER_PRUNE = 600

/** Dependencies of {@link watchCheckouts}. */
export interface WatchContext {
  readonly checkouts: Pick<LedgerStore['checkouts'], 'listDue' | 'conclude' | 'prune'>
  /** Makes the data of an event. */
  readonly describe: (checkout: Checkout) => object
  /** Called once there is an event to deliver. */
  readonly onEvent: () => void
}

/**
 * Writes down what has become of checkouts, with the events of it. Every process looks for all: also for payments that
 * another one has settled before it died.
 *
 * @returns A function that ends it.
 */
export function watchCheckouts({ checkouts, describe, onEvent }: WatchContext): () => void {
  let looks = 0
  return every(LOOK_MS, async () => {
    if (looks++ % LOOKS_PER_PRUNE === 0) await checkouts.prune()
    for (const id of await checkouts.listDue())
      // One that fails is left to the next look, and holds up no other.
      if (await checkouts.conclude(id, describe).catch(() => false)) onEvent()
  })
}
