/** Payments that a facilitator elsewhere settles, so that its catalogue lists their routes. */
import type { Outcome } from '../transfer/decision.js'
import { checkTimeWindow, settleMarginSeconds } from '../verify/validity.js'
import type { VerifiedPayment } from '../verify/verify.js'
import { world } from '../../../../shared/world.js'
import { startDeadline } from './deadline.js'

/** A facilitator that settles a share of the payments of each route. */
export interface TurnTaker {
  /** Counts a payment. Never rejects. @returns The facilitator's turn, if it is. */
  takeTurn(payment: VerifiedPayment): Promise<FacilitatorTurn | undefined>
}

export interface FacilitatorTurn {
  /** Asks the facilitator to settle the payment. Never rejects. @returns Whether it says that it has sent nothing. */
  askToSettle(): Promise<'unsent' | 'perhaps_sent'>
  end(how: TurnEnd): void
}

/** The facilitator has paid; it has not; or the payment was refused, perhaps because of its buyer. */
export type TurnEnd = 'paid' | 'missed' | 'void'

/** How long a facilitator has until the chain shows that it has paid (ms). Then the payment is sent from here. */
const TURN_MS = 8000

/** Time between two looks at the chain (ms); doubled each time. */
const LOOK_MS = { first: 100, longest: 1000 }

/** By CAIP-2 id. */
export type SharesByNetwork = ReadonlyMap<string, TurnTaker>

/** Takes a facilitator's turn, if enough time is left to send the payment from here should it fail. */
export function takeTurn(
  { shares, nowSeconds }: { shares?: SharesByNetwork | undefined; nowSeconds: () => bigint },
  payment: VerifiedPayment,
): Promise<FacilitatorTurn | undefined> | undefined {
  const { network } = payment.network.chain
  const share = shares?.get(network.caip2)
  if (share === undefined) return undefined
  const validitySeconds = settleMarginSeconds(network) + TURN_MS / 1000
  const window = { now: nowSeconds(), validitySeconds }
  const isLate = checkTimeWindow(payment.transfer.facts, window) !== undefined
  return isLate ? undefined : share.takeTurn(payment)
}

/**
 * Lets a facilitator settle a payment. Only the chain tells whether it has.
 *
 * @returns `open` also where the facilitator takes too long.
 */
export async function settleByTurn(
  turn: FacilitatorTurn,
  check: () => Promise<Outcome>,
  { settleTimeoutMs, closed }: { readonly settleTimeoutMs: number; readonly closed: AbortSignal },
): Promise<Outcome | 'unsent'> {
  const ms = Math.min(TURN_MS, settleTimeoutMs / 2)
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
