/** Payments that a facilitator elsewhere is let settle, because it lists what it has settled. */
import type { Outcome } from '../transfer/decision.js'
import type { VerifiedPayment } from '../verify/verify.js'
import { world } from '../../../../shared/world.js'
import { startDeadline } from './deadline.js'

/** A facilitator that settles a share of the payments of each route. */
export interface Listing {
  /** Counts a payment. Never rejects. @returns Nothing where it is another one's turn. */
  takeTurn(payment: VerifiedPayment): Promise<ListedTurn | undefined>
}

export interface ListedTurn {
  /** Asks the facilitator to settle the payment. Never rejects. @returns Whether it says that it has sent nothing. */
  askToSettle(): Promise<'unsent' | 'perhaps_sent'>
  /** Writes down what came of it. */
  end(how: TurnEnd): void
}

/** The facilitator's transaction has paid, it has not, or the payment was refused: that may be its buyer's fault. */
export type TurnEnd = 'paid' | 'missed' | 'void'

/** How long a facilitator has until the chain shows that it has paid (ms). Then the payment is sent from here. */
export const LISTED_MS = 8000

/** Time between two looks at the chain (ms); doubled each time. */
const LOOK_MS = { first: 100, longest: 1000 }

/**
 * Lets a facilitator settle a payment. The chain alone tells whether it has, whatever it says.
 *
 * @param check - Asks the chain.
 * @returns `open` also where the facilitator takes too long.
 */
export async function settleListed(
  turn: ListedTurn,
  check: () => Promise<Outcome>,
  { settleTimeoutMs, closed }: { readonly settleTimeoutMs: number; readonly closed: AbortSignal },
): Promise<Outcome | 'unsent'> {
  const ms = Math.min(LISTED_MS, settleTimeoutMs / 2)
  const end = world.elapsed() + ms
  const deadline = startDeadline(ms, closed)
  const asked = await Promise.race([turn.askToSettle(), deadline.late]).finally(deadline.end)
  if (asked === 'unsent') return asked
  for (let pause = LOOK_MS.first; ; pause = Math.min(pause * 2, LOOK_MS.longest)) {
    const outcome = await check()
    if (outcome.kind !== 'open' || closed.aborted || world.elapsed() > end) return outcome
    await world.sleep(pause, undefined, { signal: closed }).catch(() => undefined)
  }
}
